// Conversations with the client of the AI SDK as it is published: its transport and
// reader, and the chat that useChat is made of.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  AbstractChat, DefaultChatTransport, getToolName, isToolUIPart, lastAssistantMessageIsCompleteWithApprovalResponses,
  lastAssistantMessageIsCompleteWithToolCalls, readUIMessageStream,
} from 'ai';

const { BASE: base, REDIRECT: redirect } = process.env;

/** The state of a chat, without a framework. */
class State {
  status = 'ready';
  error = undefined;
  messages = [];
  pushMessage = (message) => void (this.messages = this.messages.concat(message));
  popMessage = () => void (this.messages = this.messages.slice(0, -1));
  replaceMessage = (index, message) => void (this.messages = this.messages.with(index, this.snapshot(message)));
  snapshot = (value) => structuredClone(value);
}

class Chat extends AbstractChat {
  constructor({ messages = [], ...init }) {
    const state = new State();
    state.messages = messages;
    super({ ...init, state });
  }
}

/** A chat with an application. */
function talk(app = 'weather', { headers, body, ...init } = {}) {
  const transport = new DefaultChatTransport({ api: `${base}/apps/${app}/aisdk`, headers, body });
  return new Chat({ id: crypto.randomUUID(), transport, ...init });
}

const textOf = (message) => message.parts.filter(({ type }) => type === 'text').map(({ text }) => text).join('');
const toolOf = (message) => message.parts.find(isToolUIPart);
const dataOf = (message, kind) => message.parts.find(({ type }) => type === `data-${kind}`)?.data;

/** Waits until something that the chat does by itself is done. */
async function until(holds) {
  while (!holds()) await new Promise((resolve) => setTimeout(resolve, 5));
}

/** Opens a gate of the fixture. */
async function open(gate) {
  await talk().sendMessage({ text: `release ${gate}` });
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

test('one turn, in pieces, with the transport and the reader', async () => {
  const transport = new DefaultChatTransport({ api: `${base}/apps/weather/aisdk` });
  const message = { id: 'm1', role: 'user', parts: [{ type: 'text', text: 'hello there' }] };
  const stream = await transport.sendMessages({ chatId: crypto.randomUUID(), messages: [message], trigger: 'submit-message' });
  const seen = [];
  for await (const snapshot of readUIMessageStream({ stream, terminateOnError: true })) seen.push(snapshot);
  assert.ok(new Set(seen.map(textOf)).size > 3, 'the text must arrive in pieces');
  const last = seen.at(-1);
  assert.equal(textOf(last), 'You said: hello there');
  assert.equal(last.parts.at(-1).state, 'done');
  assert.equal(last.metadata.agent, 'weather_agent');
  assert.equal(last.metadata.status, 'completed');
  assert.equal(typeof last.metadata.usage.totalTokens, 'number');
});

test('a tool call', async () => {
  const chat = talk();
  await chat.sendMessage({ text: 'weather in Oslo' });
  const part = toolOf(chat.lastMessage);
  assert.equal(getToolName(part), 'get_weather');
  assert.equal(part.state, 'output-available');
  assert.deepEqual(part.input, { city: 'Oslo' });
  assert.equal(part.output.report, 'It is sunny in Oslo.');
  assert.equal(textOf(chat.lastMessage), 'It is sunny in Oslo.');
  assert.equal(chat.lastMessage.parts.filter(({ type }) => type === 'step-start').length, 2);
});

test('reasoning', async () => {
  const chat = talk();
  await chat.sendMessage({ text: 'think' });
  assert.ok(chat.lastMessage.parts.find(({ type }) => type === 'reasoning')?.text);
});

test('two turns of one conversation, and state', async () => {
  const chat = talk();
  await chat.sendMessage({ text: 'keep color red' });
  assert.deepEqual(dataOf(chat.lastMessage, 'state'), { color: 'red' });
  await chat.sendMessage({ text: 'recall color' });
  assert.equal(toolOf(chat.lastMessage).output.value, 'red');
  assert.equal(chat.messages.length, 4);
});

test('a file', async () => {
  const chat = talk();
  await chat.sendMessage({ text: 'What is it?', files: [{ type: 'file', mediaType: 'image/png', url: 'data:image/png;base64,ZG90' }] });
  assert.equal(textOf(chat.lastMessage), 'I see 3 bytes of image/png.');
});

for (const approved of [true, false]) {
  test(`a confirmation that is ${approved ? 'approved' : 'refused'}`, async () => {
    const chat = talk('weather', { sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithApprovalResponses });
    await chat.sendMessage({ text: 'danger users' });
    const asked = toolOf(chat.lastMessage);
    assert.equal(asked.state, 'approval-requested');
    const { id } = chat.lastMessage;
    await chat.addToolApprovalResponse({ id: asked.approval.id, approved, reason: 'Because.' });
    await until(() => chat.status === 'ready' && textOf(chat.lastMessage) !== '');
    assert.equal(chat.error, undefined);
    assert.equal(chat.lastMessage.id, id);
    assert.equal(chat.messages.length, 2);
    assert.equal(toolOf(chat.lastMessage).state, approved ? 'output-available' : 'output-denied');
    assert.match(textOf(chat.lastMessage), approved ? /deleted|users/ : /rejected.*Because\./);
  });
}

test('a confirmation that is answered together with a message', async () => {
  const chat = talk();
  await chat.sendMessage({ text: 'danger both' });
  await chat.addToolApprovalResponse({ id: toolOf(chat.lastMessage).approval.id, approved: true });
  await chat.sendMessage({ text: 'recall deleted_both' });
  assert.equal(chat.error, undefined);
  assert.equal(chat.messages.length, 4);
  assert.match(textOf(chat.lastMessage), /1/); // it was deleted before
  const { events } = await (await fetch(`${base}/apps/weather/users/user/sessions/${chat.id}`)).json();
  assert.ok(events.some(({ content }) => content.parts.some((p) => p.functionResponse?.response.deleted === 'both')));
});

test('an input', async () => {
  const chat = talk();
  await chat.sendMessage({ text: 'ask' });
  const asked = dataOf(chat.lastMessage, 'input');
  assert.equal(asked.message, 'How many?');
  await chat.sendMessage(undefined, { body: { answers: { [asked.id]: { n: 3 } } } });
  assert.equal(chat.error, undefined);
  assert.equal(dataOf(chat.lastMessage, 'input').answered, true);
  assert.match(textOf(chat.lastMessage), /"n":3/);
  assert.equal(chat.messages.length, 2);
});

test('a login', async () => {
  const chat = talk('calendar', { headers: { 'X-User-Id': 'ann' } });
  await chat.sendMessage({ text: 'What is on today?' });
  const asked = dataOf(chat.lastMessage, 'login');
  assert.ok(asked.authUri, JSON.stringify([chat.error, chat.messages]));
  const authResponseUri = await visit(asked.authUri);
  await chat.sendMessage(undefined, { body: { answers: { [asked.id]: { authResponseUri } } } });
  assert.equal(chat.error, undefined);
  assert.equal(dataOf(chat.lastMessage, 'login').answered, true);
  assert.equal(toolOf(chat.lastMessage).state, 'output-available');
  assert.equal(textOf(chat.lastMessage), 'That is all.');
});

test('a tool of the client', async () => {
  const tools = { paint: { description: 'Paints.', parameters: { type: 'object', properties: { color: { type: 'string' } } } } };
  const called = [];
  const chat = talk('weather', {
    body: { tools },
    sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithToolCalls,
    onToolCall: ({ toolCall }) => {
      called.push(toolCall);
      void chat.addToolOutput({ tool: toolCall.toolName, toolCallId: toolCall.toolCallId, output: 'painted' });
    },
  });
  await chat.sendMessage({ text: 'weather in Oslo' });
  assert.equal(called.length, 0, 'the client must not make the calls of the server');
  await chat.sendMessage({ text: 'call paint' });
  await until(() => chat.status === 'ready' && textOf(chat.lastMessage) !== '');
  assert.equal(chat.error, undefined);
  assert.deepEqual(called.map(({ toolName, input }) => [toolName, input]), [['paint', { color: 'red' }]]);
  assert.equal(chat.lastMessage.parts.find(isToolUIPart).type, 'tool-paint');
  assert.equal(textOf(chat.lastMessage), 'paint returned {"result":"painted"}');
});

test('a tool of the client that fails', async () => {
  const chat = talk('weather', {
    body: { tools: [{ name: 'paint', inputSchema: { type: 'object' } }] },
    sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithToolCalls,
    onToolCall: ({ toolCall }) => void chat.addToolOutput({ state: 'output-error', tool: 'paint', toolCallId: toolCall.toolCallId, errorText: 'no paint' }),
  });
  await chat.sendMessage({ text: 'call paint' });
  await until(() => chat.status === 'ready' && textOf(chat.lastMessage) !== '');
  assert.equal(textOf(chat.lastMessage), 'paint returned {"error":"no paint"}');
});

test('cancel', async () => {
  const chat = talk();
  const sent = chat.sendMessage({ text: 'slow never-aisdk' });
  await until(() => chat.lastMessage?.role === 'assistant' && toolOf(chat.lastMessage)?.state === 'input-available');
  const cancelled = await fetch(`${base}/apps/weather/aisdk/${chat.id}/cancel`, { method: 'POST' });
  assert.equal(cancelled.status, 204);
  await sent;
  assert.equal(chat.error, undefined);
  assert.equal(toolOf(chat.lastMessage).state, 'output-error');
  assert.equal(chat.lastMessage.metadata.status, 'cancelled');
});

test('a model that fails', async () => {
  const chat = talk();
  await chat.sendMessage({ text: 'stutter' });
  assert.equal(chat.status, 'error');
  assert.match(chat.error.message, /boom/);
  assert.equal(textOf(chat.lastMessage), 'One moment, please');
  chat.clearError();
  await chat.sendMessage({ text: 'hello' });
  assert.equal(textOf(chat.lastMessage), 'You said: hello');
});

test('an unknown application', async () => {
  const chat = talk('nothing');
  await chat.sendMessage({ text: 'hello' });
  assert.equal(chat.error.statusCode, 404);
  assert.match(chat.error.message, /^Application not found: nothing/);
});

test("another user's conversation", async () => {
  const chat = talk('weather', { headers: { 'X-User-Id': 'bob' } });
  const sent = chat.sendMessage({ text: 'slow bobs-gate' });
  await until(() => chat.lastMessage?.role === 'assistant' && toolOf(chat.lastMessage)?.state === 'input-available');
  const other = new DefaultChatTransport({ api: `${base}/apps/weather/aisdk`, headers: { 'X-User-Id': 'alice' } });
  assert.equal(await other.reconnectToStream({ chatId: chat.id }), null);
  assert.equal((await fetch(`${base}/apps/weather/aisdk/${chat.id}/cancel`, { method: 'POST', headers: { 'X-User-Id': 'alice' } })).status, 204);
  await open('bobs-gate');
  await sent;
  assert.equal(toolOf(chat.lastMessage).state, 'output-available');
});

test('a reconnect in the middle of a text', async () => {
  const chat = talk();
  const sent = chat.sendMessage({ text: 'story aisdk-gate' });
  await until(() => chat.lastMessage?.role === 'assistant' && textOf(chat.lastMessage) !== '');
  await chat.stop();
  await sent;
  const half = textOf(chat.lastMessage);
  const resumed = chat.resumeStream();
  await until(() => chat.status === 'streaming');
  await open('aisdk-gate');
  await resumed;
  assert.notEqual(half, 'Once upon a time there was a server.');
  assert.equal(textOf(chat.lastMessage), 'Once upon a time there was a server.');
  assert.equal(chat.messages.length, 2);
  // Nothing runs any more.
  await chat.resumeStream();
  assert.equal(chat.status, 'ready');
  assert.equal(chat.messages.length, 2);
});

test('regenerate, and edit', async () => {
  const chat = talk();
  await chat.sendMessage({ text: 'one' });
  const first = chat.lastMessage.id;
  await chat.sendMessage({ text: 'two' });
  await chat.regenerate({ messageId: first });
  assert.equal(textOf(chat.lastMessage), 'You said: one');
  assert.notEqual(chat.lastMessage.id, first);
  assert.equal(chat.messages.length, 2);
  await chat.sendMessage({ text: 'eins', messageId: chat.messages[0].id });
  assert.equal(textOf(chat.lastMessage), 'You said: eins');
  const session = await (await fetch(`${base}/apps/weather/users/user/sessions/${chat.id}`)).json();
  const texts = session.events.filter(({ author }) => author === 'user').map(({ content }) => content?.parts[0].text);
  assert.equal(texts.at(-1), 'eins');
});

test('an interrupted tool waits for its approval after a reload', async () => {
  const chat = talk();
  await chat.sendMessage({ text: 'danger users' });
  const again = new Chat({ id: chat.id, messages: structuredClone(chat.messages), transport: new DefaultChatTransport({ api: `${base}/apps/weather/aisdk` }) });
  await again.resumeStream();
  assert.equal(again.status, 'ready');
  await again.addToolApprovalResponse({ id: toolOf(again.lastMessage).approval.id, approved: true });
  await again.sendMessage();
  assert.equal(toolOf(again.lastMessage).state, 'output-available');
});

// What the server has is what the client has made of its streams.
test('the messages after a reload', async () => {
  const load = async (id) => (await fetch(`${base}/apps/weather/aisdk/${id}`)).json();
  assert.deepEqual(await load('nothing-yet'), []);
  const chat = talk('weather', { sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithApprovalResponses });
  for (const text of ['hello', 'weather in Oslo', 'think hard', 'keep k v', 'picture', 'danger users']) await chat.sendMessage({ text });
  const plain = () => JSON.parse(JSON.stringify(chat.messages));
  assert.deepEqual(await load(chat.id), plain());
  const again = new Chat({ id: chat.id, messages: await load(chat.id), transport: new DefaultChatTransport({ api: `${base}/apps/weather/aisdk` }) });
  await again.addToolApprovalResponse({ id: again.lastMessage.parts.find((p) => p.approval).approval.id, approved: false, reason: 'No.' });
  await again.sendMessage();
  assert.equal(again.error, undefined);
  await again.sendMessage({ text: 'hello again' });
  assert.equal(textOf(again.lastMessage), 'You said: hello again');
  const after = await load(chat.id);
  assert.deepEqual(after, JSON.parse(JSON.stringify(again.messages)));
  assert.equal(after.length, 14);
});
