import type { Locator } from 'playwright-core';
import { expect, test } from 'vitest';

import { accessible, all } from './axe';
import { call, fresh, open, picture, useBrowser } from './kit';

useBrowser();

// Names are optional, so each of two requests would make one, and only the last secret would be shown.
test.each([
  ['webhooks', 'New webhook', (dialog: Locator) => dialog.getByRole('textbox', { name: 'URL' }).fill('https://hooks.invalid/parley')],
  ['triggers', 'New trigger', (dialog: Locator) => dialog.getByLabel('Session').fill('always')],
  ['schedules', 'New schedule', (dialog: Locator) => dialog.getByLabel('Message').fill('What is the weather?')],
])('a doubled Enter in the form of %s sends one request', async (screen, add, fill) => {
  const page = await open(`/ui/apps/city/users/${fresh('twice')}/${screen}`);
  let requests = 0;
  let release = () => {};
  const released = new Promise<void>((resolve) => (release = resolve));
  await page.route(new RegExp(`/${screen}$`), async (route) => {
    if (route.request().method() === 'POST') {
      requests++;
      await released;
    }
    await route.fallback();
  });
  await page.getByRole('button', { name: add }).first().click();
  const dialog = page.getByRole('dialog');
  await fill(dialog);
  const name = dialog.getByLabel('Name');
  await name.focus();
  await name.press('Enter');
  await name.press('Enter');
  await expect.poll(() => requests).toBe(1);
  const create = dialog.getByRole('button', { name: 'Create' });
  await expect.poll(() => create.isDisabled()).toBe(true);
  await name.press('Enter');
  release();
  await create.waitFor({ state: 'detached' });
  await page.locator('li[data-webhook], li[data-trigger], li[data-schedule]').first().waitFor();
  expect(requests).toBe(1);
});

test('a webhook is changed', async () => {
  const id = fresh('edited');
  await call('POST', '/apps/tasks/webhooks', { id, url: 'https://hooks.invalid/old', description: 'old', events: ['run.failed'] });
  const page = await open('/ui/apps/tasks/users/user/webhooks', { expected: /status of 422/ });
  const row = page.locator(`[data-webhook="${id}"]`);
  await row.getByRole('button', { name: 'Edit', exact: true }).click();
  const dialog = page.getByRole('dialog', { name: `Edit ${id}` });
  expect(await dialog.getByLabel('Name').count()).toBe(0);
  expect(await dialog.getByLabel('a run has failed').isChecked()).toBe(true);
  const url = dialog.getByRole('textbox', { name: 'URL' });
  await url.fill('https://10.0.0.1/hook');
  await dialog.getByLabel('a run waits').check();
  await dialog.getByLabel('Description').fill('');
  await dialog.getByRole('button', { name: 'Save' }).click();
  await dialog.getByText(/private network/).waitFor();
  await url.fill('https://hooks.invalid/new');
  await accessible(page, all);
  await dialog.getByRole('button', { name: 'Save' }).click();
  await dialog.waitFor({ state: 'detached' }); // and there is no secret to show
  await row.getByText('https://hooks.invalid/new').waitFor();
  const now = await call<Record<string, unknown>>('GET', `/apps/tasks/webhooks/${id}`);
  expect(now).toMatchObject({ url: 'https://hooks.invalid/new', events: ['run.waiting', 'run.failed'] });
  expect(now).not.toHaveProperty('description');
});

test('a trigger is made with all members, and changed', async () => {
  const [name, user] = [fresh('edited'), fresh('owner')];
  const page = await open(`/ui/apps/tasks/users/${user}/triggers`);
  await page.getByRole('button', { name: 'New trigger' }).first().click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Message').fill('New: {{ body.title }}');
  await dialog.getByLabel('User').fill('u-{{ body.user }}');
  await dialog.getByLabel('Delivery ID').fill('{{ body.id }}');
  await dialog.getByLabel('Name').fill(name);
  const create = dialog.getByRole('button', { name: 'Create' });
  await dialog.getByLabel('Only if').fill('body.ref');
  await dialog.getByText('Each line must have a path').waitFor();
  expect(await create.isDisabled()).toBe(true);
  await dialog.getByLabel('Only if').fill('body.ref=main\nbody.ref=dev');
  await dialog.getByLabel('State that changes').fill('{"title": ');
  await dialog.getByText('It must be a JSON object.').waitFor();
  expect(await create.isDisabled()).toBe(true);
  await dialog.getByLabel('State that changes').fill('{"title": "{{ body.title }}", "tries": 1}');
  await picture(page, 'trigger-new-all-light');
  await accessible(page, all);
  await create.click();
  await page.getByRole('dialog', { name: `The secret of ${name}` }).getByRole('button', { name: 'Done' }).click();
  const path = `/apps/tasks/triggers/${name}`;
  const made = { userId: 'u-{{ body.user }}', deliveryId: '{{ body.id }}', match: { 'body.ref': ['main', 'dev'] }, stateDelta: { title: '{{ body.title }}', tries: 1 }, message: 'New: {{ body.title }}' };
  expect(await call('GET', path)).toMatchObject(made);

  const row = page.locator(`[data-trigger="${name}"]`);
  await row.getByRole('button', { name: 'Edit', exact: true }).click();
  expect(await dialog.getByLabel('Only if').inputValue()).toBe('body.ref=main\nbody.ref=dev');
  expect(JSON.parse(await dialog.getByLabel('State that changes').inputValue())).toEqual(made.stateDelta);
  await dialog.getByLabel('User').fill('ops');
  await dialog.getByLabel('Only if').fill('');
  await dialog.getByLabel('Events').fill('issues.opened');
  await dialog.getByRole('button', { name: 'Save' }).click();
  await dialog.waitFor({ state: 'detached' });
  await row.getByText(/as ops/).waitFor();
  const now = await call<Record<string, unknown>>('GET', path);
  expect(now).toMatchObject({ userId: 'ops', events: ['issues.opened'], deliveryId: made.deliveryId, stateDelta: made.stateDelta, message: made.message });
  expect(now).not.toHaveProperty('match');
});

test('a schedule changes a state, and gets a message', async () => {
  const user = fresh('planner');
  const page = await open(`/ui/apps/tasks/users/${user}/schedules`);
  await page.getByRole('button', { name: 'New schedule' }).first().click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Name').fill('nightly');
  await dialog.getByLabel('Session').first().fill('s1');
  await dialog.getByLabel('State that changes').fill('{"done": 0}');
  await dialog.getByLabel('Not before').fill('2035-01-01T00:00');
  await dialog.getByLabel('Missed when later than, in minutes').fill('2');
  await picture(page, 'schedule-new-all-light');
  await accessible(page, all);
  await dialog.getByRole('button', { name: 'Create' }).click();
  const row = page.locator('[data-schedule=nightly]');
  await row.getByText('changes the state').waitFor();
  const path = `/apps/tasks/users/${user}/schedules/nightly`;
  const made = await call<Record<string, unknown>>('GET', path);
  expect(made).toMatchObject({ stateDelta: { done: 0 }, missedAfterSeconds: 120, sessionId: 's1' });
  expect(made['startAt']).toMatch(/^203[45]-/);
  expect(made).not.toHaveProperty('newMessage');

  await row.getByRole('button', { name: 'Edit', exact: true }).click();
  await dialog.getByRole('textbox', { name: 'Message' }).fill('What is left to do?');
  await dialog.getByLabel('State that changes').fill('');
  await dialog.getByLabel('Not before').fill('');
  await dialog.getByRole('button', { name: 'Save' }).click();
  await dialog.waitFor({ state: 'detached' });
  const now = await call<Record<string, unknown>>('GET', path);
  expect(now).toMatchObject({ newMessage: { parts: [{ text: 'What is left to do?' }] }, missedAfterSeconds: 120, sessionId: 's1' });
  for (const gone of ['stateDelta', 'startAt']) expect(now).not.toHaveProperty(gone);
});

test('the title and the buttons of a long dialog stay in view while it scrolls', async () => {
  const page = await open(`/ui/apps/tasks/users/${fresh('scroller')}/triggers`, { width: 390, height: 640 });
  await page.getByRole('button', { name: 'New trigger' }).first().click();
  const dialog = page.getByRole('dialog');
  const create = dialog.getByRole('button', { name: 'Create' });
  await create.waitFor();
  expect(await dialog.evaluate((el) => el.scrollHeight > el.clientHeight), 'is long').toBe(true);
  const inView = (place: Locator) => place.evaluate((el) => {
    const { left, top, width, height } = el.getBoundingClientRect();
    return el.contains(document.elementFromPoint(left + width / 2, top + height / 2));
  });
  for (const end of [false, true]) {
    await dialog.evaluate((el, end) => el.scrollTo(0, end ? el.scrollHeight : 0), end);
    await expect.poll(() => inView(create)).toBe(true);
    expect(await inView(dialog.getByRole('heading', { name: 'New trigger' }))).toBe(true);
    expect(await inView(dialog.getByRole('button', { name: 'Close' }))).toBe(true);
  }
  // What gets the focus is not under the buttons.
  await dialog.evaluate((el) => el.scrollTo(0, 0));
  const last = dialog.getByRole('textbox').last();
  await last.focus();
  await expect.poll(() => inView(last)).toBe(true);
});
