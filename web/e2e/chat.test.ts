import type { Route } from 'playwright-core';
import { expect, test } from 'vitest';

import { accessible } from './axe';
import { base, call, clipboard, copyAction, fragile, fresh, open, picture, pull, session, sessionPath, useBrowser } from './kit';

useBrowser();

const start = 'Once upon a time there was a';

test('a message is answered piece by piece', async () => {
  const gate = fresh('gate');
  const page = await open(await session('teller', 'chat', fresh('s')));
  await page.getByLabel('Message').fill(`tell me, gate ${gate}`);
  await page.keyboard.press('Enter');
  const live = page.locator('[data-live]');
  await live.getByText(start).waitFor();
  await expect.poll(() => page.getByText('never lost a word').count()).toBe(0);
  await page.locator('[data-bar=model]').waitFor();
  await page.getByText('running', { exact: true }).first().waitFor();
  await pull(`open/${gate}`);
  await page.getByText('that never lost a word').waitFor();
  await live.waitFor({ state: 'detached' });
  await expect.poll(() => page.locator('.prose strong').textContent()).toBe('server');
  await expect.poll(() => page.locator('.prose table td').first().textContent()).toBe('log');
  expect(await page.locator('.prose a').getAttribute('rel')).toContain('noopener');
  await expect.poll(() => page.locator('.prose script').count()).toBe(0);
  await page.getByText('completed', { exact: true }).first().waitFor();
});

test('a reload in the middle of a turn joins it again, and says so', async () => {
  const gate = fresh('gate');
  const page = await open(await session('teller', 'chat', fresh('s')));
  await page.getByLabel('Message').fill(`tell me, gate ${gate}`);
  await page.keyboard.press('Enter');
  await page.locator('[data-live]').getByText(start).waitFor();
  await page.reload();
  await page.locator('[data-rejoined]').waitFor();
  await page.locator('[data-live]').getByText(start).waitFor();
  await pull(`open/${gate}`);
  await page.getByText('that never lost a word').waitFor();
  await page.locator('[data-live]').waitFor({ state: 'detached' });
  await expect.poll(() => page.locator('[data-row]').count()).toBe(2);
});

test('a lost server is shown, and the run is joined again when it is back', async () => {
  const gate = fresh('gate');
  const page = await open(fragile + (await session('teller', 'chat', fresh('s'))), { expected: /Failed to load resource|net::ERR/ });
  await page.getByLabel('Message').fill(`tell me, gate ${gate}`);
  await page.keyboard.press('Enter');
  await page.locator('[data-live]').getByText(start).waitFor();
  await pull('down');
  try {
    await page.getByText('The server does not answer').waitFor();
    await picture(page, 'lost-light');
  } finally {
    await pull('up');
  }
  await page.getByText('The server does not answer').waitFor({ state: 'detached' });
  await page.getByText('joined the run again').waitFor();
  await pull(`open/${gate}`);
  await page.getByText('that never lost a word').waitFor();
});

test('the timeline is what the server has measured, while it continues', async () => {
  const gate = fresh('gate');
  const page = await open(await session('teller', 'chat', fresh('s')));
  await page.getByLabel('Message').fill(`tell me, gate ${gate}`);
  await page.keyboard.press('Enter');
  await page.locator('[data-measured=true]').waitFor();
  const model = page.locator('[data-bar=model]');
  await expect.poll(() => model.locator('.pulse').count()).toBe(1);
  await expect.poll(() => model.textContent()).toContain('scripted');
  await pull(`open/${gate}`);
  await page.getByText('completed', { exact: true }).first().waitFor();
  await expect.poll(() => model.locator('.pulse').count()).toBe(0);
  // Its first token came before its last, and is where the bar is no longer pale.
  await expect.poll(() => model.locator('[data-first]').count()).toBe(1);
  expect(await model.getAttribute('title')).toMatch(/^model scripted, .*, first token after <?\d/);
  await model.click();
  await page.getByRole('tab', { name: 'Model request' }).click();
  await page.getByText(/, first token after <?\d/).waitFor();
  await picture(page, 'first-token');
  // A call that was tried again says how often, however long it took.
  await page.route('**/debug/trace/session/**', async (route) => {
    const spans = (await (await route.fetch()).json()) as { name: string; start_time: number; end_time: number; attributes: Record<string, unknown> }[];
    for (const span of spans) span.end_time = span.start_time + 83e9;
    for (const span of spans.filter((s) => s.name.startsWith('generate_content'))) Object.assign(span.attributes, { 'parley.model.retries': 12, 'parley.model.first_token_seconds': 30 });
    await route.fulfill({ json: spans });
  });
  await page.reload();
  await expect.poll(() => model.textContent()).toContain('↻12');
  expect(await model.getAttribute('title')).toMatch(/first token after 30.*, 12 retries$/);
  await picture(page, 'retries-light');
  // One that was brought from elsewhere has nothing but its events.
  const id = fresh('s');
  const lines = [{ parley: 1, state: {} }, { id: 'a', invocationId: 'e-9', author: 'user', timestamp: 1794729660, content: { role: 'user', parts: [{ text: 'hi' }] } }, { id: 'b', invocationId: 'e-9', author: 'teller', timestamp: 1794729662, content: { role: 'model', parts: [{ text: 'ho' }] } }];
  await call('POST', `${sessionPath('teller', 'chat', id)}/import`, lines.map((l) => JSON.stringify(l)).join('\n'));
  const old = await open(`/ui${sessionPath('teller', 'chat', id)}?event=b`);
  await old.locator('[data-measured=false]').getByText('≈ 2.00 s').waitFor();
  await old.getByRole('tab', { name: 'Model request' }).click();
  await old.getByText('No call of a model is known').waitFor();
});

test('what a model was asked is shown, with the origin of every part', async () => {
  const page = await open(await session('city', 'chat', fresh('s'), 'What is the weather in Oslo?'));
  await expect.poll(() => page.locator('[data-bar]').evaluateAll((bars) => bars.map((b) => b.getAttribute('data-bar')))).toEqual(['agent', 'model', 'tool', 'model']);
  await page.locator('[data-bar=model]').last().click();
  await page.getByRole('tab', { name: 'Model request' }).click();
  const piece = (path: string) => page.locator(`[data-piece="${path}"]`);
  await piece('config.systemInstruction[0]').getByText(/instruction of agent/).waitFor();
  await piece('contents[0]').getByText('message of the user').waitFor();
  await piece('contents[0]').getByText('What is the weather in Oslo?').waitFor();
  await piece('contents[2]').getByText('"functionResponse"').waitFor();
  await piece('config.tools[0]').getByText(/tool of agent/).waitFor();
  await expect.poll(() => page.getByText(/\d+ in, \d+ out/).count()).toBe(1);
  await copyAction(page.locator('main'), 'Trace of the event');
  expect(await clipboard(page)).toMatch(/\/dev\/apps\/city\/debug\/trace\/\w+\?user=chat&session=[\w-]+'$/);
  // A part leads to the event that it was made of.
  await piece('contents[1]').getByRole('button', { name: 'event 2' }).click();
  await expect.poll(() => page.locator('article[aria-current]').textContent()).toContain('get_weather');
});

test('what another client says appears', async () => {
  const user = fresh('watcher');
  const list = await open(`/ui/apps/city/users/${user}/sessions`);
  await list.getByText('No sessions yet').waitFor();
  const page = await open(await session('city', user, 's', 'What is the weather in Oslo?'));
  await list.getByRole('link', { name: 'What is the weather in Oslo?' }).waitFor();
  await page.getByText('The weather in Oslo is', { exact: false }).first().waitFor();
  await expect.poll(() => page.title()).toBe('What is the weather in Oslo? · city · Parley');
  await call('POST', '/run', { appName: 'city', userId: user, sessionId: 's', newMessage: { parts: [{ text: 'And in Lima?' }] } });
  await page.getByText('And in Lima?').first().waitFor();
  await expect.poll(() => page.locator('[data-rejoined]').count()).toBe(0);
});

test('a session is called what was said first', async () => {
  const id = fresh('s');
  const page = await open(await session('city', 'chat', id));
  await page.getByLabel('Message').fill('What is the weather in Oslo?');
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'What is the weather in Oslo?' }).waitFor();
  await page.getByText('completed', { exact: true }).first().waitFor();
  const { state } = await call<{ state: { __session_metadata__: unknown } }>('GET', sessionPath('city', 'chat', id));
  expect(state.__session_metadata__).toEqual({ displayName: 'What is the weather in Oslo?' });
  await expect.poll(() => page.getByText('named the session').count()).toBe(0);
});

test('the key that goes to a screen does not stop the run, also before the screen is loaded', async () => {
  const gate = fresh('gate');
  const page = await open('/ui/api');
  let load = () => undefined as void;
  const loaded = new Promise<void>((resolve) => (load = resolve));
  await page.route('**/assets/sessions-*.js', async (route) => (await loaded, route.continue()));
  const stops: string[] = [];
  page.on('request', (r) => r.url().endsWith('/cancel') && stops.push(r.url()));
  await page.goto(base + (await session('teller', 'chat', fresh('s'))));
  await page.getByLabel('Message').fill(`tell me, gate ${gate}`);
  await page.keyboard.press('Enter');
  await page.locator('[data-live]').getByText(start).waitFor();
  await page.keyboard.press('Escape');
  await page.keyboard.press('g');
  await page.keyboard.press('s');
  await page.waitForURL(/\/sessions$/);
  await page.getByText('Loading the screen').waitFor();
  await page.keyboard.press('s'); // the workbench cannot be seen any more
  load();
  await page.getByRole('heading', { name: 'Sessions' }).waitFor();
  expect(stops).toEqual([]);
  await pull(`open/${gate}`);
});

test('a message is sent once, and what is written in the meantime is kept', async () => {
  const page = await open(await session('teller', 'chat', fresh('s')), { expected: /409/ });
  const starts = '**/sessions/*/runs';
  const held: Route[] = [];
  await page.route(starts, (route) => (route.request().method() === 'POST' ? void held.push(route) : route.continue()));
  const answer = async (act: (route: Route) => Promise<void>) => {
    await expect.poll(() => held.length).toBe(1);
    await act(held.pop()!);
  };
  const box = page.getByLabel('Message');
  await page.getByRole('button', { name: 'Say hello', exact: true }).dblclick();
  await answer((route) => route.continue());
  await page.getByText('that never lost a word').waitFor();
  await page.getByText('completed', { exact: true }).first().waitFor();
  // The server refuses it: it is there again, before what was written in the meantime.
  await box.fill('tell me');
  await page.locator('input[type=file]').setInputFiles({ name: 'first.txt', mimeType: 'text/plain', buffer: Buffer.from('1') });
  await page.getByText('first.txt').waitFor();
  await box.press('Enter');
  await page.getByText('first.txt').waitFor({ state: 'detached' });
  await box.press('Enter');
  await page.keyboard.type('and more');
  await box.press('Enter');
  await page.locator('input[type=file]').setInputFiles({ name: 'second.txt', mimeType: 'text/plain', buffer: Buffer.from('2') });
  await answer((route) => route.fulfill({ status: 409, json: { error: 'Not now.', detail: 'Not now.' } }));
  await page.getByText('Not now.').waitFor();
  await expect.poll(() => box.inputValue()).toBe('tell me\nand more');
  await expect.poll(() => page.getByLabel('Files to send').locator('li').allInnerTexts()).toEqual(['first.txt', 'second.txt']);
  await picture(page, 'refused-light');
  // The server accepts it: what was written in the meantime stays.
  await page.getByRole('button', { name: 'Send', exact: true }).click();
  await box.fill('the next one');
  await answer((route) => route.continue());
  await page.getByText('completed', { exact: true }).first().waitFor();
  await expect.poll(() => page.locator('[data-row] article[data-tone=user]').count()).toBe(2);
  expect(await box.inputValue()).toBe('the next one');
  expect(held).toEqual([]);
});

test('a run is stopped', async () => {
  const gate = fresh('gate');
  const page = await open(await session('teller', 'chat', fresh('s')));
  await page.getByLabel('Message').fill(`tell me, gate ${gate}`);
  await page.keyboard.press('Enter');
  await page.locator('[data-live]').waitFor();
  await page.getByRole('button', { name: 'Stop', exact: true }).click();
  await page.getByText('cancelled', { exact: true }).first().waitFor();
  await page.getByText('This run was stopped.').waitFor();
  await expect.poll(() => page.getByText('INVOCATION_ABORTED').count()).toBe(0);
  // What was said so far stays, and is marked.
  await page.locator('[data-live]').waitFor({ state: 'detached' });
  await page.getByText(start).waitFor();
  await page.locator('[data-interrupted]').waitFor();
  await picture(page, 'stopped-light');
  await page.reload();
  await page.getByText(start).waitFor();
  await page.locator('[data-interrupted]').waitFor();
});

test('messages to a busy session are queued', async () => {
  const gate = fresh('gate');
  const page = await open(await session('teller', 'chat', fresh('s')));
  await page.getByLabel('Message').fill(`tell me, gate ${gate}`);
  await page.keyboard.press('Enter');
  await page.locator('[data-live]').waitFor();
  await page.getByLabel('Message').fill('tell me more');
  await page.keyboard.press('Enter');
  const log = page.getByRole('region', { name: 'Events' });
  await log.getByText('tell me more').waitFor();
  // Below what is being written, without a number, and marked.
  const last = page.locator('[data-row]').last();
  await expect.poll(() => last.textContent()).toMatch(/tell me more.*queued/);
  await expect.poll(() => page.locator('[data-row]').nth(1).textContent()).toContain(start);
  await picture(page, 'queued-light');
  // One that is taken out of the queue is gone.
  await page.getByLabel('Message').fill('never mind');
  await page.keyboard.press('Enter');
  await log.getByText('never mind').waitFor();
  await last.getByRole('button', { name: 'Withdraw', exact: true }).click();
  await log.getByText('never mind').waitFor({ state: 'detached' });
  await pull(`open/${gate}`);
  await expect.poll(() => page.getByText('that never lost a word').count()).toBe(2);
  await expect.poll(() => page.locator('[data-row]').allTextContents()).toEqual([/^1/, /^2/, /^3user.*tell me more/, /^4/].map((number) => expect.stringMatching(number)));
});

/** The events that the server has of a session. */
const eventsOf = async (app: string, id: string) => (await call<{ events: { id: string }[] }>('GET', sessionPath(app, 'chat', id))).events.map((e) => e.id);

test('a message is edited and sent again, in a branch, and the first one stays', async () => {
  const id = fresh('s');
  const page = await open(await session('city', 'chat', id, 'What is the weather in Oslo?', 'And in Paris?'));
  const before = await eventsOf('city', id);
  const row = page.locator('article[data-tone=user]').first();
  await row.hover();
  await row.getByRole('button', { name: 'Edit and send again', exact: true }).click();
  await page.getByText('This makes a new branch.').waitFor();
  await page.getByLabel('Edited message').fill('What is the weather in Rome?');
  await page.getByRole('button', { name: 'Send again', exact: true }).click();
  await page.waitForURL((url) => !url.pathname.endsWith(id));
  await page.getByText('The weather in Rome is sunny', { exact: false }).first().waitFor();
  await expect.poll(() => page.locator('[data-log]').getByText('Oslo').count()).toBe(0); // the header has it, as the name of the first branch
  await expect.poll(() => page.locator('[data-row]').count()).toBe(4);
  expect(await page.locator('[data-rejoined]').count()).toBe(0);
  expect(await eventsOf('city', id)).toEqual(before);

  // From the branch to the first one and back, with the keyboard.
  await page.getByRole('group', { name: 'Branch 2 of 2' }).waitFor();
  await expect.poll(() => page.locator('[data-branch-of]').getAttribute('data-branch-of')).toBe(id);
  await expect.poll(() => page.locator('[data-branch-of]').textContent()).toContain('branch of What is the weather in Oslo?');
  await expect.poll(() => page.getByRole('button', { name: 'Next branch' }).isDisabled()).toBe(true);
  await page.getByRole('button', { name: 'Previous branch' }).focus();
  await page.keyboard.press('Enter');
  await page.getByRole('group', { name: 'Branch 1 of 2' }).waitFor();
  await expect.poll(() => new URL(page.url()).pathname.endsWith(id)).toBe(true);
  await page.getByText('The weather in Oslo is', { exact: false }).first().waitFor();
  await page.getByRole('button', { name: 'Next branch' }).click();
  await page.getByText('The weather in Rome is sunny', { exact: false }).first().waitFor();

  // And it is marked in the list.
  await page.getByRole('navigation').getByRole('link', { name: /^Sessions/ }).first().click();
  await page.getByRole('row').filter({ hasText: 'branch of What is the weather in Oslo?' }).waitFor();
});

test('a turn is tried again, as often as one likes, and nothing is lost', async () => {
  const id = fresh('s');
  const page = await open(await session('city', 'chat', id, 'Hello', 'What is the weather in Oslo?'));
  const before = await eventsOf('city', id);
  for (const count of [2, 3]) {
    const row = page.locator('article[data-tone=user]').last();
    await row.hover();
    await row.getByRole('button', { name: 'Retry', exact: true }).click();
    await page.getByRole('group', { name: `Branch ${count} of ${count}` }).waitFor();
    await page.getByText('The weather in Oslo is', { exact: false }).first().waitFor();
    await page.getByText('completed', { exact: true }).first().waitFor();
  }
  expect(await eventsOf('city', id)).toEqual(before);
  for (const theme of ['light', 'dark'] as const) {
    const look = await open(page.url(), { theme });
    await look.getByRole('group', { name: 'Branch 3 of 3' }).waitFor();
    await picture(look, `branches-${theme}`);
  }
  const narrow = await open(page.url(), { width: 390, height: 780 });
  await narrow.getByRole('group', { name: 'Branch 3 of 3' }).waitFor();
  await picture(narrow, 'branches-narrow');
  await expect.poll(() => narrow.evaluate(() => document.documentElement.scrollWidth)).toBe(390);
});

test('a session is forked from an event', async () => {
  const id = fresh('s');
  const page = await open(await session('city', 'chat', id, 'What is the weather in Oslo?', 'And in Paris?'));
  await page.locator('[data-row]').nth(3).getByText('The weather in Oslo is').click(); // all of an event leads to it
  await page.getByLabel('Details').getByRole('button', { name: 'Fork', exact: true }).click();
  await page.waitForURL((url) => url.pathname.includes('/sessions/') && !url.pathname.endsWith(id));
  await expect.poll(() => page.locator('[data-row]').count()).toBe(4);
  await expect.poll(() => page.getByText('Paris').count()).toBe(0);
});

test('panes are as large as one likes, and stay so', async () => {
  const page = await open(await session('city', 'chat', fresh('s'), 'What is the weather in Oslo?'));
  const details = page.getByLabel('Details').first();
  const width = async () => (await details.boundingBox())!.width;
  const handle = page.getByRole('separator', { name: 'Width of the details' });
  await handle.waitFor();
  expect(await width()).toBe(480);
  const box = (await handle.boundingBox())!;
  await page.mouse.move(box.x + 4, 400);
  await page.mouse.down();
  await page.mouse.move(box.x - 116, 400);
  await page.mouse.up();
  await expect.poll(width).toBe(599);
  await handle.focus();
  await page.keyboard.press('ArrowRight');
  await expect.poll(width).toBe(575);
  await page.reload();
  await handle.waitFor();
  await expect.poll(width).toBe(575);
  await handle.dblclick();
  await expect.poll(width).toBe(480);
});

test('an event is chosen with a finger', async () => {
  const page = await open(await session('city', 'chat', fresh('s'), 'What is the weather in Oslo?'), { width: 390, height: 780 });
  await page.getByRole('tab', { name: 'Event' }).click();
  await page.getByText('Choose an event of the conversation').waitFor();
  await expect.poll(() => page.getByText('also with').isVisible()).toBe(false);
  await page.getByRole('tab', { name: 'Chat' }).click();
  await page.locator('[data-call=get_weather]').click();
  await page.getByLabel('Details').getByText('"functionCall"').waitFor();
  await picture(page, 'event-phone');
});

test('answers have code, tasks and pictures', async () => {
  const id = fresh('s');
  const answer = 'This is how:\n\n```ts\n// Twice --> enough.\nexport const twice = (text: string) => `${text} ${text}`;\n```\n\n- [x] write it\n- [ ] test it\n\n| a | b |\n|---|---|\n| 1 | 2 |';
  const pixel = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
  const lines = [
    { parley: 1, state: {} },
    { id: 'a', invocationId: 'e-9', author: 'user', timestamp: 1794729660, content: { role: 'user', parts: [{ text: 'how?' }] } },
    { id: 'b', invocationId: 'e-9', author: 'teller', timestamp: 1794729662, content: { role: 'model', parts: [{ text: answer }, { inlineData: { mimeType: 'image/png', data: pixel, displayName: 'dot.png' } }] } },
  ];
  await call('POST', `${sessionPath('teller', 'chat', id)}/import`, lines.map((l) => JSON.stringify(l)).join('\n'));
  const page = await open(`/ui${sessionPath('teller', 'chat', id)}`);
  const code = page.locator('[data-code=ts]');
  await expect.poll(() => code.locator('.hl-keyword').allTextContents()).toEqual(['export', 'const']);
  await code.getByRole('button', { name: 'Copy the code' }).click();
  await expect.poll(() => clipboard(page)).toBe('// Twice --> enough.\nexport const twice = (text: string) => `${text} ${text}`;');
  await page.getByText('done: write it').waitFor();
  await accessible(page, ['wcag2a', 'wcag2aa']);
  await picture(page, 'rich-light');
  await page.evaluate(() => (document.documentElement.dataset['theme'] = 'dark'));
  await picture(page, 'rich-dark');
  await accessible(page, ['color-contrast']);
  await page.getByRole('button', { name: 'dot.png' }).click();
  await page.getByRole('dialog', { name: 'dot.png' }).getByRole('img', { name: 'dot.png' }).waitFor();
  await page.keyboard.press('Escape');
  await page.getByRole('dialog').waitFor({ state: 'detached' });
});

test('files are sent and shown', async () => {
  const page = await open(await session('weather', 'chat', fresh('s')));
  const png = Buffer.from('iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==', 'base64');
  await page.locator('input[type=file]').setInputFiles([{ name: 'dot.png', mimeType: 'image/png', buffer: png }, { name: 'notes.txt', mimeType: 'text/plain', buffer: Buffer.from('hello') }]);
  await page.getByLabel('Message').fill('Look at this');
  await page.getByRole('button', { name: 'Send', exact: true }).click();
  await page.getByRole('img', { name: 'dot.png' }).waitFor();
  await page.getByText('I see').waitFor();
  const saved = page.waitForEvent('download');
  await page.getByRole('button', { name: /notes.txt/ }).click();
  expect((await saved).suggestedFilename()).toBe('notes.txt');
});

test('files are dropped anywhere on the conversation, and pasted', async () => {
  const page = await open(await session('weather', 'chat', fresh('s'), 'Hello'));
  const chosen = page.getByRole('list', { name: 'Files to send' });
  const dragged = await page.evaluateHandle(() => {
    const data = new DataTransfer();
    data.items.add(new File(['hello'], 'dropped.txt', { type: 'text/plain' }));
    return data;
  });
  const log = page.getByRole('region', { name: 'Events' });
  const refused = await log.evaluateHandle((el, dataTransfer) => el.dispatchEvent(new DragEvent('dragover', { dataTransfer, bubbles: true, cancelable: true })), dragged);
  expect(await refused.jsonValue()).toBe(false); // the browser would open the file otherwise
  await log.dispatchEvent('drop', { dataTransfer: dragged });
  await chosen.getByText('dropped.txt').waitFor();
  await page.getByLabel('Message').evaluate((box) => {
    const data = new DataTransfer();
    data.items.add(new File([new Uint8Array([1, 2, 3])], 'pasted.bin', { type: 'application/octet-stream' }));
    box.dispatchEvent(new ClipboardEvent('paste', { clipboardData: data, bubbles: true, cancelable: true }));
  });
  await chosen.getByText('pasted.bin').waitFor();
  await page.getByRole('button', { name: 'Remove pasted.bin' }).click();
  await chosen.getByText('pasted.bin').waitFor({ state: 'detached' });
  // A text is dropped and pasted as a browser does it.
  const text = await log.evaluate((el) => {
    const dataTransfer = new DataTransfer();
    dataTransfer.setData('text/plain', 'words');
    return el.dispatchEvent(new DragEvent('dragover', { dataTransfer, bubbles: true, cancelable: true }));
  });
  expect(text).toBe(true);
  await page.getByLabel('Message').fill('Look at this');
  await page.getByRole('button', { name: 'Send', exact: true }).click();
  await page.getByRole('button', { name: /^dropped.txt/ }).waitFor();
});

test('the state is changed, and the change is an event', async () => {
  const id = fresh('s');
  const page = await open(await session('city', 'chat', id, 'What is the weather in Oslo?'));
  const state = page.getByRole('region', { name: 'State' });
  await state.getByText('unit').click();
  await page.getByLabel('value of unit').fill('{"scale": kelvin}');
  await page.getByRole('button', { name: 'Save', exact: true }).click();
  await page.getByText('This is not valid JSON').waitFor();
  await page.getByLabel('value of unit').fill('"kelvin"');
  await page.getByRole('button', { name: 'Save', exact: true }).click();
  await page.getByText('unit = "kelvin"').waitFor();
  await state.getByRole('button', { name: 'Add a key', exact: true }).click();
  await page.getByLabel('key').fill('user:home');
  await page.getByLabel('value', { exact: false }).last().fill('Oslo');
  await page.getByRole('button', { name: 'Save', exact: true }).click();
  await page.getByText('all sessions of the user').waitFor();
  await state.getByRole('button', { name: 'Delete last_city', exact: true }).click();
  await page.getByText('last_city is deleted').waitFor();
  const now = await call<{ state: unknown }>('GET', sessionPath('city', 'chat', id));
  expect(now.state).toEqual({ unit: 'kelvin', 'user:home': 'Oslo' });
  // Before and after, as a diff.
  await page.getByRole('button', { name: /^5, inspect/ }).click();
  await page.getByRole('tab', { name: 'State', exact: true }).click();
  await page.getByText('− before: "celsius"').waitFor();
  await page.getByText('+ after: "kelvin"').waitFor();
});

test('what a model and a server refuse is said', async () => {
  const page = await open(await session('weather', 'chat', fresh('s')));
  await page.getByLabel('Message').fill('errcode');
  await page.keyboard.press('Enter');
  await page.getByText('The answer was withheld.').waitFor();
  await page.getByText('failed', { exact: true }).first().waitFor();
  await page.getByText('This turn has no answer.').waitFor();
  const failed = page.locator('article[data-tone=bad]');
  await expect.poll(() => failed.getByRole('button', { name: 'Retry', exact: true }).isEnabled()).toBe(true);
  await picture(page, 'failed-light');
  await page.getByLabel('Message').fill('fail');
  await page.keyboard.press('Enter');
  await expect.poll(() => page.getByText('failed', { exact: true }).count()).toBeGreaterThan(2);
  const missing = await open('/ui/apps/city/users/chat/sessions/none', { expected: /404/ });
  await missing.getByText('Session not found').waitFor();
  const app = await open('/ui/apps/none', { expected: /404/ });
  await app.getByText('none cannot be shown').waitFor();
});
