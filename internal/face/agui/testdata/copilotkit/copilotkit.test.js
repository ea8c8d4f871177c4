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
  const agents = Object.fromEntries(['weather', 'calendar', 'nothing'].map((app) => [app, new HttpAgent({ url: `${base}/apps/${app}/agui`, headers: { 'X-Parley-On-Disconnect': 'cancel' } })]));
  server = createServer(createCopilotNodeListener({ runtime: new CopilotRuntime({ agents }), basePath: '/api/copilotkit' })).listen(0, '127.0.0.1');
  await once(server, 'listening');
});
after(() => server.close());

/** A conversation of a front end: a new one, or that of a thread. */
async function talk(app = 'weather', { user = 'ann', thread = crypto.randomUUID() } = {}) {
  const core = new CopilotKitCore({ runtimeUrl: `http://127.0.0.1:${server.address().port}/api/copilotkit`, headers: { 'X-User-Id': user } });
  await new Promise((resolve) => {
    const look = () => core.runtimeConnectionStatus === 'connected' && resolve();
    core.subscribe({ onRuntimeConnectionStatusChanged: look });
    look();
  });
  const agent = core.getAgent(app);
  agent.threadId = thread;
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

/** What the browser of a user does at the address of a login: it agrees on the page of the server, and comes back from the provider, which shows none. */
async function logIn(address) {
  let cookie = '';
  const go = async (to, { headers, ...init } = {}) => {
    const response = await fetch(to, { ...init, redirect: 'manual', headers: { ...headers, ...(cookie && { Cookie: cookie }) } });
    for (const set of response.headers.getSetCookie()) cookie = set.split(';')[0];
    return response;
  };
  const html = (await (await go(address)).text()).replaceAll('&amp;', '&').replaceAll('&#43;', '+');
  const inputs = [...html.matchAll(/<input type="hidden" name="([^"]*)" value="([^"]*)">/g)].map(([, ...pair]) => pair);
  let at = new URL(/<form method="post" action="([^"]*)">/.exec(html)[1], address);
  let response = await go(at, { method: 'POST', headers: { Origin: at.origin }, body: new URLSearchParams(inputs) });
  while (response.headers.has('Location')) {
    at = new URL(response.headers.get('Location'), at);
    response = await go(at);
  }
  assert.match(await response.text(), /Thank you/);
}

test('a login', async () => {
  const { say } = await talk('calendar', { user: 'ann-copilotkit' });
  const { outcome, events, error: first } = await say('What is on today?');
  assert.equal(first, undefined);
  const [{ id, reason, metadata }] = outcome.interrupts;
  assert.equal(reason, 'adk:credential');
  await logIn(metadata.authUri);
  // The run goes on by itself; the front end follows it.
  const { last, messages, error } = await say('', { runId: events[0].runId, resume: [{ interruptId: id, status: 'resolved' }] });
  assert.equal(error, undefined);
  assert.equal(JSON.parse(messages.find(({ role }) => role === 'tool').content).status, 'success');
  assert.equal(last, 'That is all.');
});

test('the conversation of another user', async () => {
  const { agent, say } = await talk();
  await say('keep color red');
  const other = await talk('weather', { user: 'mallory', thread: agent.threadId });
  const { last, error } = await other.say('recall color');
  assert.equal(error, undefined);
  assert.doesNotMatch(last, /red/);
  const log = async (user) => (await (await fetch(`${base}/apps/weather/users/${user}/sessions/${agent.threadId}`)).json()).events;
  assert.doesNotMatch(JSON.stringify(await log('ann')), /recall/);
  assert.doesNotMatch(JSON.stringify(await log('mallory')), /keep/);
});

test('a page that is opened again while a text is written', async () => {
  const { agent, say } = await talk();
  const thread = agent.threadId;
  let first;
  await new Promise((resolve) => {
    agent.subscribe({ onTextMessageContentEvent: ({ textMessageBuffer, event }) => void ((textMessageBuffer + event.delta).includes('time ') && resolve()) });
    first = say(`story ${thread}`);
  });
  await agent.detachActiveRun(); // the page is gone
  await first;
  const again = await talk('weather', { thread });
  const texts = [];
  let opened;
  again.agent.subscribe({
    onTextMessageContentEvent({ textMessageBuffer, event }) {
      texts.push(textMessageBuffer + event.delta);
      opened ??= talk().then((other) => other.say(`release ${thread}`));
    },
  });
  await again.core.connectAgent({ agent: again.agent });
  await opened;
  assert.equal(texts.at(-1), 'Once upon a time there was a server.');
  assert.deepEqual(again.agent.messages.map(({ role, content }) => [role, content]), [['user', `story ${thread}`], ['assistant', texts.at(-1)]]);
  assert.equal((await again.say('and again')).last, 'You said: and again');
});

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
