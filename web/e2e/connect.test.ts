import { expect, test } from 'vitest';

import { base, call, clipboard, key, keys, open, useBrowser } from './kit';

useBrowser();

interface Faces {
  faces: { name: string; title: string; path: string }[];
}

test('the page of an application has an address and code for each protocol that is on', async () => {
  const { faces } = await call<Faces>('GET', '/faces');
  expect(faces.map((f) => f.name)).toEqual(expect.arrayContaining(['agui', 'aisdk', 'openai']));
  const page = await open('/ui/apps/city');
  const connect = page.getByRole('region', { name: 'Connect' });
  await connect.getByRole('tab', { name: 'ADK', exact: true }).waitFor();
  expect(await connect.getByRole('tab').allTextContents()).toEqual([...faces.map((f) => f.title), 'ADK']);
  for (const { title, path } of faces) {
    await connect.getByRole('tab', { name: title, exact: true }).click();
    const address = base + path.replace('{app}', 'city');
    await connect.getByRole('button', { name: 'Copy the address' }).click();
    await expect.poll(() => clipboard(page)).toBe(address);
    await connect.getByRole('button', { name: /^Copy the code/ }).last().click();
    await expect.poll(() => clipboard(page)).toContain(address);
  }
  await connect.getByRole('tab', { name: 'ADK', exact: true }).click();
  await page.reload(); // the address of the page has the protocol
  await connect.getByRole('button', { name: 'Copy the code for assistant-ui, @assistant-ui/react-google-adk' }).click();
  await expect.poll(() => clipboard(page)).toContain(`createAdkStream({ api: '${base}', ...server })`);
});

test('the root page lists the protocols', async () => {
  const page = await open('/');
  await page.getByRole('region', { name: 'for other clients' }).getByText(`${base}/apps/{app}/agui`).waitFor();
  const other = await open(keys);
  await other.getByLabel('API key').fill(key);
  await other.keyboard.press('Enter');
  await other.getByText(`${keys}/v1`).waitFor(); // also to users who are not developers
});
