// Uses the front end with CopilotKit as a user does, in a browser.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { chromium } from 'playwright-core';

const { CHROMIUM: executablePath, PAGE: page } = process.env;
let browser;
before(async () => {
  browser = await chromium.launch({ executablePath, args: ['--no-sandbox', '--disable-gpu', '--no-first-run', '--disable-background-networking'] });
});
after(() => browser?.close());

/** Opens the front end. */
async function open() {
  const tab = await (await browser.newContext()).newPage();
  tab.setDefaultTimeout(300_000); // a machine may be busy
  await tab.goto(page);
  const button = '[data-testid="copilot-send-button"]';
  const say = async (text) => {
    await tab.locator(`${button}:disabled`).waitFor(); // while the agent works, it stops it
    await tab.getByRole('textbox').last().fill(text);
    await tab.locator(`${button}:enabled`).click();
  };
  return { tab, say, stop: () => tab.locator(button).click() };
}

test('a conversation, with a tool of the server', async () => {
  const { tab, say } = await open();
  await say('hello there');
  await tab.getByText('You said: hello there').waitFor();
  await say('weather in Oslo');
  await tab.getByText('It is sunny in Oslo.').waitFor();
  await tab.getByRole('button', { name: 'get_weather' }).waitFor();
});

test('a text while it is written, and stop', async () => {
  const { tab, say, stop } = await open();
  await say('story example-gate');
  await tab.getByText('Once upon a time').waitFor();
  const other = await open();
  await other.say('release example-gate');
  await tab.getByText('Once upon a time there was a server.').waitFor();
  await say('slow never');
  await tab.getByRole('button', { name: 'wait_for' }).waitFor();
  await stop();
  await say('hello'); // a run that goes on would let it wait
  await tab.getByText('You said: hello').waitFor();
});

test('a confirmation', async () => {
  const { tab, say } = await open();
  await say('danger users');
  await tab.getByRole('button', { name: 'Refuse' }).click();
  await tab.getByText('This tool call is rejected').waitFor();
  await say('danger users');
  await tab.getByRole('button', { name: 'Approve' }).click();
  await tab.getByText('{"deleted":"users"}').waitFor();
  assert.equal(await tab.getByRole('alert').count(), 0);
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

test('a model that cannot be reached', async () => {
  const { tab, say } = await open();
  await say('fail');
  await tab.getByRole('alert').getByText('boom').waitFor();
});
