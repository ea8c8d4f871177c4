// Uses the front end with useChat as a user does, in a browser.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { common, visit } from './steps.js';

const { PAGE: page, SERVER: server } = process.env;

/** Opens the front end. */
async function open(app = 'weather', context) {
  const tab = await visit(`${page}/?api=${encodeURIComponent(`${server}/apps/${app}/aisdk`)}`, context);
  const say = async (text) => {
    await tab.getByLabel('Message').fill(text);
    await tab.getByRole('button', { name: 'Send' }).click();
  };
  return { tab, say };
}

common(open, (tab, name) => tab.getByText(new RegExp(`^${name}\\(`)));

test('a reload in the middle of a text, and cancel', async () => {
  const { tab, say } = await open();
  await say('story example-gate');
  await tab.getByText('Once upon a time').waitFor();
  await tab.reload();
  await tab.getByText('Once upon a time').waitFor();
  const other = await open('weather', tab.context());
  await other.say('release example-gate');
  await tab.getByText('Once upon a time there was a server.').waitFor();
  await say('slow never');
  await tab.getByRole('button', { name: 'Cancel' }).click();
  await tab.getByText('output-error').waitFor();
  assert.equal(await tab.getByRole('alert').count(), 0);
});
