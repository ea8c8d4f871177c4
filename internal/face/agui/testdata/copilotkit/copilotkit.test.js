// Conversations through the runtime of CopilotKit as it is published, with what its
// front ends use to talk to it.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { after, before, test } from 'node:test';
import { HttpAgent } from '@ag-ui/client';
import { CopilotKitCore } from '@copilotkit/core';
import { CopilotRuntime } from '@copilotkit/runtime/v2';
import { createCopilotNodeListener } from '@copilotkit/runtime/v2/node';
import { z } from 'zod';

const { BASE: base } = process.env;
let server;

// The client of the front end connects only where there is a page.
globalThis.window = {};

before(async () => {
  const agents = Object.fromEntries(['weather', 'nothing'].map((app) => [app, new HttpAgent({ url: `${base}/apps/${app}/agui`, headers: { 'X-Parley-On-Disconnect': 'cancel' } })]));
  server = createServer(createCopilotNodeListener({ runtime: new CopilotRuntime({ agents }), basePath: '/api/copilotkit' })).listen(0, '127.0.0.1');
  await once(server, 'listening');
});
after(() => server.close());

/** A conversation of a front end. */
async function talk(app = 'weather') {
  const core = new CopilotKitCore({ runtimeUrl: `http://127.0.0.1:${server.address().port}/api/copilotkit`, headers: { 'X-User-Id': 'ann' } });
  await new Promise((resolve) => {
    const look = () => core.runtimeConnectionStatus === 'connected' && resolve();
    core.subscribe({ onRuntimeConnectionStatusChanged: look });
    look();
  });
  const agent = core.getAgent(app);
  agent.threadId = crypto.randomUUID();
  const say = async (text, parameters = {}) => {
    if (text) agent.addMessage({ id: crypto.randomUUID(), role: 'user', content: text });
    const events = [];
    const errors = [];
    const subscriptions = [agent.subscribe({ onEvent: ({ event }) => void events.push(event) }), core.subscribe({ onError: ({ error }) => void errors.push(error) })];
    const { newMessages } = await core.runAgent({ agent, ...parameters });
    for (const subscription of subscriptions) subscription.unsubscribe();
    return { events, error: errors[0], messages: newMessages, last: agent.messages.at(-1).content, outcome: events.find(({ type }) => type === 'RUN_FINISHED')?.outcome };
  };
  return { core, agent, say };
}

test('one turn, in pieces', async () => {
  const { say } = await talk();
  const { events, last } = await say('hello there');
  assert.equal(last, 'You said: hello there');
  assert.ok(events.filter(({ type }) => type === 'TEXT_MESSAGE_CONTENT').length > 2);
});

test('a text arrives while it is written', async () => {
  const { agent, say } = await talk();
  const other = await talk();
  let opened;
  agent.subscribe({
    onTextMessageContentEvent({ textMessageBuffer, event }) {
      if (!opened && (textMessageBuffer + event.delta).includes('time')) opened = other.say(`release ${agent.threadId}`);
    },
  });
  assert.equal((await say(`story ${agent.threadId}`)).last, 'Once upon a time there was a server.');
  await opened;
});

test('a tool call', async () => {
  const { say } = await talk();
  const { messages } = await say('weather in Oslo');
  assert.deepEqual(messages.map(({ role }) => role), ['assistant', 'tool', 'assistant']);
  assert.equal(messages[0].toolCalls[0].function.name, 'get_weather');
  assert.equal(messages[2].content, 'It is sunny in Oslo.');
});

test('two turns of one thread', async () => {
  const { agent, say } = await talk();
  await say('hello');
  assert.equal((await say('and again')).last, 'You said: and again');
  const session = await (await fetch(`${base}/apps/weather/users/ann/sessions/${agent.threadId}`)).json();
  assert.deepEqual(session.events?.map(({ author, content }) => `${author}: ${content.parts[0].text}`), [
    'user: hello', 'weather_agent: You said: hello', 'user: and again', 'weather_agent: You said: and again',
  ]);
});

for (const approved of [true, false]) {
  test(`a confirmation, ${approved}`, async () => {
    const { say } = await talk();
    const { outcome, events, error: first } = await say('danger users');
    assert.equal(first, undefined);
    assert.equal(outcome.type, 'interrupt');
    const { runId } = events[0]; // the front end keeps it
    const { last, error } = await say('', { runId, resume: [{ interruptId: outcome.interrupts[0].id, status: 'resolved', payload: { approved } }] });
    assert.equal(error, undefined);
    assert.match(last, approved ? /"deleted"/ : /rejected/);
  });
}

test('a tool of the front end', async () => {
  const { core, say } = await talk();
  core.addTool({ name: 'paint', description: 'Paints.', parameters: z.object({ color: z.string() }), handler: async ({ color }) => `painted ${color}` });
  assert.equal((await say('call paint')).last, 'paint returned {"result":"painted red"}');
});

test('stop', async () => {
  const { core, agent, say } = await talk();
  const { unsubscribe } = agent.subscribe({ onToolCallEndEvent: () => core.stopAgent({ agent }) });
  await say('slow never');
  unsubscribe();
  assert.equal((await say('hello')).last, 'You said: hello'); // the first run has ended, or this one would wait
});

test('a model that cannot be reached', async () => {
  const { say } = await talk();
  assert.match((await say('fail')).error.message, /boom/);
});

test('an unknown application', async () => {
  const { say } = await talk('nothing');
  assert.match((await say('hello')).error.message, /Application not found: nothing/);
});
