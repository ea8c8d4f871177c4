import { text } from 'node:stream/consumers';

import type { Locator } from 'playwright-core';
import { expect, test } from 'vitest';

import { accessible, all, lookAtAll } from './axe';
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

/** A tenth of a second of silence. */
const sound = (() => {
  const samples = 800;
  const wav = Buffer.alloc(44 + samples, 128);
  wav.write('RIFF', 0), wav.writeUInt32LE(36 + samples, 4), wav.write('WAVEfmt ', 8), wav.writeUInt32LE(16, 16), wav.writeUInt16LE(1, 20), wav.writeUInt16LE(1, 22);
  wav.writeUInt32LE(8000, 24), wav.writeUInt32LE(8000, 28), wav.writeUInt16LE(1, 32), wav.writeUInt16LE(8, 34), wav.write('data', 36), wav.writeUInt32LE(samples, 40);
  return wav;
})();

test('sound is played, Markdown is set, and does nothing', async () => {
  const user = fresh('keeper');
  const path = sessionPath('painter', user, 's');
  await call('POST', path, {});
  const put = (name: string, type: string, body: BodyInit) => fetch(`${base}${path}/artifacts/${name}`, { method: 'PUT', headers: { 'Content-Type': type }, body });
  await put('beep.wav', 'audio/wav', sound);
  await put('clip.webm', 'video/webm', sound); // a video without pictures
  await put('notes.md', 'text/markdown', '# Notes\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n<script>window.owned = 1</script>\n\n![x](https://evil.example/x.png)');
  await put('plain.md', 'text/plain', '*yes*');
  const asked: string[] = [];
  const page = await open(`/ui${path}/artifacts/beep.wav`);
  page.on('request', (request) => asked.push(request.url()));
  const length = (kind: 'audio' | 'video') => page.locator(kind).evaluate((el: HTMLMediaElement) => el.duration);
  await expect.poll(() => length('audio')).toBeCloseTo(0.1);
  await page.getByRole('link', { name: 'clip.webm' }).click();
  await expect.poll(() => length('video')).toBeCloseTo(0.1);
  await page.getByRole('link', { name: 'notes.md' }).click();
  const content = page.getByRole('region', { name: 'Content of notes.md' });
  await content.getByRole('heading', { name: 'Notes' }).waitFor();
  await content.getByRole('cell', { name: '2' }).waitFor();
  expect(await content.locator('img, script').count()).toBe(0);
  expect(await page.evaluate(() => 'owned' in window)).toBe(false);
  await accessible(page, all);
  await page.getByRole('button', { name: 'Show the source' }).click();
  await content.getByText('| a | b |').waitFor();
  await page.getByRole('link', { name: 'plain.md' }).click();
  await page.getByRole('region', { name: 'Content of plain.md' }).locator('em').getByText('yes').waitFor();
  expect(asked.filter((url) => url.includes('evil'))).toEqual([]);
});

test('files are uploaded, read, downloaded and deleted', async () => {
  const user = fresh('keeper');
  const path = sessionPath('painter', user, 's');
  await call('POST', path, {});
  const page = await open(`/ui${path}`);
  await page.getByRole('button', { name: 'Artifacts', exact: true }).click();
  await page.getByText('No files yet').waitFor();
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
  await page.getByText('PDF document, 8 bytes').waitFor();
  await page.getByRole('heading', { name: 'all sessions of the user' }).waitFor();
  await page.getByRole('button', { name: 'Delete', exact: true }).click();
  await copyAction(page.getByRole('dialog'), 'Delete');
  expect(await clipboard(page)).toBe(`curl -X DELETE '${base}${path}/artifacts/user%3Apaper.pdf'`);
  await page.getByRole('dialog').getByRole('button', { name: 'Delete', exact: true }).click();
  await expect.poll(() => call('GET', `${path}/artifacts`)).toEqual(['notes/first.txt']);
  await page.getByRole('link', { name: 'notes/first.txt' }).waitFor();
  await page.getByRole('link', { name: 'paper.pdf' }).waitFor({ state: 'detached' });

  await page.goto(`${base}/ui${path}/artifacts/none.txt`);
  await page.getByText('File not found').waitFor();
});

/** A PDF with two pages. */
const paper = `%PDF-1.4
1 0 obj
<< /Type /Catalog /Pages 2 0 R /OpenAction << /S /JavaScript /JS (app.alert\\(1\\)) >> >>
endobj
2 0 obj
<< /Type /Pages /Kids [3 0 R 4 0 R] /Count 2 >>
endobj
3 0 obj
<< /Type /Page /Parent 2 0 R /MediaBox [0 0 200 200] >>
endobj
4 0 obj
<< /Type /Page /Parent 2 0 R /MediaBox [0 0 200 200] >>
endobj
%%EOF
${'%'.repeat(3000)}
`;

test('a PDF is a card with what is known of it, and is saved', async () => {
  const path = sessionPath('painter', fresh('reader'), 's');
  const inlineData = { mimeType: 'application/pdf', displayName: 'a paper.pdf', data: Buffer.from(paper).toString('base64') };
  await call('POST', path.replace(/\/s$/, ''), { sessionId: 's', events: [{ author: 'user', invocationId: 'e-1', content: { role: 'user', parts: [{ text: 'Read this.' }, { inlineData }] } }] });
  await fetch(`${base}${path}/artifacts/notes/paper.pdf`, { method: 'PUT', body: paper, headers: { 'Content-Type': 'application/pdf' } });
  const page = await open(`/ui${path}`);
  const save = async (place: Locator) => {
    const saved = page.waitForEvent('download');
    await place.click();
    const file = await saved;
    return [file.suggestedFilename(), await text(await file.createReadStream())];
  };
  const card = page.locator('[data-file-card]');
  await card.getByText('PDF document, 2 pages, 4 KB').waitFor();
  expect(await save(card.getByRole('button', { name: 'Download' }))).toEqual(['a paper.pdf', paper]);
  await lookAtAll(page, 'pdf-message');
  await page.goto(`${base}/ui${path}/artifacts/notes/paper.pdf`);
  await card.getByText('PDF document, 2 pages, 4 KB').waitFor();
  expect(await save(page.getByRole('link', { name: 'Download' }))).toEqual(['paper.pdf', paper]);
  expect(await page.locator('iframe, object, embed').count()).toBe(0);
  await lookAtAll(page, 'pdf-file');
});
