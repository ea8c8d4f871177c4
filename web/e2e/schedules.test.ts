import { expect, test } from 'vitest';

import { accessible, all, lookAt, sizes } from './axe';
import { call, fresh, open, picture, useBrowser } from './kit';

useBrowser();

test.each(sizes)('schedules, on a %s', async (size, width, height) => {
  const user = fresh('planner');
  const page = await open(`/ui/apps/city/users/${user}/schedules`, { width, height, expected: /status of 422/ });
  await page.getByText('There are no schedules').waitFor();
  await page.getByRole('button', { name: 'New schedule' }).first().click();
  const dialog = page.getByRole('dialog');
  const create = dialog.getByRole('button', { name: 'Create' });
  expect(await create.isDisabled()).toBe(true);
  await dialog.getByLabel('Message').fill('What is the weather in New York?');
  await dialog.getByLabel('Name').fill('morning');
  await dialog.getByRole('textbox', { name: 'Cron expression' }).fill('0 25 * * *');
  await page.keyboard.press('Enter');
  await dialog.getByText(/Invalid request: cron/).waitFor(); // the dialog stays, with what was typed
  await dialog.getByRole('textbox', { name: 'Cron expression' }).fill('0 9 * * MON-FRI');
  await dialog.getByLabel('Time zone').fill('Europe/Berlin');
  if (size === 'desktop') await picture(page, 'schedule-new-light');
  await accessible(page, all);
  await create.click();
  const row = page.locator('[data-schedule=morning]');
  await row.getByText('0 9 * * MON-FRI Europe/Berlin').waitFor();
  await row.getByText(/next/).waitFor();
  expect(await call<{ cron: string }[]>('GET', `/apps/city/users/${user}/schedules`)).toMatchObject([{ id: 'morning', cron: '0 9 * * MON-FRI', missed: 'skip' }]);

  // It is changed: the other members stay.
  await row.getByRole('button', { name: 'Edit' }).click();
  await dialog.getByRole('textbox', { name: 'Cron expression' }).fill('30 8 * * MON-FRI');
  await dialog.getByLabel('Session').fill('mornings');
  await dialog.getByLabel('If the session is busy').selectOption('reject');
  if (size === 'phone') await picture(page, 'schedule-edit-phone');
  await accessible(page, all);
  await dialog.getByRole('button', { name: 'Save' }).click();
  await row.getByText('30 8 * * MON-FRI Europe/Berlin').waitFor();
  expect(await row.locator('time').count()).toBe(5);
  expect(await call<{ cron: string }[]>('GET', `/apps/city/users/${user}/schedules`)).toMatchObject([
    { id: 'morning', cron: '30 8 * * MON-FRI', timeZone: 'Europe/Berlin', sessionId: 'mornings', concurrency: 'reject', newMessage: { parts: [{ text: 'What is the weather in New York?' }] } },
  ]);

  // It is started by hand, and the history leads to the run.
  await row.getByRole('button', { name: 'Run now' }).click();
  await row.getByText('History').click();
  await row.getByText('started by hand').waitFor();
  await lookAt(page, 'schedules', size);
  const session = await row.getByRole('link', { name: 'session', exact: true }).getAttribute('href');
  expect(session).toContain('/mornings');

  await row.getByRole('button', { name: 'Pause' }).click();
  await row.getByText('paused').waitFor();
  await row.getByRole('button', { name: 'Resume' }).click();
  await row.getByText(/next/).waitFor();
  await row.getByRole('button', { name: 'Delete' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
  await page.getByText('There are no schedules').waitFor();

  await page.goto(new URL(session!, page.url()).href);
  await page.getByText('What is the weather in New York?').first().waitFor();
});

test('the keyboard leads there', async () => {
  const user = fresh('planner');
  const page = await open(`/ui/apps/city/users/${user}/sessions`);
  await page.getByText('No sessions yet').waitFor();
  await page.keyboard.press('g');
  await page.keyboard.press('t');
  await expect.poll(() => page.url()).toContain(`/users/${user}/schedules`);
});
