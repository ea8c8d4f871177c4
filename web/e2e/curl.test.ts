import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';

import { base, call, clipboard, copyItem, fresh, open, pull, session, sessionPath, useBrowser } from './kit';

useBrowser();

/** Every entry of the menu of commands that is not known yet, and what it copies. */
async function commands(page: Page, known: Record<string, string> = {}): Promise<Record<string, string>> {
  const out: Record<string, string> = {};
  const dialog = page.getByRole('dialog'); // what is behind it is out of reach
  const trigger = ((await dialog.count()) > 0 ? dialog : page.locator('main')).getByRole('button', { name: 'Copy as curl', exact: true }).first();
  const items = page.getByRole('menuitem');
  const open = async () => {
    await trigger.click();
    await items.first().waitFor();
  };
  await open();
  const names = await items.allTextContents();
  await page.keyboard.press('Escape');
  await items.first().waitFor({ state: 'detached' });
  for (const name of names.filter((n) => !(n in known))) {
    await page.evaluate(() => navigator.clipboard.writeText(''));
    await open();
    await page.getByRole('menuitem', { name, exact: true }).click();
    await expect.poll(() => clipboard(page)).not.toBe('');
    out[name] = (await clipboard(page)).replaceAll(base, '').replaceAll(/ -H 'Content-Type: application\/json'/g, '');
  }
  return out;
}

test('whatever asks the server for something can be copied', async () => {
  const user = fresh('copier');
  const all: Record<string, string> = {};
  const note = (more: Record<string, string>) => Object.assign(all, more);
  const path = (app: string, id: string) => sessionPath(app, user, id);

  // The list, with its menu, and the dialogs that it opens.
  await session('city', user, 'talk', 'What is the weather in Oslo?');
  const page = await open(`/ui/apps/city/users/${user}/sessions`);
  await page.getByRole('link', { name: 'What is the weather in Oslo?' }).waitFor();
  note(await commands(page, all));
  const fromMenu = async (trigger: string | RegExp, item: string) => {
    await page.getByRole('button', { name: trigger }).last().click();
    await page.getByRole('menuitem', { name: item, exact: true }).click();
  };
  for (const [item, want] of [
    ['Fork', `curl -X POST '${base}${path('city', 'talk')}/fork' -H 'Content-Type: application/json' -d '{}'`],
    ['Export', `curl '${base}${path('city', 'talk')}/export'`],
    ['Delete', `curl -X DELETE '${base}${path('city', 'talk')}'`],
  ] as const) {
    await page.getByRole('button', { name: /^Actions for/ }).last().click();
    await copyItem(page, item);
    await expect.poll(() => clipboard(page)).toBe(want);
  }
  await fromMenu(/^Actions for/, 'Title and labels');
  note(await commands(page).then((c) => ({ Label: c['Save']! })));
  await page.keyboard.press('Escape');

  // The workbench: state, messages, an event.
  await page.goto(base + '/ui' + path('city', 'talk'));
  await page.getByRole('button', { name: 'Add a key' }).click();
  await page.getByLabel('key').fill('k');
  await page.getByLabel('value', { exact: false }).last().fill('1');
  note(await commands(page, all));
  const first = page.locator('article[data-tone=user]').first();
  await first.click(); // what can be done with an event is there while it is chosen
  note(await commands(page, all));
  await first.getByRole('button', { name: 'Edit and send again', exact: true }).click();
  await page.getByLabel('Edited message').fill('Hello');
  note(await commands(page, all));
  await page.getByRole('button', { name: /^4, inspect/ }).click();
  note(await commands(page, all));

  // A blank session, a run that can be stopped, one that has failed.
  await page.goto(base + '/ui' + (await session('teller', user, 'blank')).slice(3));
  await page.getByText('Start the conversation').waitFor();
  note(await commands(page, all));
  const gate = fresh('gate');
  await page.getByLabel('Message').fill(`tell me, gate ${gate}`);
  await page.keyboard.press('Enter');
  await page.locator('[data-live]').waitFor();
  note(await commands(page, all));
  const run = /runs\/(e-[\w-]+)\/cancel/.exec(all['Stop']!)![1]!;
  await page.goto(`${base}/ui/apps/teller/users/${user}/runs`);
  await page.getByRole('button', { name: 'Cancel', exact: true }).waitFor();
  note(await commands(page, all));
  await pull(`open/${gate}`);

  // What waits for a person.
  await session('calendar', user, 'login', 'What is on?');
  await session('approval', user, 'confirm', 'Refund 80');
  await session('asker', user, 'input', 'travel');
  await session('weather', user, 'long', 'long');
  for (const [app, id, button] of [['calendar', 'login', 'Log in'], ['approval', 'confirm', 'Approve'], ['asker', 'input', 'Submit'], ['weather', 'long', 'Submit the response']] as const) {
    await page.goto(base + '/ui' + path(app, id));
    await page.locator('[data-pending]').getByRole('button', { name: button, exact: true }).waitFor();
    note(await commands(page, all));
  }

  // Artifacts, and the page of the API.
  await call('POST', `${path('city', 'talk')}/artifacts`, { filename: 'a.txt', artifact: { text: 'x' } });
  await page.goto(`${base}/ui${path('city', 'talk')}/artifacts/a.txt`);
  await page.getByRole('button', { name: 'Delete', exact: true }).click();
  note({ 'Delete artifact': (await commands(page))['Delete']! });
  await page.keyboard.press('Escape');
  note(await commands(page, all));
  await page.getByRole('button', { name: 'Upload', exact: true }).click();
  note(await commands(page, all));
  await page.goto(`${base}/ui/api?operation=getHealth`);
  await page.goto(`${base}/ui/api?operation=listApps`);
  await page.getByRole('button', { name: 'Send', exact: true }).waitFor();
  note({ 'Try it': (await commands(page))['Send']! });

  const runs = (app: string, id: string) => `curl -X POST '${path(app, id)}/runs' -d '`;
  const again = new RegExp(`^curl -X POST '${path('city', 'talk')}/fork' -d '\\{"beforeInvocationId":".*","sessionId":"(talk-\\w{6})"\\}' && curl -X POST '${path('city', '\\1')}/runs' -d '`);
  for (const [name, want] of Object.entries({
    'New session': `curl -X POST '/apps/city/users/${user}/sessions' -d '{"state":{}}'`,
    Import: new RegExp(`^curl -X POST '${path('city', 'session-\\w+')}/import' -H 'Content-Type: application/jsonl' --data-binary '@session.jsonl'$`),
    Label: `curl -X PATCH '${path('city', 'talk')}' -d '{"stateDelta":{"__session_metadata__"`,
    Save: `curl -X PATCH '${path('city', 'talk')}' -d '{"stateDelta":{"k":1}}'`,
    'Delete unit': `curl -X PATCH '${path('city', 'talk')}' -d '{"stateDelta":{"unit":null}}'`,
    Send: /runs' -d '\{"streaming":true/,
    Retry: again,
    'Send again': again,
    'Fork from here': new RegExp(`^curl -X POST '${path('city', 'talk')}/fork' -d '\\{"atEventId":"`),
    Fork: new RegExp(`^curl -X POST '${path('city', 'talk')}/fork' -d '\\{"atEventId":"`),
    'Say hello': runs('teller', 'blank'),
    'Ask what it can do': runs('teller', 'blank'),
    Stop: `curl -X POST '${path('teller', 'blank')}/runs/${run}/cancel'`,
    Cancel: `curl -X POST '${path('teller', 'blank')}/runs/${run}/cancel'`,
    'Log in': new RegExp(`^curl -X POST '${path('calendar', 'login')}/runs' -d '.*authResponseUri`),
    Approve: new RegExp(`^curl -X POST '${path('approval', 'confirm')}/runs' -d '.*"confirmed":true`),
    Reject: new RegExp(`^curl -X POST '${path('approval', 'confirm')}/runs' -d '.*"confirmed":false`),
    Submit: runs('asker', 'input'),
    'Submit the response': new RegExp(`^curl -X POST '${path('weather', 'long')}/runs' -d '.*"status":"approved"`),
    'Delete artifact': `curl -X DELETE '${path('city', 'talk')}/artifacts/a.txt'`,
    Download: `curl '${path('city', 'talk')}/artifacts/a.txt/versions/0?alt=media'`,
    Upload: new RegExp(`^curl -X PUT '${path('city', 'talk')}/artifacts/a.txt' -H 'Content-Type: [\\w/-]+' --data-binary '@file'$`),
    'Try it': `curl '/list-apps'`,
  })) {
    expect(all[name], name).toMatch(typeof want === 'string' ? new RegExp('^' + want.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&')) : want);
  }
});
