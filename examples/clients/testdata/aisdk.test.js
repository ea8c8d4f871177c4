// Uses the front end with useChat as a user does, in a browser.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { chromium } from 'playwright-core';

const { CHROMIUM: executablePath, PAGE: page, API: api } = process.env;
let browser;
before(async () => {
  browser = await chromium.launch({ executablePath, args: ['--no-sandbox', '--disable-gpu', '--no-first-run', '--disable-background-networking'] });
});
after(() => browser?.close());

/** Opens the front end. */
async function open(context) {
  const tab = await (context ?? await browser.newContext()).newPage();
  tab.setDefaultTimeout(300_000); // a machine may be busy
  await tab.goto(`${page}/?api=${encodeURIComponent(api)}`);
  const say = async (text) => {
    await tab.getByLabel('Message').fill(text);
    await tab.getByRole('button', { name: 'Send' }).click();
  };
  return { tab, say };
}

test('a conversation, with a tool of the server', async () => {
  const { tab, say } = await open();
  await say('hello there');
  await tab.getByText('You said: hello there').waitFor();
  await say('weather in Oslo');
  await tab.getByText('It is sunny in Oslo.').waitFor();
  await tab.getByText('get_weather({"city":"Oslo"})').waitFor();
});

test('a confirmation', async () => {
  const { tab, say } = await open();
  await say('danger users');
  await tab.getByRole('button', { name: 'Refuse' }).click();
  await tab.getByText('This tool call is rejected').waitFor();
  await say('danger users');
  await tab.getByRole('button', { name: 'Approve' }).click();
  await tab.locator('article').last().getByText('delete_table returned').waitFor();
});

test('an input, and a tool of the browser', async () => {
  const { tab, say } = await open();
  await say('ask');
  await tab.getByLabel('Answer').fill('{"n": 3}');
  await tab.getByRole('button', { name: 'Answer' }).click();
  await tab.getByText('"n":3').waitFor();
  await say('call local_time');
  await tab.getByText('local_time returned').waitFor();
});

test('a reload in the middle of a text, and cancel', async () => {
  const context = await browser.newContext();
  const { tab, say } = await open(context);
  await say('story example-gate');
  await tab.getByText('Once upon a time').waitFor();
  await tab.reload();
  await tab.getByText('Once upon a time').waitFor();
  const other = await open(context);
  await other.say('release example-gate');
  await tab.getByText('Once upon a time there was a server.').waitFor();
  await say('slow never');
  await tab.getByRole('button', { name: 'Cancel' }).click();
  await tab.getByText('output-error').waitFor();
  assert.equal(await tab.getByRole('alert').count(), 0);
});
