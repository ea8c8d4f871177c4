import { expect, test } from 'vitest';

import { base, call, clipboard, copyAction, fresh, open, session, sessionPath, useBrowser } from './kit';

useBrowser();

test('what an event has saved is shown in the log, and leads to the file', async () => {
  const user = fresh('painter');
  const page = await open(await session('painter', user, 's', 'Paint the evening'));
  const picture = page.getByRole('region', { name: 'Events' }).getByRole('img', { name: 'user:art/dusk.png' });
  await picture.waitFor();
  await expect.poll(() => picture.evaluate((img: HTMLImageElement) => img.naturalWidth)).toBe(320);
  await page.getByRole('button', { name: /^3, inspect/ }).click();
  await page.getByLabel('Details').getByRole('link', { name: 'thoughts.json' }).click();
  await page.waitForURL(`${base}/ui${sessionPath('painter', user, 's')}/artifacts/thoughts.json?version=0`);
  await page.getByRole('region', { name: 'Content of thoughts.json' }).getByText('"calm"').waitFor();
  await page.getByRole('navigation', { name: 'Files' }).getByRole('link', { name: 'art/dusk.png' }).click();
  await page.getByRole('article', { name: 'user:art/dusk.png' }).getByRole('img').waitFor();
  expect(page.url()).toBe(`${base}/ui${sessionPath('painter', user, 's')}/artifacts/user%3Aart/dusk.png`);
  // What the user shares is in their other sessions, too.
  await call('POST', sessionPath('painter', user, 'other'), {});
  await page.goto(`${base}/ui${sessionPath('painter', user, 'other')}/artifacts`);
  await page.getByRole('link', { name: 'art/dusk.png' }).waitFor();
  await expect.poll(() => page.getByRole('link', { name: 'thoughts.json' }).count()).toBe(0);
});

test('files are uploaded, read, downloaded and deleted', async () => {
  const user = fresh('keeper');
  const path = sessionPath('painter', user, 's');
  await call('POST', path, {});
  const page = await open(`/ui${path}`);
  await page.getByRole('button', { name: 'Artifacts', exact: true }).click();
  await page.getByText('Nothing is saved yet').waitFor();
  const upload = async (name: string, mimeType: string, content: string, shared = false) => {
    await page.getByRole('button', { name: 'Upload', exact: true }).first().click();
    const dialog = page.getByRole('dialog');
    await dialog.locator('input[type=file]').setInputFiles({ name: name.split('/').at(-1)!, mimeType, buffer: Buffer.from(content) });
    await dialog.getByLabel('name').fill(name);
    if (shared) await dialog.getByRole('checkbox').check();
    await copyAction(dialog, 'Upload');
    const command = await clipboard(page);
    await dialog.getByRole('button', { name: 'Upload', exact: true }).click();
    await dialog.waitFor({ state: 'detached' });
    return command;
  };
  expect(await upload('notes/first.txt', 'text/plain', 'one')).toBe(`curl -X PUT '${base}${path}/artifacts/notes/first.txt' -H 'Content-Type: text/plain' --data-binary '@first.txt'`);
  const content = page.getByRole('region', { name: 'Content of notes/first.txt' });
  await content.getByText('one').waitFor();
  await upload('notes/first.txt', 'text/plain', 'two <script>alert(1)</script>');
  await content.getByText('two <script>').waitFor();
  await page.getByLabel('version').selectOption('0');
  await content.getByText('one').waitFor();
  expect(page.url()).toContain('version=0');
  const saved = page.waitForEvent('download');
  await page.getByRole('link', { name: 'Download' }).click();
  expect((await saved).suggestedFilename()).toBe('first.txt');

  await upload('paper.pdf', 'application/pdf', '%PDF-1.4', true);
  await page.getByText('Download the PDF to read it.').waitFor();
  await page.getByRole('heading', { name: 'all sessions of the user' }).waitFor();
  await page.getByRole('button', { name: 'Delete', exact: true }).click();
  await copyAction(page.getByRole('dialog'), 'Delete');
  expect(await clipboard(page)).toBe(`curl -X DELETE '${base}${path}/artifacts/user%3Apaper.pdf'`);
  await page.getByRole('dialog').getByRole('button', { name: 'Delete', exact: true }).click();
  await expect.poll(() => call('GET', `${path}/artifacts`)).toEqual(['notes/first.txt']);
  await page.getByRole('link', { name: 'notes/first.txt' }).waitFor();
  await page.getByRole('link', { name: 'paper.pdf' }).waitFor({ state: 'detached' });

  await page.goto(`${base}/ui${path}/artifacts/none.txt`);
  await page.getByText('There is no such file').waitFor();
});
