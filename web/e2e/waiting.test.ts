import { expect, test } from 'vitest';

import { call, fresh, open, picture, session, sessionPath, useBrowser } from './kit';

useBrowser();

type Session = { events: { content?: { parts: { functionResponse?: { name: string; response: Record<string, unknown> }; text?: string }[] } }[] };

const answers = async (app: string, user: string, id: string) =>
  (await call<Session>('GET', sessionPath(app, user, id))).events.flatMap((e) => e.content?.parts ?? []).flatMap((p) => (p.functionResponse ? [p.functionResponse] : []));

test('a login in a window of its own lets the agent continue', async () => {
  const id = fresh('s');
  const page = await open(await session('calendar', 'login', id, 'What is on?'));
  await page.getByText('calendar.read').waitFor();
  const opened = page.waitForEvent('popup');
  await page.getByRole('button', { name: 'Log in', exact: true }).click();
  const popup = await opened;
  await popup.getByLabel('User name').fill('ann');
  await Promise.all([popup.waitForEvent('close'), popup.getByRole('button', { name: 'Allow', exact: true }).click()]);
  await page.getByText('That is all that is on.').waitFor();
  await expect.poll(() => page.locator('[data-pending]').count()).toBe(0);
  await expect.poll(() => page.locator('[data-answered]').textContent()).toBe('answered the login');
  expect(await page.getByRole('combobox', { name: /^run/ }).locator('option:checked').innerText()).toBe('answered the login');
  await expect.poll(() => page.getByRole('region', { name: 'Events' }).getByText('authScheme').count()).toBe(0);
  expect((await answers('calendar', 'login', id)).some((a) => a.response['code'] === 200)).toBe(true);
  // It is kept, can be seen, and can be revoked.
  await page.goto(page.url().replace(/\/sessions\/.*/, '/logins'));
  await page.getByText('calendar.read').waitFor();
  await picture(page, 'logins-one-light');
  // On a phone, what it is for is below what it may do.
  await page.setViewportSize({ width: 390, height: 844 });
  const [scope, given] = await Promise.all([page.getByText('calendar.read').boundingBox(), page.getByText('for one session').boundingBox()]);
  expect(given!.y).toBeGreaterThanOrEqual(scope!.y + scope!.height);
  await page.getByRole('button', { name: 'Revoke', exact: true }).click();
  const dialog = page.getByRole('dialog', { name: 'Revoke the login?' });
  await dialog.getByText('has to log in again').waitFor();
  await dialog.getByRole('button', { name: 'Revoke', exact: true }).click();
  await page.getByText('No logins').waitFor();
});

test('a login that is denied, and one that is given up', async () => {
  const id = fresh('s');
  const page = await open(await session('calendar', 'login', id, 'What is on?'));
  let opened = page.waitForEvent('popup');
  await page.getByRole('button', { name: 'Log in', exact: true }).click();
  await (await opened).close();
  await page.getByText('The window was closed').waitFor();
  opened = page.waitForEvent('popup');
  await page.getByRole('button', { name: 'Log in', exact: true }).click();
  const popup = await opened;
  await popup.getByLabel('User name').fill('ann');
  await popup.getByRole('button', { name: 'Deny', exact: true }).click();
  await page.locator('[data-pending]').waitFor({ state: 'detached' });
});

test('a login is completed in the inbox', async () => {
  const user = fresh('waiter');
  await session('calendar', user, 's', 'What is on?');
  const page = await open(`/ui/apps/calendar/users/${user}/waiting`); // where it was before
  await expect.poll(() => page.url()).toContain(`/ui/inbox?app=calendar&user=${user}`);
  await expect.poll(() => page.locator('[data-badge]').first().textContent()).toMatch(/^\d+\+? waiting$/);
  const opened = page.waitForEvent('popup');
  await page.getByRole('button', { name: 'Log in', exact: true }).click();
  const popup = await opened;
  await popup.getByLabel('User name').fill('ann');
  await popup.getByRole('button', { name: 'Allow', exact: true }).click();
  await page.getByText('No matches').waitFor();
});

test.each([
  ['Approve', '80 euros are on their way back.', 'approved it'],
  ['Reject', 'This tool call is rejected.', 'rejected it'],
])('a confirmation: %s', async (button, outcome, said) => {
  const id = fresh('s');
  const page = await open(await session('approval', 'boss', id, 'Refund 80'));
  await page.locator('[data-pending=confirmation]').getByText('"amount"').waitFor();
  await page.getByText('waits for a confirmation').waitFor();
  await expect.poll(() => page.getByText('requires confirmation').count()).toBe(0);
  await picture(page, 'confirmation-light');
  await page.getByRole('button', { name: button, exact: true }).click();
  await page.locator('[data-pending]').waitFor({ state: 'detached' });
  await expect.poll(() => page.locator('[data-answered]').textContent()).toBe(said);
  await expect.poll(async () => JSON.stringify(await answers('approval', 'boss', id))).toContain(outcome);
});

test('a confirmation whose payload is changed', async () => {
  const id = fresh('s');
  const page = await open(await session('approval', 'boss', id, 'Grant a discount of 20 percent'));
  await page.getByText('How much of a discount of 20 percent is granted?').waitFor();
  await page.getByLabel('payload').fill('{"percent": ');
  await page.getByRole('button', { name: 'Approve', exact: true }).click();
  await page.getByText('The payload is not JSON.').waitFor();
  await page.getByLabel('payload').fill('{"percent": 5}');
  await page.getByRole('button', { name: 'Approve', exact: true }).click();
  await expect.poll(async () => JSON.stringify(await answers('approval', 'boss', id))).toContain('A discount of 5 percent is granted.');
});

test('a confirmation whose arguments are edited', async () => {
  const id = fresh('s');
  const page = await open(await session('approval', 'boss', id, 'Refund 80'));
  const args = page.getByLabel('arguments to call it with');
  await page.getByRole('button', { name: 'Edit the arguments' }).click();
  await args.fill('[60]');
  await page.getByRole('button', { name: 'Approve', exact: true }).click();
  await page.getByText('The arguments are not a JSON object.').waitFor();
  await page.getByRole('button', { name: 'Keep the arguments' }).click();
  await page.locator('[data-pending=confirmation]').getByText('"amount"').waitFor();
  await page.getByRole('button', { name: 'Edit the arguments' }).click();
  await args.fill('{"amount": 60}');
  await picture(page, 'confirmation-edited-light');
  await page.getByRole('button', { name: 'Approve', exact: true }).click();
  await page.locator('[data-pending]').waitFor({ state: 'detached' });
  await expect.poll(async () => (await answers('approval', 'boss', id)).at(-1)!.response).toEqual({
    status: 'success', report: '60 euros are on their way back.', editedArgs: { amount: 60 },
  });
});

test('an input is a form of its schema', async () => {
  const page = await open(await session('asker', 'boss', fresh('s'), 'travel'));
  await page.getByText('Where shall we go?').waitFor();
  await picture(page, 'input-light');
  await page.getByRole('button', { name: 'Submit', exact: true }).click();
  await page.getByText('city is required.').waitFor();
  await page.getByRole('textbox', { name: 'city' }).fill('Oslo');
  await page.getByLabel('days').fill('3.5');
  await page.getByRole('button', { name: 'Submit', exact: true }).click();
  await page.getByText('days must be a whole number.').waitFor();
  await page.getByLabel('days').fill('3');
  await page.getByLabel('class').selectOption({ label: 'first' });
  await page.getByLabel('Insured').check();
  const sent = page.waitForRequest((r) => r.method() === 'POST' && r.url().endsWith('/runs'));
  await page.getByRole('button', { name: 'Submit', exact: true }).click();
  expect((await sent).postDataJSON().newMessage.parts[0].functionResponse.response).toEqual({ city: 'Oslo', days: 3, class: 'first', insured: true });
});

test('a choice is a button for each option', async () => {
  const id = fresh('s');
  const page = await open(await session('asker', 'boss', id, 'choose'));
  const card = page.locator('[data-pending=choice]');
  await card.getByRole('button', { name: 'by train', exact: true }).waitFor();
  await picture(page, 'choice-light');
  await card.getByRole('button', { name: 'by ship, and slowly', exact: true }).click();
  await page.getByText('Thank you.').waitFor();
  await expect.poll(() => page.locator('[data-answered]').textContent()).toBe('chose by ship, and slowly');
  expect((await answers('asker', 'boss', id)).at(-1)!.response).toEqual({ result: 'by ship, and slowly' });
});

test('a long-running tool gets its response', async () => {
  const id = fresh('s');
  const page = await open(await session('weather', 'boss', id, 'long'));
  await page.getByText('ask_approval waits for its response').waitFor();
  await page.getByRole('button', { name: 'Submit the response', exact: true }).click();
  await page.locator('[data-pending]').waitFor({ state: 'detached' });
  await expect.poll(async () => (await answers('weather', 'boss', id)).at(-1)!.response).toEqual({ status: 'approved' });
});
