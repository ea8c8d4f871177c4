import { expect, test } from 'vitest';

import { accessible, all, lookAt, sizes } from './axe';
import { call, control, fresh, open, picture, pull, useBrowser } from './kit';

useBrowser();

test.each(sizes)('webhooks, on a %s', async (size, width, height) => {
  const id = fresh('alerts');
  const page = await open('/ui/apps/city/users/user/webhooks', { width, height, expected: /status of (404|422)/ }); // 404: the deliveries of a webhook that was just deleted
  await page.getByRole('button', { name: 'New webhook' }).first().click();
  const dialog = page.getByRole('dialog');
  const create = dialog.getByRole('button', { name: 'Create' });
  expect(await create.isDisabled()).toBe(true);
  await dialog.getByLabel('Name').fill(id);
  await dialog.getByRole('textbox', { name: 'URL' }).fill('https://10.0.0.1/hook');
  for (const type of ['a run is completed', 'a run is cancelled']) await dialog.getByLabel(type).uncheck();
  await create.click();
  await page.getByText(/private network/).waitFor(); // the dialog stays, with what was typed
  await dialog.getByRole('textbox', { name: 'URL' }).fill('https://hooks.invalid/parley');
  await dialog.getByLabel('Description').fill('For the operators');
  if (size === 'desktop') await picture(page, 'webhook-new-light');
  await accessible(page, all);
  await page.keyboard.press('Enter');

  // The secret is shown once.
  const shown = page.getByRole('dialog', { name: `The secret of ${id}` });
  const secret = (await shown.locator('[data-secret]').innerText()).trim().split(/\s/)[0]!;
  expect(secret).toMatch(/^whsec_.{40}/);
  await expect.poll(() => shown.getByRole('button', { name: 'Copy the secret' }).evaluate((el) => el === document.activeElement)).toBe(true);
  if (size === 'desktop') await picture(page, 'webhook-secret-light');
  await accessible(page, all);
  await shown.getByRole('button', { name: 'Done' }).click();
  const row = page.locator(`[data-webhook="${id}"]`);
  await row.getByText('https://hooks.invalid/parley').waitFor();
  expect(await call<{ events: string[] }>('GET', `/apps/city/webhooks/${id}`)).toMatchObject({ description: 'For the operators', events: ['run.waiting', 'run.failed', 'schedule.missed', 'budget.reached', 'inbox.escalated'] });

  // What the receiver does not accept is listed, and can be sent again.
  await row.getByRole('button', { name: 'Send a test' }).click();
  await row.getByText('Not accepted').click();
  await row.getByText('webhook.test').waitFor();
  await row.getByText(/pending after \d+ attempt/).first().waitFor();
  await row.getByText(/lookup/).first().waitFor({ timeout: 60_000 });
  await row.getByRole('button', { name: 'Send again' }).first().click();
  await page.getByText('It will be sent again.').waitFor();
  await row.getByRole('button', { name: 'New secret' }).click();
  await shown.waitFor();
  expect(await shown.locator('[data-secret]').innerText()).not.toContain(secret);
  await shown.getByRole('button', { name: 'Done' }).click();
  await row.getByText(/old secret also signs/).waitFor();
  await lookAt(page, 'webhooks', size);
  await row.getByRole('button', { name: 'Delete' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
  await row.waitFor({ state: 'detached' });
});

test('what was given up can be sent again', async () => {
  const [id, gate] = [fresh('gone'), fresh('hook')];
  await call('POST', '/apps/story/webhooks', { id, url: `${control}/hook/${gate}` });
  await call('POST', `/apps/story/webhooks/${id}/test`);
  const page = await open('/ui/apps/story/users/user/webhooks');
  const section = page.getByRole('region', { name: 'Given up' });
  const row = section.locator('li', { hasText: id });
  await row.getByText('webhook.test').waitFor();
  await row.getByText('the status 410').waitFor();
  await row.getByText(new URL(control).origin).waitFor();
  await accessible(page, all);
  await picture(page, 'webhooks-given-up-light');
  await pull(`open/${gate}`);
  await row.getByRole('button', { name: 'Send again' }).click();
  await page.getByText('It will be sent again.').waitFor();
  await row.waitFor({ state: 'detached' });
  await expect.poll(() => call<{ deliveries: unknown[] }>('GET', `/apps/story/webhooks/${id}/deliveries`)).toMatchObject({ deliveries: [] });
});
