// Uses the front end with CopilotKit as a user does, in a browser.
import { test } from 'node:test';
import { common, visit } from './steps.js';

const pages = { weather: process.env.WEATHER, calendar: process.env.CALENDAR };

/** Opens the front end. */
async function open(app = 'weather') {
  const tab = await visit(pages[app]);
  const button = '[data-testid="copilot-send-button"]';
  const say = async (text) => {
    await tab.locator(`${button}:disabled`).waitFor(); // while the agent works, it stops it
    await tab.getByRole('textbox').last().fill(text);
    await tab.locator(`${button}:enabled`).click();
  };
  return { tab, say, stop: () => tab.locator(button).click() };
}

common(open, (tab, name) => tab.getByRole('button', { name }));

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

test('a model that cannot be reached', async () => {
  const { tab, say } = await open();
  await say('fail');
  await tab.getByRole('alert').getByText('boom').waitFor();
});
