import { expect, test } from 'vitest';

import { accessible, all, lookAt, sizes } from './axe';
import { call, fresh, key, keys, open, picture, session, useBrowser } from './kit';

useBrowser();

const expected = /status of 40[134]/; // the browser tells of what the server refuses
const dot = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==';

test.each(sizes)('a conversation is shared, on a %s', async (size, width, height) => {
  const user = fresh('sharer');
  const address = await session('weather', user, 'talk', 'weather in Oslo');
  await call('POST', `/apps/weather/users/${user}/sessions/talk/runs`, { newMessage: { parts: [{ text: 'What is this?' }, { inlineData: { mimeType: 'image/png', data: dot, displayName: 'dot.png' } }] } });
  const page = await open(address, { width, height, expected });
  await page.getByText('It is sunny in Oslo.').first().waitFor();
  await page.getByRole('button', { name: 'Session actions' }).click();
  await page.getByRole('menuitem', { name: 'Share…' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByText('There are none.').waitFor();
  const links: string[] = [];
  for (const tools of [false, true]) {
    await dialog.getByLabel('Include tools').setChecked(tools);
    await dialog.getByLabel('The link works for').selectOption('a day');
    await dialog.getByRole('button', { name: 'Create a link' }).click();
    const link = dialog.getByLabel('Link', { exact: true });
    await expect.poll(() => link.inputValue().catch(() => '')).not.toBe(links[0] ?? '');
    links.push(await link.inputValue());
    await expect.poll(() => dialog.locator('[data-share]').count()).toBe(links.length);
  }
  await lookAt(page, 'share-dialog', size);

  // Others see it, without tools and with them, and nothing that was said later.
  await call('POST', '/run', { appName: 'weather', userId: user, sessionId: 'talk', newMessage: { parts: [{ text: 'weather in Rome' }] } });
  for (const [i, link] of links.entries()) {
    const visitor = await open(link, { width, height, theme: i === 0 ? 'light' : 'dark' });
    await visitor.getByText('It is sunny in Oslo.').first().waitFor();
    await visitor.getByRole('heading', { name: 'weather in Oslo' }).waitFor();
    const shown = visitor.getByRole('img', { name: 'dot.png' });
    await expect.poll(() => shown.evaluate((img) => (img as HTMLImageElement).naturalWidth)).toBe(1);
    expect(await visitor.locator('[data-call]').count()).toBe(i === 0 ? 0 : 1);
    const text = await visitor.evaluate(() => document.documentElement.outerHTML);
    expect(text.includes('get_weather')).toBe(i === 1);
    for (const absent of ['Rome', user, 'celsius']) expect(text, absent).not.toContain(absent);
    await lookAt(visitor, `shared-${i === 0 ? 'plain' : 'tools'}`, size);
  }

  // A link that is revoked leads nowhere.
  expect(await dialog.locator('[data-share]').allInnerTexts()).toEqual([expect.stringContaining('just now'), expect.not.stringContaining('just now')]);
  await dialog.locator('[data-share]').first().getByRole('button', { name: 'Revoke' }).click();
  await expect.poll(() => dialog.locator('[data-share]').count()).toBe(1);
  const statuses = await Promise.all(links.map(async (link) => (await fetch(link)).status));
  expect(statuses.sort()).toEqual([200, 404]);
});

test('a link is the right to read where callers have to sign in', async () => {
  const headers = { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' };
  const id = fresh('shared');
  const path = `${keys}/apps/weather/users/bob/sessions/${id}`;
  await fetch(path, { method: 'POST', headers, body: '{}' });
  const ran = await fetch(`${keys}/run`, { method: 'POST', headers, body: JSON.stringify({ appName: 'weather', userId: 'bob', sessionId: id, newMessage: { parts: [{ text: 'weather in Oslo' }] } }) });
  expect(ran.status).toBe(200);
  const made = await fetch(`${path}/shares`, { method: 'POST', headers, body: JSON.stringify({ includeTools: true }) });
  expect(made.status).toBe(201);
  const { url, id: share } = (await made.json()) as { url: string; id: string };
  const page = await open(url, { expected });
  await page.getByText('It is sunny in Oslo.').first().waitFor();
  expect(await page.getByLabel('API key').count()).toBe(0);
  expect((await fetch(`${path}/shares/${share}`, { method: 'DELETE', headers })).status).toBe(200);
  const response = await page.reload();
  expect(response?.status()).toBe(404);
  await page.getByRole('heading', { name: 'There is nothing here' }).waitFor();
  await page.getByText('The link is wrong, has expired, or was revoked.', { exact: true }).waitFor();
  await picture(page, 'shared-gone-light');
  await accessible(page, all);
});
