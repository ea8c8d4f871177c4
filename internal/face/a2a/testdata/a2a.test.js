// Holds conversations with published clients of A2A: of version 1.0 over both bindings,
// of version 0.3 over both, and the remote agents of ADK, on a server at BASE.
import assert from 'node:assert';
import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import { test } from 'node:test';
import { ClientFactory, ClientFactoryOptions, JsonRpcTransportFactory, RestTransportFactory } from '@a2a-js/sdk/client';
import {
  ClientFactory as OldFactory, ClientFactoryOptions as OldOptions, JsonRpcTransportFactory as OldRpc, RestTransportFactory as OldRest,
} from 'a2a-js-0.3/client';
import { InMemoryRunner, RemoteA2AAgent } from '@google/adk';

const base = process.env.BASE;
const card = (app) => `${base}/a2a/${app}/.well-known/agent-card.json`;

const COMPLETED = 3;
const CANCELED = 5;
const INPUT_REQUIRED = 6;

/** newClient speaks version 1.0 over one binding. */
const newClient = (transport) =>
  new ClientFactory(ClientFactoryOptions.createFrom(ClientFactoryOptions.default, {
    transports: [new transport()], preferredTransports: [transport.name === 'RestTransportFactory' ? 'HTTP+JSON' : 'JSONRPC'],
  })).createFromUrl(`${base}/a2a/weather/`, '.well-known/agent-card.json');

const request = (text, more = {}) => ({
  tenant: '', configuration: undefined, metadata: undefined,
  message: {
    messageId: randomUUID(), role: 1, parts: [{ content: { $case: 'text', value: text }, filename: '', mediaType: '', metadata: undefined }],
    contextId: '', taskId: '', referenceTaskIds: [], extensions: [], metadata: undefined, ...more,
  },
});
/** receiver resolves ended with the first notification that done accepts. */
async function receiver(t, done) {
  let resolve;
  const ended = new Promise((r) => { resolve = r; });
  const server = createServer(async (req, res) => {
    const body = JSON.parse((await req.toArray()).join(''));
    if (done(body)) resolve({ body, token: req.headers['x-a2a-notification-token'] });
    res.writeHead(204).end();
  });
  await new Promise((r) => server.listen(0, '127.0.0.1', r));
  t.after(() => { server.closeAllConnections(); server.close(); });
  return { url: `http://127.0.0.1:${server.address().port}/`, ended };
}

const textOf = (task) => task.artifacts.flatMap((a) => a.parts).map((p) => p.content.value).join('|');

for (const transport of [JsonRpcTransportFactory, RestTransportFactory]) {
  test(`version 1.0, ${transport.name}`, async (t) => {
    const client = await newClient(transport);

    await t.test('one turn, and another in its context', async () => {
      const first = await client.sendMessage(request('hello'));
      assert.equal(first.status.state, COMPLETED);
      assert.equal(textOf(first), 'You said: hello');
      const second = await client.sendMessage(request('again', { contextId: first.contextId }));
      assert.equal(second.contextId, first.contextId);
      assert.notEqual(second.id, first.id);
      const got = await client.getTask({ tenant: '', id: second.id });
      assert.equal(textOf(got), 'You said: again');
    });

    await t.test('a repeated message is one task', async () => {
      const params = request('once');
      const [first, second] = [await client.sendMessage(params), await client.sendMessage(params)];
      assert.equal(first.id, second.id);
    });

    await t.test('a stream', async () => {
      const events = [];
      for await (const event of client.sendMessageStream(request('weather in Oslo'))) events.push(event.payload);
      assert.equal(events[0].$case, 'task');
      assert.ok(events.some((e) => e.$case === 'artifactUpdate' && e.value.artifact.parts[0].content.value.includes('Oslo')));
      assert.equal(events.at(-1).value.status.state, COMPLETED);
    });

    await t.test('a question, answered', async () => {
      const asked = await client.sendMessage(request('danger one'));
      assert.equal(asked.status.state, INPUT_REQUIRED);
      const done = await client.sendMessage(request('yes', { taskId: asked.id, contextId: asked.contextId }));
      assert.equal(done.id, asked.id);
      assert.equal(done.status.state, COMPLETED);
    });

    await t.test('cancel, and what is not there', async () => {
      const asked = await client.sendMessage(request('danger two'));
      const canceled = await client.cancelTask({ tenant: '', id: asked.id, metadata: undefined });
      assert.equal(canceled.status.state, CANCELED);
      await assert.rejects(client.getTask({ tenant: '', id: 'none' }), /not found/i);
    });

    await t.test('push notifications', async (t) => {
      const { url, ended } = await receiver(t, (body) => body.task?.status.state === 'TASK_STATE_COMPLETED');
      const config = { tenant: '', id: '', taskId: '', url, token: 'secret', authentication: undefined };
      const task = await client.sendMessage({
        ...request('hello'),
        configuration: { acceptedOutputModes: [], historyLength: undefined, returnImmediately: true, taskPushNotificationConfig: config },
      });
      const { body, token } = await ended;
      assert.deepEqual([body.task.id, token], [task.id, 'secret']);

      const made = await client.createTaskPushNotificationConfig({ ...config, taskId: task.id, id: 'c' });
      assert.deepEqual([made.id, made.taskId, made.url], ['c', task.id, url]);
      const got = await client.getTaskPushNotificationConfig({ tenant: '', taskId: task.id, id: 'c' });
      assert.equal(got.url, url);
      const list = await client.listTaskPushNotificationConfig({ tenant: '', taskId: task.id, pageSize: 0, pageToken: '' });
      assert.ok(list.configs.some((c) => c.id === 'c'));
      await client.deleteTaskPushNotificationConfig({ tenant: '', taskId: task.id, id: 'c' });
      await assert.rejects(client.getTaskPushNotificationConfig({ tenant: '', taskId: task.id, id: 'c' }));
    });
  });
}

for (const transport of [OldRpc, OldRest]) {
  test(`version 0.3, ${transport.name}`, async (t) => {
    const client = await new OldFactory(OldOptions.createFrom(OldOptions.default, {
      transports: [new transport()], preferredTransports: [transport.name],
    })).createFromUrl(card('weather'), '');
    const say = (text, more = {}) => ({ message: { kind: 'message', messageId: randomUUID(), role: 'user', parts: [{ kind: 'text', text }], ...more } });

    await t.test('two turns', async () => {
      const first = await client.sendMessage(say('hello'));
      assert.equal(first.status.state, 'completed');
      assert.equal(first.artifacts[0].parts[0].text, 'You said: hello');
      const second = await client.sendMessage(say('again', { contextId: first.contextId }));
      assert.equal(second.contextId, first.contextId);
      assert.equal((await client.getTask({ id: second.id, historyLength: 5 })).artifacts[0].parts[0].text, 'You said: again');
    });

    await t.test('a stream with a question', async () => {
      const events = [];
      for await (const event of client.sendMessageStream(say('danger one'))) events.push(event);
      const last = events.at(-1);
      assert.deepEqual([events[0].kind, last.kind, last.status.state, last.final], ['task', 'status-update', 'input-required', true]);
      const done = await client.sendMessage(say('yes', { taskId: last.taskId, contextId: last.contextId }));
      assert.deepEqual([done.id, done.status.state], [last.taskId, 'completed']);
    });

    await t.test('a file and data', async () => {
      const parts = [
        { kind: 'text', text: 'hello' }, { kind: 'data', data: { n: 1 } },
        { kind: 'file', file: { bytes: Buffer.from('abc').toString('base64'), mimeType: 'text/plain' } },
      ];
      const task = await client.sendMessage(say('', { parts }));
      assert.equal(task.status.state, 'completed');
      const sent = task.history[0].parts;
      assert.deepEqual(sent.map((p) => p.kind), ['text', 'text', 'file']);
      assert.equal(sent[2].file.bytes, parts[2].file.bytes);
    });

    await t.test('cancel, subscribe, and what is not there', async () => {
      const asked = await client.sendMessage(say('danger two'));
      const events = client.resubscribeTask({ id: asked.id });
      assert.equal((await events.next()).value.id, asked.id);
      assert.equal((await client.cancelTask({ id: asked.id })).status.state, 'canceled');
      let last;
      for await (const event of events) last = event;
      assert.equal(last.status.state, 'canceled');
      await assert.rejects(client.getTask({ id: 'none' }), /not found/i);
    });

    await t.test('push notifications', async (t) => {
      const { url, ended } = await receiver(t, (body) => body.status?.state === 'completed');
      const task = await client.sendMessage({ ...say('hello'), configuration: { blocking: false, pushNotificationConfig: { url, token: 'secret' } } });
      const { body, token } = await ended;
      assert.deepEqual([body.id, body.kind, token], [task.id, 'task', 'secret']);

      const made = await client.setTaskPushNotificationConfig({ taskId: task.id, pushNotificationConfig: { id: 'c', url } });
      assert.deepEqual([made.taskId, made.pushNotificationConfig.id], [task.id, 'c']);
      const got = await client.getTaskPushNotificationConfig({ id: task.id, pushNotificationConfigId: 'c' });
      assert.equal(got.pushNotificationConfig.url, url);
      const list = await client.listTaskPushNotificationConfig({ id: task.id });
      assert.ok(list.some((c) => c.pushNotificationConfig.id === 'c'));
      await client.deleteTaskPushNotificationConfig({ id: task.id, pushNotificationConfigId: 'c' });
      await assert.rejects(client.getTaskPushNotificationConfig({ id: task.id, pushNotificationConfigId: 'c' }));
    });
  });
}

test('a remote agent of ADK', async (t) => {
  const runner = new InMemoryRunner({ agent: new RemoteA2AAgent({ name: 'remote', agentCard: `${base}/a2a/weather/` }), appName: 'local' });
  const session = await runner.sessionService.createSession({ appName: 'local', userId: 'u' });
  const turn = async (part, runConfig) => {
    const events = [];
    for await (const event of runner.runAsync({ userId: 'u', sessionId: session.id, newMessage: { role: 'user', parts: [part] }, runConfig })) {
      assert.equal(event.errorMessage, undefined);
      events.push(event);
    }
    return events;
  };
  const textsOf = (events, partial) =>
    events.filter((e) => Boolean(e.partial) === partial).flatMap((e) => e.content?.parts ?? []).map((p) => p.text).filter(Boolean);
  const contextsOf = (events) => [...new Set(events.map((e) => e.customMetadata?.['a2a:context_id']).filter(Boolean))];
  let context;

  await t.test('one turn', async () => {
    const events = await turn({ text: 'hello' });
    assert.deepEqual(textsOf(events, false), ['You said: hello']);
    [context] = contextsOf(events);
    assert.ok(context);
  });

  await t.test('streaming, in the same context', async () => {
    const events = await turn({ text: 'weather in Oslo' }, { streamingMode: 'sse' });
    assert.ok(textsOf(events, true).length > 1);
    assert.equal(textsOf(events, true).join(''), 'It is sunny in Oslo.');
    assert.equal(textsOf(events, false).at(-1), 'It is sunny in Oslo.');
    assert.deepEqual(contextsOf(events), [context]);
  });

  await t.test('input required', async () => {
    const events = await turn({ text: 'danger one' });
    const asked = events.flatMap((e) => e.content?.parts ?? []).find((p) => p.functionCall?.name === 'adk_request_confirmation');
    assert.ok(asked, JSON.stringify(events));
    assert.ok(events.some((e) => e.longRunningToolIds?.includes(asked.functionCall.id)));
    const { id, name } = asked.functionCall;
    const done = await turn({ functionResponse: { id, name, response: { confirmed: true } } });
    assert.match(textsOf(done, false).at(-1), /^delete_table returned .*"deleted":"one"/);
    assert.deepEqual(contextsOf(done), [context]);
  });

  await t.test('the other server has one conversation', async () => {
    const log = await (await fetch(`${base}/apps/weather/users/user/sessions/${context}`)).json();
    const said = log.events.filter((e) => e.author === 'user').flatMap((e) => e.content.parts).map((p) => p.text ?? p.functionResponse.name);
    assert.deepEqual(said, ['hello', 'weather in Oslo', 'danger one', 'adk_request_confirmation']);
  });
});
