import { expect, test } from 'vitest';

import { accessible, all, lookAt, sizes } from './axe';
import { call, fresh, open, picture, session, sessionPath, useBrowser } from './kit';

useBrowser();

test.each(sizes)('a tool with nested arguments, on a %s', async (size, width, height) => {
  const user = fresh('caller');
  const page = await open(`/ui/apps/workshop/users/${user}/tools`, { width, height });
  await page.getByRole('link', { name: /^look_up/ }).waitFor();
  await lookAt(page, 'tools', size);
  await page.getByRole('link', { name: /^book/ }).click();
  await page.getByText('changes something, at most once').first().waitFor();
  const form = page.locator('[data-tool-form]');
  const callIt = form.getByRole('button', { name: 'Call the tool' });
  await callIt.click();
  await form.getByText('traveller.name is required.').waitFor(); // nothing was called

  const field = (name: string) => form.locator(`[data-argument="${name}"]`);
  await field('traveller').getByLabel('name').fill('Zoë');
  await field('traveller').getByLabel('age').fill('old');
  await form.getByText('This is not a whole number.').waitFor();
  await field('traveller').getByLabel('age').fill('31');
  await field('class').getByLabel('class').selectOption('first');
  await form.getByRole('button', { name: 'Add to stops' }).click();
  await form.getByRole('button', { name: 'Add to stops' }).click();
  await field('stops 1').getByLabel('city').fill('Oslo');
  await field('stops 2').getByLabel('city').fill('Rome');
  await form.getByRole('button', { name: 'Remove stops 1' }).click();
  await form.getByLabel('Kind of payment').selectOption('invoice');
  await lookAt(page, 'tool-form', size);
  await callIt.click();

  const dialog = page.getByRole('dialog');
  await dialog.getByText(/at most once/).first().waitFor();
  await lookAt(page, 'tool-confirm', size);
  await dialog.getByRole('button', { name: 'Call it' }).click();
  const result = page.locator('[data-result=completed]');
  await result.getByText('"booked"').first().waitFor();
  await result.getByText('"Zoë"').first().waitFor();
  await result.getByText('state changes').waitFor();
  await result.getByRole('link', { name: 'ticket.json' }).waitFor();
  await result.evaluate((e) => e.scrollIntoView({ block: 'start' }));
  await lookAt(page, 'tool-result', size);
  const href = await result.getByRole('link', { name: 'Session' }).getAttribute('href');
  const made = await call<{ state: Record<string, unknown> }>('GET', href!.replace('/ui', ''));
  expect(made.state['last_booking']).toEqual({ traveller: { name: 'Zoë', age: 31 }, class: 'first', stops: [{ city: 'Rome' }], payment: { kind: 'invoice' } });
  expect(await call('GET', `/apps/workshop/users/${user}/sessions`)).toEqual([]); // it is not listed

  // As JSON, and back.
  await form.getByRole('button', { name: 'Edit as JSON' }).click();
  const json = form.getByLabel('Arguments as JSON');
  expect(JSON.parse(await json.inputValue())).toMatchObject({ class: 'first' });
  await json.fill('[1]');
  await form.getByRole('button', { name: 'Edit as a form' }).click();
  await form.getByText('The arguments are not a JSON object.').waitFor();
  await json.fill('{"class": "second", "payment": {"kind": "card"}}');
  await form.getByRole('button', { name: 'Edit as a form' }).click();
  expect(await field('class').getByLabel('class').inputValue()).toBe('1');
  await field('payment').getByLabel('number').waitFor();
});

test('a tool that only reads is called at once, and its failure is shown', async () => {
  const user = fresh('caller');
  const page = await open(`/ui/apps/workshop/users/${user}/tools?agent=workshop&tool=look_up`);
  await page.locator('[data-effect=pure]').waitFor();
  await page.getByLabel('train').fill('night');
  await page.keyboard.press('Enter');
  await page.locator('[data-response=ok]').getByText('on time').waitFor();
  await page.getByLabel('train').fill('ghost');
  await page.keyboard.press('Enter');
  await page.locator('[data-response=failed]').getByText(/there is no such train/).waitFor();
  expect(await page.locator('[role=status]').filter({ hasText: 'completed' }).count(), 'the call has failed').toBe(0);
  await page.locator('[role=status]').getByText('failed', { exact: true }).waitFor();
  await picture(page, 'tool-failed-light');
  await accessible(page, all);
});

test('a tool that asks waits for the answer, and goes on', async () => {
  const user = fresh('caller');
  const page = await open(`/ui/apps/workshop/users/${user}/tools?agent=workshop&tool=cancel_journey`);
  await page.getByText('asks for confirmation').waitFor();
  await page.getByText('It has no arguments.').waitFor();
  await page.getByRole('button', { name: 'Call the tool' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Call it' }).click();
  await page.locator('[data-pending=confirmation]').getByRole('button', { name: 'Approve' }).waitFor();
  await picture(page, 'tool-waits-light');
  await accessible(page, all);
  await page.getByRole('button', { name: 'Approve' }).click();
  await page.locator('[data-response=ok]').getByText('cancelled').waitFor();
});

test('tools in TypeScript, in a session that exists', async () => {
  const user = fresh('caller');
  await session('city', user, 'trip');
  const page = await open(`/ui/apps/city/users/${user}/tools`);
  await page.getByRole('searchbox', { name: 'Search the tools' }).fill('weather');
  await page.getByRole('link', { name: /^get_weather/ }).click();
  await page.getByRole('textbox', { name: 'city' }).fill('New York');
  await page.getByText('Session', { exact: true }).click();
  await page.getByLabel('session id').fill('trip');
  await page.getByRole('button', { name: 'Call the tool' }).click();
  const asked = page.getByRole('dialog').getByRole('button', { name: 'Call it' });
  const response = page.locator('[data-response=ok]');
  await asked.or(response).first().waitFor();
  if (await asked.isVisible()) await asked.click();
  await response.waitFor();
  expect(JSON.stringify(await call('GET', sessionPath('city', user, 'trip')))).toContain('Call of the tool get_weather');
});

test('a toolset that does not answer is shown, and the rest can be called', async () => {
  const page = await open('/ui/apps/workshop/users/lost/tools');
  await page.getByText(/toolset warehouse cannot list its tools: connection refused/).waitFor();
  await page.getByRole('link', { name: /^look_up/ }).waitFor();
  await picture(page, 'tools-problem-light');
  await accessible(page, all);
});

test('an application without tools, and the keyboard', async () => {
  const page = await open(`/ui/apps/teller/users/${fresh('caller')}/sessions`);
  await page.getByText('No sessions yet').waitFor();
  await page.keyboard.press('g');
  await page.keyboard.press('o');
  await page.getByText('There are no tools').waitFor();
  await page.keyboard.press('g');
  await page.keyboard.press('m');
  await page.getByText(/No memories of/).waitFor();
});
