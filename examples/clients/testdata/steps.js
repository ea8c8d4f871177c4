// What both front ends are used for, in a browser.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { chromium } from 'playwright-core';

const { CHROMIUM: executablePath } = process.env;
let browser;
before(async () => {
  browser = await chromium.launch({ executablePath, args: ['--no-sandbox', '--disable-gpu', '--no-first-run', '--disable-background-networking'] });
});
after(() => browser?.close());

/** Opens an address, as another user or in the context of a tab. */
export async function visit(address, context) {
  const tab = await (context ?? (await browser.newContext())).newPage();
  tab.setDefaultTimeout(300_000); // a machine may be busy
  await tab.goto(address);
  return tab;
}

/** Tests of every front end. open opens one for an application, with a function that sends a message; called finds the call of a tool. */
export function common(open, called) {
  test('a conversation, with a tool of the server', async () => {
    const { tab, say } = await open('weather');
    await say('hello there');
    await tab.getByText('You said: hello there').waitFor();
    await say('weather in Oslo');
    await tab.getByText('It is sunny in Oslo.').waitFor();
    await called(tab, 'get_weather').waitFor();
  });

  test('a confirmation', async () => {
    const { tab, say } = await open('weather');
    await say('danger users');
    await tab.getByRole('button', { name: 'Refuse' }).click();
    await tab.getByText('This tool call is rejected').waitFor();
    await say('danger users');
    await tab.getByRole('button', { name: 'Approve' }).click();
    await tab.getByText('{"deleted":"users"}').waitFor();
    assert.equal(await tab.getByRole('alert').count(), 0);
  });

  test('an input, and a tool of the browser', async () => {
    const { tab, say } = await open('weather');
    await say('ask');
    await tab.getByLabel('Answer').fill('{"n": 3}');
    await tab.getByRole('button', { name: 'Answer' }).click();
    await tab.getByText('"n":3').waitFor();
    await say('call local_time');
    await tab.getByText('local_time returned').waitFor();
  });

  test('a login', async () => {
    const { tab, say } = await open('calendar');
    await say('What is on today?');
    const opened = tab.waitForEvent('popup');
    await tab.getByRole('button', { name: 'Log in' }).click();
    const provider = await opened;
    await provider.getByLabel('User').fill('ann');
    await provider.getByRole('button', { name: 'Allow' }).click();
    await tab.getByText('That is all.').waitFor();
    await called(tab, 'list_events').first().waitFor();
    assert.equal(await tab.getByRole('button', { name: 'Log in' }).count(), 0);
    assert.equal(await tab.getByRole('alert').count(), 0);
  });
}
