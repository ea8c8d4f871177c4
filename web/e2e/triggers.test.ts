import { expect, test } from 'vitest';

import { accessible, all, lookAt, sizes } from './axe';
import { call, fresh, open, picture, useBrowser } from './kit';

useBrowser();

test.each(sizes)('triggers, on a %s', async (size, width, height) => {
  const user = fresh('hooked');
  const name = fresh('weather-alerts');
  const page = await open(`/ui/apps/city/users/${user}/triggers`, { width, height, expected: /status of 422/ });
  await page.getByRole('button', { name: 'New trigger' }).first().click();
  const dialog = page.getByRole('dialog');
  const create = dialog.getByRole('button', { name: 'Create' });
  await dialog.getByLabel('Sender is known by').selectOption('slack');
  expect(await create.isDisabled()).toBe(true);
  await dialog.getByLabel('Sender is known by').selectOption('secret');
  await dialog.getByLabel('Message').fill('What is the weather in {{ city }}?');
  await dialog.getByLabel('Name').fill(name);
  await dialog.getByLabel('Session').fill('in-{{ body.city }}');
  await page.keyboard.press('Enter');
  await dialog.getByText(/Invalid request: message/).waitFor(); // the dialog stays, with what was typed
  await dialog.getByLabel('Message').fill('What is the weather in {{ body.city }}?');
  if (size === 'desktop') await picture(page, 'trigger-new-light');
  await accessible(page, all);
  await create.click();

  // The secret is shown once.
  const shown = page.getByRole('dialog', { name: `The secret of ${name}` });
  const secret = (await shown.locator('dd').last().innerText()).trim().split(/\s/)[0]!;
  expect(secret.length).toBeGreaterThan(20);
  if (size === 'desktop') await picture(page, 'trigger-secret-light');
  await accessible(page, all);
  await shown.getByRole('button', { name: 'Done' }).click();
  const row = page.locator(`[data-trigger="${name}"]`);
  const path = `/apps/city/triggers/${name}`;
  await row.getByText(path).waitFor();

  // The sender sends, and another one tries to.
  const send = (token: string) => fetch(new URL(path, page.url()), { method: 'POST', headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json', 'Idempotency-Key': name }, body: JSON.stringify({ city: 'Paris' }) });
  expect((await send('a wrong secret')).status).toBe(401);
  expect((await send(secret)).status).toBe(202);
  await row.getByText('Deliveries').click();
  await row.getByText('started').waitFor();
  await row.getByText('the secret is wrong').waitFor();
  await lookAt(page, 'triggers', size);
  const session = await row.getByRole('link', { name: 'session', exact: true }).first().getAttribute('href');
  expect(session).toContain('in-Paris');

  await row.getByRole('button', { name: 'Pause' }).click();
  await row.getByText('paused').waitFor();
  expect(await call<{ paused: boolean }>('GET', path)).toMatchObject({ paused: true, userId: user });
  await row.getByRole('button', { name: 'New secret' }).click();
  await shown.getByRole('button', { name: 'Done' }).click();
  expect((await send(secret)).status).toBe(401);
  await row.getByRole('button', { name: 'Delete' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
  await row.waitFor({ state: 'detached' });

  await page.goto(new URL(session!, page.url()).href);
  await page.getByText('What is the weather in Paris?').first().waitFor();
});

test('the keyboard leads to the triggers', async () => {
  const user = fresh('hooked');
  const page = await open(`/ui/apps/city/users/${user}/sessions`);
  await page.getByText('No sessions yet').waitFor();
  await page.keyboard.press('g');
  await page.keyboard.press('h');
  await expect.poll(() => page.url()).toContain(`/users/${user}/triggers`);
});
