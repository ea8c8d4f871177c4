import { mkdtempSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';

import { look } from './axe';
import { base, call, copyItem, fresh, open, palette, picture, pull, session, sessionPath, toEnd, useBrowser } from './kit';

useBrowser();

test('the sessions open with one request for one page', async () => {
  const user = fresh('many');
  await Promise.all(Array.from({ length: 120 }, (_, i) => call('POST', sessionPath('city', user, `s-${i}`), { state: { __session_metadata__: { displayName: `Talk ${i}`, labels: { parity: i % 2 ? 'odd' : 'even' } } } })));
  const page = await open('/ui/api');
  const asked: string[] = [];
  page.on('request', (r) => r.url().includes('/sessions') && asked.push(r.url()));
  await page.goto(`${base}/ui/apps/city/users/${user}/sessions`);
  await page.getByRole('button', { name: 'Show more', exact: true }).waitFor();
  await expect.poll(() => page.locator('tbody tr').count()).toBe(50);
  // The page looks for new ones from time to time, in the same way.
  expect(new Set(asked.filter((url) => !url.includes('/assets/') && !url.includes('/ui/'))).size).toBe(1);
  await page.getByRole('button', { name: 'Show more', exact: true }).click();
  // Of long lists, only what can be seen is in the document.
  await page.locator('table[aria-rowcount="101"]').waitFor();
  await toEnd(page);
  await page.locator('tr[aria-rowindex="101"]').waitFor();
  expect(await page.locator('tbody tr').count()).toBeLessThan(100);
  await page.getByLabel('Search sessions').fill('talk 11');
  await expect.poll(() => page.locator('tbody tr').count()).toBe(11); // 11 and 110 to 119
  await page.getByLabel('Search sessions').fill('talk 11 parity:odd');
  await expect.poll(() => page.locator('tbody tr').count()).toBe(6);
  expect(page.url()).toContain('q=talk');
});

test('sessions are found by what was said', async () => {
  const user = fresh('finder');
  await session('city', user, 'one', 'What is the weather in Oslo?');
  await session('city', user, 'two', 'Hello');
  await call('POST', sessionPath('city', user, 'three'), {});
  const page = await open(`/ui/apps/city/users/${user}/sessions`);
  const row = page.getByRole('row').filter({ hasText: 'What is the weather in Oslo?' });
  await row.getByText('completed').waitFor();
  await expect.poll(() => row.locator('[data-preview]').textContent()).toContain('The weather in Oslo is');
  await expect.poll(() => row.locator('[data-events]').textContent()).toBe('4');
  await page.getByRole('link', { name: 'three' }).waitFor();
  await picture(page, 'sessions-titles-light');
  await page.getByLabel('Search sessions').fill('weather in oslo is');
  await expect.poll(() => page.locator('tbody tr').count()).toBe(1);
  await page.getByLabel('Search sessions').fill('hell');
  await page.getByRole('link', { name: 'Hello', exact: true }).waitFor();
  await expect.poll(() => page.locator('tbody tr').count()).toBe(1);
  await page.getByLabel('Search sessions').fill('bonjour');
  await page.getByText('No matches in titles and previews').waitFor();
  // Several are deleted at once.
  await page.getByRole('button', { name: 'Show all', exact: true }).click();
  await page.getByLabel('Mark Hello').check();
  await page.getByLabel('Mark three').check();
  await picture(page, 'sessions-marked-light');
  const marked = page.getByRole('group', { name: 'Marked sessions' });
  await marked.getByText('2 sessions marked').waitFor();
  await marked.getByRole('button', { name: 'Delete', exact: true }).click();
  await page.getByRole('dialog', { name: 'Delete 2 sessions?' }).getByRole('button', { name: 'Delete', exact: true }).click();
  await expect.poll(() => page.locator('tbody tr').count()).toBe(1);
  await row.waitFor();
});

test('a session that adk-web has exported is imported', async () => {
  const user = fresh('keeper');
  await session('city', user, 'first', 'What is the weather in Oslo?');
  const exported = await call('GET', sessionPath('city', user, 'first'));
  const page = await open(`/ui/apps/city/users/${user}/sessions`);
  await page.locator('input[type=file]').setInputFiles({ name: 'session-first.json', mimeType: 'application/json', buffer: Buffer.from(JSON.stringify(exported, null, 2)) });
  await page.waitForURL(/\/sessions\/session-first-\w+$/);
  await page.getByText('The weather in Oslo is sunny').first().waitFor();
});

test('runs are found behind sessions without any', async () => {
  const user = fresh('starter');
  await session('teller', user, 'old', 'tell me');
  await Promise.all(Array.from({ length: 101 }, (_, i) => call('POST', sessionPath('teller', user, `empty-${i}`), {})));
  const page = await open(`/ui/apps/teller/users/${user}/runs`, { width: 390, height: 780 });
  await page.locator('tbody').getByText('completed').waitFor();
  await expect.poll(() => page.locator('table').evaluate((t) => t.parentElement!.scrollWidth <= t.parentElement!.clientWidth)).toBe(true);
  await picture(page, 'runs-phone-old');
});

test('a change that cannot be loaded is shown, until it is repaired', async () => {
  const path = await session('changing', 'maker', fresh('s'));
  const page = await open(path, { expected: /500/ });
  await page.getByLabel('Message').waitFor();
  const source = (text: string) => `import { LlmAgent } from '@google/adk';\n\nexport const rootAgent = new LlmAgent({\n  name: 'changing', model: 'gemini-2.5-flash', ${text}\n});\n`;
  await pull('write/changing', source('description ='));
  const banner = page.locator('[data-not-loaded]');
  await banner.getByText('the code before it is running').waitFor();
  await banner.getByText('index.ts:5:1').waitFor();
  await picture(page, 'not-loaded-light');
  const other = await open('/ui/apps/changing');
  await other.getByText('The last change could not be loaded').waitFor();
  await picture(other, 'not-loaded-app-light');
  await pull('write/changing', source("description: 'works'"));
  await banner.waitFor({ state: 'detached' });
});

test('an application that cannot be loaded says why on its page', async () => {
  const page = await open('/ui/apps/broken', { expected: /500/ });
  await page.getByText('broken cannot be loaded').waitFor();
  await page.getByText('index.ts:5:3').waitFor();
  await picture(page, 'broken-light');
});

test('a session is labelled, forked, exported, imported and deleted', async () => {
  const user = fresh('keeper');
  await session('city', user, 'first', 'What is the weather in Oslo?');
  const page = await open(`/ui/apps/city/users/${user}/sessions`);
  const menu = async (item: string) => {
    await page.getByRole('button', { name: /^Actions for/ }).last().click();
    await page.getByRole('menuitem', { name: item, exact: true }).click();
  };
  await menu('Title and labels');
  await page.getByRole('textbox', { name: 'title' }).fill('My trip');
  await page.getByRole('textbox', { name: 'labels' }).fill('kind:trip, year:2026');
  await page.getByRole('button', { name: 'Save', exact: true }).click();
  await page.getByRole('link', { name: 'My trip' }).waitFor();
  await page.getByRole('button', { name: 'kind:trip', exact: true }).waitFor();
  const saved = page.waitForEvent('download');
  await menu('Export');
  const file = await saved;
  expect(file.suggestedFilename()).toBe('first.jsonl');
  const path = join(mkdtempSync(join(tmpdir(), 'parley-')), 'first.jsonl');
  await file.saveAs(path);
  await page.getByRole('button', { name: /^Actions for/ }).last().click();
  await copyItem(page, 'Delete');
  expect(await page.evaluate(() => navigator.clipboard.readText())).toBe(`curl -X DELETE '${base}/apps/city/users/${user}/sessions/first'`);
  await menu('Delete');
  await page.getByRole('dialog').getByRole('button', { name: 'Delete', exact: true }).click();
  await page.getByText('No sessions yet').waitFor();
  await page.locator('input[type=file]').setInputFiles({ name: 'first.jsonl', mimeType: 'application/jsonl', buffer: readFileSync(path) });
  await page.waitForURL(/\/sessions\/first-\w+$/);
  await page.getByText('The weather in Oslo is sunny').first().waitFor();
});

test('five thousand events keep the document small', async () => {
  const id = fresh('long');
  const actions = { stateDelta: {}, artifactDelta: {}, requestedAuthConfigs: {} };
  const lines = [JSON.stringify({ parley: 1, state: {} })];
  for (let i = 0; i < 5000; i++) {
    const user = i % 2 === 0;
    lines.push(JSON.stringify({ id: `m${i}`, invocationId: `e-${i >> 1}`, author: user ? 'user' : 'weather_agent', timestamp: 1794729660 + i, content: { role: user ? 'user' : 'model', parts: [{ text: `Line ${i + 1} ` + 'of a long talk. '.repeat(i % 7) }] }, actions }));
  }
  await call('POST', `${sessionPath('weather', 'long', id)}/import`, lines.join('\n'));
  const page = await open(`/ui${sessionPath('weather', 'long', id)}`);
  await page.getByText('Line 5000').waitFor();
  const rows = () => page.locator('[data-row]').count();
  expect(await rows()).toBeLessThanOrEqual(200);
  const log = page.locator('[data-log]');
  for (const at of [0, 0.3, 0.7]) {
    await log.evaluate((el, at) => (el.scrollTop = el.scrollHeight * at), at);
    await expect.poll(rows).toBeGreaterThan(3);
    expect(await rows()).toBeLessThanOrEqual(200);
  }
  await log.evaluate((el) => (el.scrollTop = 0));
  await page.getByText('Line 1 ', { exact: false }).first().waitFor();
  const latest = page.getByRole('button', { name: 'Latest', exact: true });
  const [button, events] = [(await latest.boundingBox())!, (await log.boundingBox())!];
  expect(button.y, 'it covers no text').toBeGreaterThanOrEqual(events.y + events.height);
  await latest.click();
  await page.getByText('Line 5000').waitFor();
  // What is out of view is found all the same.
  await page.keyboard.press('Control+f');
  await page.getByLabel('Find in the conversation').fill('line 2345 ');
  await page.getByText('1 found').waitFor();
  await page.keyboard.press('Enter');
  await page.locator('article[aria-current]').getByText('Line 2345 ').waitFor();
  await page.getByText('1 of 1').waitFor();
  await picture(page, 'find-light');
  await page.keyboard.press('Escape');
  await page.getByLabel('Find in the conversation').waitFor({ state: 'detached' });
  // A message that is sent from above comes into view, and so does its answer.
  await log.evaluate((el) => (el.scrollTop = 0));
  await page.getByText('Line 1 ', { exact: false }).first().waitFor();
  await page.getByLabel('Message').fill('and on');
  await page.keyboard.press('Enter');
  await page.getByText('You said: and on').waitFor();
  expect(await rows()).toBeLessThanOrEqual(200);
});

test('JSON is folded, searched and pointed at, however long it is', async () => {
  const id = fresh('json');
  const rows = Array.from({ length: 3000 }, (_, i) => ({ row: i, city: i === 2345 ? 'Longyearbyen' : 'Oslo' }));
  const events = [
    { id: 'a', invocationId: 'e-1', author: 'user', timestamp: 1794729660, content: { role: 'user', parts: [{ text: 'list' }] } },
    { id: 'b', invocationId: 'e-1', author: 'weather_agent', timestamp: 1794729661, content: { role: 'model', parts: [{ functionCall: { id: 'c', name: 'list', args: { 'a b': [1] } } }] } },
    { id: 'c', invocationId: 'e-1', author: 'weather_agent', timestamp: 1794729662, content: { role: 'user', parts: [{ functionResponse: { id: 'c', name: 'list', response: { rows, text: 'long '.repeat(500) } } }] } },
  ];
  await call('POST', `${sessionPath('weather', 'json', id)}/import`, [{ parley: 1, state: {} }, ...events].map((l) => JSON.stringify(l)).join('\n'));
  const page = await open(`/ui${sessionPath('weather', 'json', id)}?event=b`);
  const details = page.getByLabel('Details');
  // With a keyboard: down to the arguments, fold them, copy the path and the value.
  await details.getByRole('tree').focus();
  for (let i = 0; i < 5; i++) await page.keyboard.press('ArrowDown');
  await expect.poll(() => details.locator('[role=treeitem][aria-selected=true]').textContent()).toContain('"args"');
  await page.keyboard.press('p');
  await expect.poll(() => page.evaluate(() => navigator.clipboard.readText())).toBe('functionCall.args');
  await page.keyboard.press('ArrowLeft');
  await details.getByText('1 member').waitFor();
  await page.keyboard.press('v');
  await expect.poll(async () => JSON.parse(await page.evaluate(() => navigator.clipboard.readText())) as unknown).toEqual({ 'a b': [1] });
  await details.getByText('1 member').click();
  await details.getByText('"a b"').waitFor();
  // What is long is folded at first, and found all the same.
  await page.locator('[data-row]').last().getByText('list').click();
  await details.getByText('3000 items').waitFor();
  await details.getByRole('button', { name: /more characters$/ }).click();
  await expect.poll(() => details.getByRole('button', { name: /more characters$/ }).count()).toBe(0);
  await details.getByLabel('Search in the content').fill('longyear');
  await details.getByText('"Longyearbyen"').waitFor();
  expect(await page.locator('[role=treeitem]').count()).toBeLessThan(200);
  await picture(page, 'json-light');
});

test('a model request with many parts leads to the last one', async () => {
  const id = fresh('parts');
  const lines: object[] = [{ parley: 1, state: {} }];
  for (let i = 0; i < 400; i++) lines.push({ id: `m${i}`, invocationId: `e-${i >> 1}`, author: i % 2 ? 'weather_agent' : 'user', timestamp: 1794729660 + i, content: { role: i % 2 ? 'model' : 'user', parts: [{ text: `Line ${i + 1}.` }] } });
  await call('POST', `${sessionPath('weather', 'parts', id)}/import`, lines.map((l) => JSON.stringify(l)).join('\n'));
  await call('POST', '/run', { appName: 'weather', userId: 'parts', sessionId: id, newMessage: { parts: [{ text: 'and on' }] } });
  const page = await open(`/ui${sessionPath('weather', 'parts', id)}`);
  await page.locator('[data-row]').last().getByText('You said').click();
  await page.getByRole('tab', { name: 'Model request' }).click();
  await page.locator('[data-piece="contents[0]"]').waitFor();
  await page.getByRole('button', { name: 'Show the last part' }).click();
  await page.locator('[data-piece="contents[400]"]').waitFor();
  expect(await page.locator('[data-piece]').count()).toBeLessThan(60);
});

test('runs are shown as they are, and cancelled', async () => {
  const user = fresh('runner');
  const gate = fresh('gate');
  await session('teller', user, 's', 'tell me');
  for (const text of [`tell me, gate ${gate}`, 'and then?']) await call('POST', `${sessionPath('teller', user, 's')}/runs`, { newMessage: { parts: [{ text }] } });
  const page = await open(`/ui/apps/teller/users/${user}/runs`);
  await page.locator('tbody').getByText('running').waitFor();
  await page.locator('tbody').getByText('queued').waitFor();
  await picture(page, 'runs-busy-light');
  await page.getByRole('button', { name: /^queued/ }).click();
  await page.getByRole('button', { name: 'Cancel', exact: true }).click();
  await page.getByText('No run is queued').waitFor();
  await pull(`open/${gate}`);
  await page.getByRole('button', { name: /^all/ }).click();
  await expect.poll(() => page.locator('tbody').getByText('completed').count()).toBe(2);
  await expect.poll(() => page.locator('tbody').getByText('cancelled').count()).toBe(1);
});

test('all runs are listed, in pages, by status and for all users', async () => {
  const user = fresh('runner');
  const other = fresh('runner');
  await session('spender', user, 'broken', 'no-model');
  const second = await call<{ id: string }>('POST', `${sessionPath('spender', user, 'broken')}/runs`, { newMessage: { parts: [{ text: 'no-model' }] } });
  await session('spender', other, 's', 'other-model');
  for (const id of ['long', 'longer']) await session('spender', user, id, ...Array.from({ length: 60 }, () => 'a-model'));
  const page = await open(`/ui/apps/spender/users/${user}/runs`);
  const shown = page.locator('[data-shown]');
  await expect.poll(() => shown.innerText()).toBe('The newest 100 runs');
  await page.getByRole('button', { name: 'Show more' }).click();
  await expect.poll(() => shown.innerText()).toBe('122 runs');
  expect(await page.getByRole('button', { name: 'Show more' }).count()).toBe(0);
  const rowWith = async (text: string) => (await toEnd(page), page.locator('tbody tr').filter({ hasText: text }).count());
  await expect.poll(() => rowWith(second.id)).toBe(1);
  await look(page, 'runs-all');
  // Several statuses, in the address; what there is none of says so.
  await page.getByRole('button', { name: 'failed', exact: true }).click();
  await page.getByText('No run is failed').waitFor();
  await page.getByRole('button', { name: 'completed', exact: true }).click();
  await expect.poll(() => shown.innerText()).toBe('The newest 100 runs');
  expect(new URL(page.url()).searchParams.get('status')).toBe('completed,failed');
  await page.getByRole('button', { name: 'all', exact: true }).click();
  // Those of all users have their names, and lead to their sessions.
  await page.getByLabel('All users').check();
  const row = page.locator('tbody tr').filter({ hasText: other });
  // Other tests start runs of the application, too: it is not known how far it is to this one.
  const further = async () => {
    await page.getByRole('button', { name: 'Show more' }).evaluateAll((list: HTMLElement[]) => list.forEach((one) => one.click()));
    await page.locator('#main').evaluate((el) => void (el.scrollTop = el.scrollTop + el.clientHeight < el.scrollHeight ? el.scrollTop + 500 : 0));
  };
  await expect.poll(async () => (await further(), row.count())).toBe(1);
  expect(await row.getByRole('link').first().getAttribute('href')).toContain(`/users/${other}/sessions/s`);
});

test('the sum of a session has all of its runs', async () => {
  const user = fresh('runner');
  const path = await session('spender', user, 's', 'a-model');
  const page = await open('/ui/api');
  // A store in memory keeps a hundred runs of a session: this one says that it has more.
  const runs = Array.from({ length: 1501 }, (_, i) => ({ id: `e-${i}`, appName: 'spender', userId: user, sessionId: 's', status: 'completed', usageMetadata: { totalTokenCount: 10 }, unpricedTokens: 10, createTime: 1, endTime: 2 }));
  await page.route(/\/sessions\/s\/runs\?/, (route) => {
    const query = new URL(route.request().url()).searchParams;
    const size = Number(query.get('pageSize'));
    const from = Number(query.get('pageToken') ?? 0);
    const next = `<${sessionPath('spender', user, 's')}/runs?pageSize=${size}&pageToken=${from + size}>; rel="next"`;
    return route.fulfill({ json: runs.slice(from, from + size), headers: from + size < runs.length ? { Link: next } : {} });
  });
  await page.goto(base + path);
  await expect.poll(() => page.locator('[data-session-cost]').innerText()).toContain('15,010 tokens');
  expect(await page.locator('[data-session-cost]').innerText()).not.toContain('newest');
});

test('the API page tries requests, and copies them', async () => {
  const page = await open('/ui/api');
  // Sentences are there to their end.
  await page.getByLabel('Search operations').fill('Create a session');
  await page.getByRole('button', { name: /^Create a session POST/ }).first().click();
  await page.getByText('A session is not deleted while it has a run.').waitFor();
  // The list shows where the operation of an address is, and what a request needs is told before it is sent.
  await page.goto(`${base}/ui/api?operation=getHealth`);
  await expect.poll(async () => (await page.locator('button[aria-current=true]').boundingBox())?.y).toBeLessThan(860);
  await page.goto(`${base}/ui/api?operation=searchSessions`);
  await page.getByRole('textbox', { name: 'app', exact: true }).fill('city');
  await page.getByRole('button', { name: 'Send', exact: true }).click();
  await page.getByText('q is needed.').waitFor();
  await page.getByLabel('Search operations').fill('app-info');
  await page.getByRole('button', { name: /app-info/ }).click();
  await page.getByRole('textbox', { name: 'app', exact: true }).fill('city');
  await page.getByRole('button', { name: 'Copy as curl', exact: true }).last().click();
  expect(await page.evaluate(() => navigator.clipboard.readText())).toBe(`curl '${base}/apps/city/app-info'`);
  await page.getByRole('button', { name: 'Send', exact: true }).click();
  const answer = page.getByRole('region', { name: 'Answer' });
  await answer.getByText('"weather_agent"').first().waitFor();
  // A long text is shown as a whole when it is asked for.
  const user = fresh('writer');
  await session('city', user, 'long', `Hello ${'x'.repeat(30_000)} end of it`);
  await page.goto(`${base}/ui/api?operation=exportSession`);
  for (const [name, value] of Object.entries({ app: 'city', user, session: 'long' })) await page.getByRole('textbox', { name, exact: true }).fill(value);
  await page.getByRole('button', { name: 'Send', exact: true }).click();
  const more = answer.getByRole('button', { name: /more characters$/ });
  await more.waitFor();
  expect(await answer.textContent()).not.toContain('end of it');
  await more.click();
  await expect.poll(() => answer.textContent()).toContain('end of it');
});

test('what can be done on a screen is among the commands', async () => {
  const user = fresh('doer');
  await call('POST', sessionPath('painter', user, 's'), {});
  expect((await fetch(`${base}${sessionPath('painter', user, 's')}/artifacts/notes.txt`, { method: 'PUT', body: 'Hello' })).ok).toBe(true);
  await call('POST', `/apps/city/users/${user}/schedules`, { id: 'morning', cron: '0 9 * * MON-FRI', newMessage: { parts: [{ text: 'Hello' }] } });
  const page = await open(`/ui/apps/city/users/${user}/schedules`);
  const choose = async (command: string) => {
    await palette(page);
    await page.keyboard.type(command);
    await page.getByRole('option', { name: command, exact: true }).click();
  };
  const dialog = page.getByRole('dialog');
  const row = page.locator('[data-schedule=morning]');
  await row.waitFor();
  await palette(page);
  await page.getByRole('option', { name: 'New schedule', exact: true }).waitFor();
  expect(await page.getByRole('option', { name: 'Pause: morning' }).count()).toBe(0); // those of items are only found
  await page.keyboard.press('Escape');
  await dialog.waitFor({ state: 'detached' });
  await choose('Pause: morning');
  await row.getByRole('button', { name: 'Resume' }).waitFor();
  await choose('New schedule');
  await dialog.getByText('What is sent, and when.').waitFor();
  await page.goto(`${base}/ui/apps/city/users/${user}/runs`);
  const failed = page.getByRole('button', { name: 'failed', exact: true });
  await failed.waitFor();
  await choose('Show failed runs');
  await expect.poll(() => failed.getAttribute('aria-pressed')).toBe('true');
  await choose('Save this filter');
  await page.getByRole('button', { name: 'Delete this filter' }).waitFor();
  await page.goto(`${base}/ui${sessionPath('painter', user, 's')}/artifacts/notes.txt`);
  await page.getByRole('link', { name: 'Download' }).waitFor();
  const saved = page.waitForEvent('download');
  await choose('Download the file');
  expect((await saved).suggestedFilename()).toBe('notes.txt');
  await choose('Delete the file');
  await dialog.getByText('Delete the file?').waitFor();
  await page.goto(`${base}/ui/apps/story/evals`);
  await page.getByRole('button', { name: 'New set' }).first().waitFor();
  await choose('New set');
  await dialog.getByLabel('Name').waitFor();
});

test('what can be done in the workbench is among the commands', async () => {
  const user = fresh('doer');
  const gate = fresh('gate');
  const page = await open(await session('teller', user, 's', 'tell me'));
  const choose = async (command: string) => {
    await palette(page);
    await page.keyboard.type(command);
    await page.getByRole('option').getByText(command, { exact: true }).click(); // beside it there may be a key
    await page.getByRole('dialog').waitFor({ state: 'detached' });
  };
  const bar = page.locator('[data-feedback]');
  await bar.waitFor();
  await choose('Rate the last turn as good');
  await bar.locator('[aria-label="Good answer"][aria-pressed=true]').waitFor();
  await choose('Rate the last turn as bad');
  await bar.locator('[aria-label="Bad answer"][aria-pressed=true]').waitFor();
  await choose('Remove the bad rating of the last turn');
  await expect.poll(() => bar.locator('[aria-pressed=true]').count()).toBe(0);
  await choose('Write a note on the last turn');
  await page.getByLabel('Note on this turn').waitFor();
  await page.keyboard.type('well told');
  await page.keyboard.press('Enter');
  await bar.getByText('well told').waitFor();
  await choose('Edit the note on the last turn');
  await expect.poll(() => page.getByLabel('Note on this turn').inputValue()).toBe('well told');
  await page.keyboard.press('Escape');
  // Files, as they are chosen.
  const chosen = page.waitForEvent('filechooser');
  await choose('Attach files');
  await (await chosen).setFiles({ name: 'notes.txt', mimeType: 'text/plain', buffer: Buffer.from('Hello') });
  await page.getByText('notes.txt').waitFor();
  await page.getByRole('button', { name: 'Remove notes.txt' }).click();
  // The state, also when another part was there.
  const details = page.getByLabel('Details', { exact: true }).first();
  const value = page.getByLabel('value of unit');
  await choose('Edit the state key unit');
  await expect.poll(() => value.evaluate((el) => el === document.activeElement)).toBe(true);
  await page.keyboard.press('Escape');
  await page.getByRole('tab', { name: 'Event', exact: true }).last().click();
  await choose('Add a key to the state');
  await expect.poll(() => page.evaluate(() => document.activeElement?.closest('form')?.textContent ?? '')).toContain('user: and app: share it');
  await page.keyboard.type('mood');
  await page.keyboard.press('Tab');
  await page.keyboard.type('"calm"');
  await details.getByRole('button', { name: 'Save', exact: true }).click();
  await details.getByRole('button', { name: 'Edit mood' }).waitFor();
  // Messages that are queued.
  await choose('Write a message');
  await expect.poll(() => page.getByLabel('Message').evaluate((el) => el === document.activeElement)).toBe(true);
  for (const text of [`tell me, gate ${gate}`, 'tell me more', 'tell me all']) {
    await page.getByLabel('Message').fill(text);
    await page.keyboard.press('Enter');
    await page.locator('article').getByText(text, { exact: true }).waitFor();
  }
  await choose('Withdraw the queued message “tell me all”');
  await page.getByText('tell me all', { exact: true }).waitFor({ state: 'detached' });
  await choose('Withdraw the queued message');
  await page.getByText('tell me more', { exact: true }).waitFor({ state: 'detached' });
  await pull(`open/${gate}`);
});

test('only a keyboard', async () => {
  const user = fresh('keys');
  await session('city', user, 'kept', 'What is the weather in Oslo?');
  const page = await open('/');
  await page.getByText('Answers questions about the weather').waitFor();
  await palette(page);
  await page.keyboard.type('application city');
  await page.keyboard.press('Enter');
  await page.waitForURL(/apps\/city\/users\/user\/sessions/);
  await page.keyboard.press('n');
  await page.waitForURL(/\/sessions\/[^/]+$/);
  await page.getByLabel('Message').waitFor();
  await palette(page);
  await page.keyboard.type('copy what was done');
  await page.keyboard.press('Enter');
  await expect.poll(() => page.evaluate(() => navigator.clipboard.readText())).toContain(`curl -X POST '${base}/apps/city/users/user/sessions'`);
  // Whatever can be done here is among the commands.
  for (const command of ['Fork the session', 'Export the session', 'Delete the session', 'Change title and labels', 'Show the artifacts', 'Copy as curl: Send']) {
    await palette(page);
    await page.keyboard.type(command);
    await page.getByRole('option', { name: command }).waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
  }
  await page.keyboard.press('c');
  await page.keyboard.type('What is the weather in Lima?');
  await page.keyboard.press('Enter');
  await page.getByText('The weather in Lima is sunny').first().waitFor();
  await page.keyboard.press('Escape');
  await page.keyboard.press('k');
  await page.waitForURL(/event=/);
  await page.keyboard.press('k');
  await page.keyboard.press('k');
  await page.keyboard.press('k');
  await expect.poll(() => page.locator('article[aria-current]').textContent()).toContain('What is the weather in Lima?');
  // It is in the log of the server, and not only on the page.
  await page.locator('article[aria-current]').getByRole('button', { name: 'Edit and send again' }).waitFor();
  await page.keyboard.press('e');
  await page.getByLabel('Edited message').waitFor();
  await page.keyboard.press('Control+a');
  await page.keyboard.type('What is the weather in Quito?');
  // Enter that ends a word of an input method sends nothing.
  expect(await page.getByLabel('Edited message').evaluate((box) => box.dispatchEvent(new KeyboardEvent('keydown', { key: 'Enter', isComposing: true, bubbles: true, cancelable: true })))).toBe(true);
  await page.keyboard.press('Enter');
  await page.getByText('The weather in Quito is sunny').first().waitFor();
  await page.keyboard.press('?');
  await page.getByRole('dialog').getByText('fork from the event').waitFor();
  await picture(page, 'keyboard-light');
  await page.keyboard.press('Escape');
  await page.keyboard.press('g');
  await page.keyboard.press('r');
  await page.waitForURL(/\/runs$/);
  await page.keyboard.press('g');
  await page.keyboard.press('a');
  await page.getByText('Answers questions about the weather').waitFor();
  // Tab reaches what a mouse does, and shows where it is.
  await page.keyboard.press('Tab');
  const ring = await page.evaluate(() => getComputedStyle(document.activeElement!).outlineStyle);
  expect(ring).toBe('solid');
});
