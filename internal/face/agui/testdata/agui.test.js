// Conversations with the clients of AG-UI as they are published: the current one, and
// the one that CopilotKit has. Both check the order of events.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as current from '@ag-ui/client';
import * as old from 'old';

const { BASE: base, REDIRECT: redirect } = process.env;

/** Opens a gate of the fixture. */
async function open(gate) {
  await new current.HttpAgent({ url: `${base}/apps/weather/agui`, initialMessages: [{ id: `open-${gate}`, role: 'user', content: `release ${gate}` }] }).runAgent();
}

/** Where a user who logs in is sent back to; the provider shows no page. */
async function visit(authUri) {
  let address = `${authUri}&redirect_uri=${encodeURIComponent(redirect)}`;
  while (!address.startsWith(redirect)) {
    const response = await fetch(address, { redirect: 'manual' });
    address = new URL(response.headers.get('Location'), address).href;
  }
  return address;
}

for (const [name, { HttpAgent }] of Object.entries({ current, old })) {
  /** A conversation of a client. */
  const talk = (app = 'weather', headers = {}) => {
    const agent = new HttpAgent({ url: `${base}/apps/${app}/agui`, threadId: crypto.randomUUID(), headers });
    const say = async (text, parameters = {}, subscriber = {}) => {
      if (text) agent.addMessage({ id: crypto.randomUUID(), role: 'user', content: text });
      const events = [];
      let error;
      const result = await agent
        .runAgent(parameters, { onEvent: ({ event }) => void events.push(event), onRunErrorEvent: ({ event }) => void (error = event), ...subscriber })
        .catch((e) => ((error ??= e), { newMessages: [] }));
      const finished = events.find(({ type }) => type === 'RUN_FINISHED');
      return { events, error, finished, outcome: finished?.outcome, messages: result.newMessages, last: result.newMessages.at(-1)?.content };
    };
    return { agent, say };
  };

  test(`${name}: one turn, in pieces`, async () => {
    const { say } = talk();
    const { events, last } = await say('hello there');
    assert.equal(last, 'You said: hello there');
    assert.ok(events.filter(({ type }) => type === 'TEXT_MESSAGE_CONTENT').length > 2);
  });

  test(`${name}: a tool call`, async () => {
    const { messages } = await talk().say('weather in Oslo');
    assert.deepEqual(messages.map(({ role }) => role), ['assistant', 'tool', 'assistant']);
    assert.equal(messages[0].toolCalls[0].function.name, 'get_weather');
    assert.equal(messages[2].content, 'It is sunny in Oslo.');
  });

  test(`${name}: two turns of one conversation`, async () => {
    const { agent, say } = talk();
    await say('hello');
    const { last } = await say('and again');
    assert.equal(last, 'You said: and again');
    const session = await (await fetch(`${base}/apps/weather/users/user/sessions/${agent.threadId}`)).json();
    assert.deepEqual(session.events.map(({ author, content }) => `${author}: ${content.parts[0].text}`), [
      'user: hello', 'weather_agent: You said: hello', 'user: and again', 'weather_agent: You said: and again',
    ]);
  });

  test(`${name}: state`, async () => {
    const { agent, say } = talk();
    agent.state = { mine: 1 };
    await say('keep k v');
    assert.deepEqual(agent.state, { mine: 1, k: 'v' });
    agent.state = { ...agent.state, mine: 2 };
    await say('recall mine');
    const session = await (await fetch(`${base}/apps/weather/users/user/sessions/${agent.threadId}`)).json();
    assert.deepEqual(session.state, { mine: 2, k: 'v' });
  });

  for (const approved of [true, false]) {
    test(`${name}: a confirmation, ${approved}`, async () => {
      const { say } = talk();
      const { outcome } = await say(`danger t-${name}-${approved}`);
      assert.equal(outcome.type, 'interrupt');
      assert.equal(outcome.interrupts[0].reason, 'confirmation');
      const without = await say('never mind');
      assert.match(without.error.message, /resume/);
      const { messages, error } = await say('', { resume: [{ interruptId: outcome.interrupts[0].id, status: 'resolved', payload: { approved } }] });
      assert.equal(error, undefined);
      assert.equal(messages.find(({ role }) => role === 'tool').toolCallId, outcome.interrupts[0].toolCallId);
      assert.match(messages.at(-1).content, approved ? /"deleted"/ : /rejected/);
      const late = await say('', { resume: [{ interruptId: 'unknown', status: 'resolved', payload: { approved } }] });
      assert.match(late.error.message, /unknown/);
    });
  }

  test(`${name}: a confirmation, with other arguments`, async () => {
    const { say, agent } = talk();
    const { outcome } = await say(`danger a-${name}`);
    const answer = (editedArgs) => say('', { resume: [{ interruptId: outcome.interrupts[0].id, status: 'resolved', payload: { approved: true, editedArgs } }] });
    const wrong = await answer([1]);
    assert.match(wrong.error.message, /editedArgs/);
    const { messages, error } = await answer({ table: `b-${name}` });
    assert.equal(error, undefined);
    const { toolCallId, content } = messages.find(({ role }) => role === 'tool');
    assert.equal(toolCallId, outcome.interrupts[0].toolCallId);
    assert.deepEqual(JSON.parse(content), { deleted: `b-${name}`, editedArgs: { table: `b-${name}` } });
    assert.equal(agent.state[`deleted_b-${name}`], 1);
    assert.equal(agent.state[`deleted_a-${name}`], undefined);
  });

  test(`${name}: an input`, async () => {
    const { say } = talk();
    const { outcome } = await say('ask');
    assert.equal(outcome.interrupts[0].reason, 'input_required');
    const wrong = await say('', { resume: [{ interruptId: outcome.interrupts[0].id, status: 'resolved', payload: { n: 99 } }] });
    assert.match(wrong.error.message, /does not fit/);
    const { last } = await say('', { resume: [{ interruptId: outcome.interrupts[0].id, status: 'resolved', payload: { n: 7 } }] });
    assert.match(last, /"n":7/);
  });

  test(`${name}: a login`, async () => {
    const { say } = talk('calendar', { 'X-User-Id': `ann-${name}` });
    const { outcome, error: failed, events } = await say('What is on today?');
    assert.ok(outcome, JSON.stringify({ failed, events }));
    assert.equal(outcome.interrupts[0].reason, 'adk:credential');
    const authResponseUri = await visit(outcome.interrupts[0].metadata.authUri);
    const { last, error } = await say('', { resume: [{ interruptId: outcome.interrupts[0].id, status: 'resolved', payload: { authResponseUri } }] });
    assert.equal(error, undefined);
    assert.equal(last, 'That is all.');
  });

  test(`${name}: a tool of the client`, async () => {
    const { agent, say } = talk();
    const tools = [{ name: 'paint', description: 'Paints.', parameters: { type: 'object', properties: { color: { type: 'string' } } } }];
    const { messages } = await say('call paint', { tools });
    const [call] = messages.at(-1).toolCalls;
    assert.deepEqual(JSON.parse(call.function.arguments), { color: 'red' });
    agent.addMessage({ id: crypto.randomUUID(), role: 'tool', toolCallId: call.id, content: 'painted' });
    assert.equal((await say('', { tools })).last, 'paint returned {"result":"painted"}');
  });

  test(`${name}: cancel`, async () => {
    const { agent, say } = talk();
    const runId = crypto.randomUUID();
    const { error, finished } = await say(`slow never-${name}`, { runId }, {
      onToolCallEndEvent: async () => {
        const response = await fetch(`${base}/apps/weather/agui/cancel`, {
          method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify({ threadId: agent.threadId, runId }),
        });
        assert.equal(response.status, 200);
      },
    });
    assert.equal(error, undefined);
    assert.equal(finished.outcome?.type, name === 'current' ? 'cancelled' : undefined);
  });

  test(`${name}: a model that cannot be reached`, async () => {
    const { error } = await talk().say('fail');
    assert.match(error.message, /boom/);
  });

  test(`${name}: an unknown application`, async () => {
    const { error } = await talk('nothing').say('hello');
    assert.match(error.message, /404/);
    assert.match(error.message, /Application not found: nothing/);
  });

  test(`${name}: the conversation of another user`, async () => {
    const { agent, say } = talk();
    await say('hello');
    const other = new HttpAgent({ url: agent.url, threadId: agent.threadId, headers: { 'X-User-Id': 'mallory' }, initialMessages: [{ id: crypto.randomUUID(), role: 'user', content: 'what was said?' }] });
    await other.runAgent();
    const mine = await (await fetch(`${base}/apps/weather/users/user/sessions/${agent.threadId}`)).json();
    assert.equal(mine.events.length, 2);
  });

  test(`${name}: a connection that breaks in the middle of a text`, async () => {
    const thread = crypto.randomUUID();
    const runId = crypto.randomUUID();
    const gate = `gate-${thread}`;
    /** Follows with GET, as a client that reconnects does. */
    class Resuming extends HttpAgent {
      requestInit(input) {
        const init = super.requestInit(input);
        return this.after ? { ...init, method: 'GET', body: undefined, headers: { ...init.headers, 'Last-Event-ID': this.after } } : init;
      }
    }
    // One fetch whose body is the beginning of the first response, and all of the second.
    const joined = async (url, init) => {
      const first = await fetch(url, init);
      const address = `${url}?threadId=${thread}&runId=${runId}${name === 'current' ? '&protocolVersion=1.0' : ''}`;
      const body = new ReadableStream({
        async start(out) {
          let text = '';
          const reader = first.body.pipeThrough(new TextDecoderStream()).getReader();
          while (!text.includes('time ')) {
            const { value } = await reader.read();
            text += value;
          }
          const end = text.lastIndexOf('\n\n') + 2;
          out.enqueue(new TextEncoder().encode(text.slice(0, end)));
          await reader.cancel();
          const after = [...text.slice(0, end).matchAll(/^id: (.*)$/gm)].at(-1)[1];
          const second = await fetch(address, { headers: { 'Last-Event-ID': after } });
          await open(gate);
          for await (const chunk of second.body) out.enqueue(chunk);
          out.close();
        },
      });
      return new Response(body, { headers: first.headers });
    };
    const agent = new Resuming({ url: `${base}/apps/weather/agui`, threadId: thread, fetch: joined, initialMessages: [{ id: crypto.randomUUID(), role: 'user', content: `story ${gate}` }] });
    const { newMessages } = await agent.runAgent({ runId });
    assert.equal(newMessages.at(-1).content, 'Once upon a time there was a server.');
  });
}

test('capabilities', async () => {
  const capabilities = await (await fetch(`${base}/apps/weather/agui/capabilities`)).json();
  assert.equal(capabilities.transport.resumable, true);
  assert.equal(capabilities.identity.description, 'Tells the weather in any city.');
});
