// Conversations with the client of OpenAI as it is published. Its streams check the
// order of frames.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import OpenAI from 'openai';

const { BASE: base, REDIRECT: redirect } = process.env;

/** A client with a user of its own. */
const client = (user = `user-${crypto.randomUUID()}`) => new OpenAI({ baseURL: `${base}/v1`, apiKey: 'none', defaultHeaders: { 'X-User-Id': user } });

const model = 'weather';
const paint = { type: 'function', name: 'paint', description: 'Paints.', parameters: { type: 'object', properties: { color: { type: 'string' } } }, strict: false };
const [{ type, ...definition }] = [paint];
const chatPaint = { type, function: definition };

/** Opens a gate of the fixture. */
const open = (gate) => client().responses.create({ model, input: `release ${gate}` });

/** Where a user who logs in is sent back to; the provider shows no page. */
async function visit(authUri) {
  let address = `${authUri}&redirect_uri=${encodeURIComponent(redirect)}`;
  while (!address.startsWith(redirect)) {
    const response = await fetch(address, { redirect: 'manual' });
    address = new URL(response.headers.get('Location'), address).href;
  }
  return address;
}

const types = (response) => response.output.map((item) => item.type);

test('models', async () => {
  const names = [];
  for await (const { id } of client().models.list()) names.push(id);
  assert.deepEqual(names, ['calendar', 'relay', 'weather']);
  const one = await client().models.retrieve('weather');
  assert.deepEqual([one.id, one.object], ['weather', 'model']);
  await assert.rejects(client().models.retrieve('nothing'), { status: 404, code: 'model_not_found' });
});

test('one turn', async () => {
  const response = await client().responses.create({ model, input: 'hello there', metadata: { a: 'b' } });
  assert.equal(response.output_text, 'You said: hello there');
  assert.equal(response.status, 'completed');
  assert.deepEqual(response.metadata, { a: 'b' });
});

test('streaming', async () => {
  const stream = client().responses.stream({ model, input: 'hello there' });
  const deltas = [];
  stream.on('response.output_text.delta', ({ delta }) => deltas.push(delta));
  const response = await stream.finalResponse();
  assert.deepEqual(deltas, ['You ', 'said: ', 'hello ', 'there']);
  assert.equal(response.output_text, 'You said: hello there');
});

test('thoughts', async () => {
  const response = await client().responses.stream({ model, input: 'think' }).finalResponse();
  assert.deepEqual(types(response), ['reasoning', 'message']);
  assert.equal(response.output[0].summary[0].text, 'Let me see.');
});

test('a tool call of the server', async () => {
  const response = await client().responses.stream({ model, input: 'weather in Oslo' }).finalResponse();
  assert.deepEqual(types(response), ['parley:tool_call', 'message']);
  assert.equal(response.output[0].name, 'get_weather');
  assert.equal(response.output_text, 'It is sunny in Oslo.');
});

test('two turns of one conversation', async () => {
  const ai = client();
  const first = await ai.responses.create({ model, input: 'keep k v' });
  const second = await ai.responses.create({ model, input: 'recall k', previous_response_id: first.id });
  assert.match(second.output_text, /"v"/);
  assert.equal(second.previous_response_id, first.id);
  const items = [];
  for await (const item of ai.responses.inputItems.list(second.id)) items.push(item);
  assert.equal(items[0].content[0].text, 'recall k');
});

for (const approved of [true, false]) {
  test(`a confirmation, ${approved ? 'approved' : 'refused'}`, async () => {
    const ai = client();
    const asked = await ai.responses.stream({ model, input: 'danger users' }).finalResponse();
    assert.equal(asked.status, 'incomplete');
    assert.equal(asked.incomplete_details.reason, 'input_required');
    const question = asked.output.at(-1);
    assert.equal(question.type, 'parley:question');
    assert.equal(question.kind, 'confirmation');
    const done = await ai.responses.create({ model, previous_response_id: asked.id, input: [{ type: 'parley:answer', call_id: question.call_id, approved }] });
    assert.equal(done.status, 'completed');
    assert.match(done.output_text, approved ? /"deleted":"users"/ : /rejected/);
  });
}

test('a login', async () => {
  const ai = client('ann');
  const asked = await ai.responses.create({ model: 'calendar', input: 'What is on today?' });
  const question = asked.output.at(-1);
  assert.equal(question.kind, 'login');
  const output = await visit(question.auth_uri);
  const done = await ai.responses.create({ model: 'calendar', previous_response_id: asked.id, input: [{ type: 'function_call_output', call_id: question.call_id, output }] });
  assert.equal(done.output_text, 'That is all.');
});

test('a tool of the client', async () => {
  const ai = client();
  const first = await ai.responses.stream({ model, input: 'call paint', tools: [paint] }).finalResponse();
  const [call] = first.output;
  assert.equal(call.type, 'function_call');
  assert.deepEqual(JSON.parse(call.arguments), { color: 'red' });
  const second = await ai.responses.create({ model, tools: [paint], previous_response_id: first.id, input: [{ type: 'function_call_output', call_id: call.call_id, output: 'painted' }] });
  assert.equal(second.output_text, 'paint returned {"result":"painted"}');
});

test('a tool of the client, without anything stored', async () => {
  const ai = client();
  const input = [{ role: 'user', content: 'call paint' }];
  const first = await ai.responses.create({ model, input, tools: [paint], store: false });
  input.push(...first.output, { type: 'function_call_output', call_id: first.output[0].call_id, output: 'painted' });
  const second = await ai.responses.create({ model, input, tools: [paint], store: false });
  assert.equal(second.output_text, 'paint returned {"result":"painted"}');
  await assert.rejects(ai.responses.retrieve(first.id), OpenAI.NotFoundError);
});

test('cancel', async () => {
  const ai = client();
  const begun = await ai.responses.create({ model, input: 'slow never', background: true });
  assert.equal(begun.status, 'queued');
  const cancelled = await ai.responses.cancel(begun.id);
  assert.equal(cancelled.status, 'cancelled');
  await ai.responses.delete(begun.id);
  await assert.rejects(ai.responses.retrieve(begun.id), OpenAI.NotFoundError);
});

test('a failure of the model', async () => {
  const response = await client().responses.create({ model, input: 'fail' });
  assert.equal(response.status, 'failed');
  assert.match(response.error.message, /boom/);
  let last;
  for await (const event of await client().responses.create({ model, input: 'stutter', stream: true })) last = event;
  assert.equal(last.type, 'response.failed');
});

test('an unknown application', async () => {
  await assert.rejects(client().responses.create({ model: 'nothing', input: 'hello' }), (error) => {
    assert.ok(error instanceof OpenAI.NotFoundError);
    assert.equal(error.code, 'model_not_found');
    assert.equal(error.param, 'model');
    return true;
  });
});

test("another user's conversation", async () => {
  const mine = await client().responses.create({ model, input: 'hello' });
  const other = client();
  await assert.rejects(other.responses.retrieve(mine.id), OpenAI.NotFoundError);
  await assert.rejects(other.responses.cancel(mine.id), OpenAI.NotFoundError);
  await assert.rejects(other.responses.delete(mine.id), OpenAI.NotFoundError);
  await assert.rejects(other.responses.inputItems.list(mine.id), OpenAI.NotFoundError);
  await assert.rejects(other.responses.create({ model, input: 'hello', previous_response_id: mine.id }), OpenAI.NotFoundError);
});

test('in the background, continued in the middle of a text', async () => {
  const ai = client();
  const gate = `story-${crypto.randomUUID()}`;
  const seen = [];
  let id;
  for await (const event of await ai.responses.create({ model, input: `story ${gate}`, background: true, stream: true })) {
    seen.push(event);
    id ??= event.response?.id;
    if (event.type === 'response.output_text.delta' && event.delta === 'time ') break; // the connection is lost
  }
  const rest = await ai.responses.retrieve(id, { stream: true, starting_after: seen.at(-1).sequence_number });
  await open(gate);
  for await (const event of rest) seen.push(event);
  assert.deepEqual(seen.map(({ sequence_number }) => sequence_number), seen.map((_, i) => i));
  const text = seen.filter(({ type }) => type === 'response.output_text.delta').map(({ delta }) => delta).join('');
  assert.equal(text, 'Once upon a time there was a server.');
  assert.equal(seen.at(-1).response.status, 'completed');
  const whole = await ai.responses.stream({ response_id: id }).finalResponse();
  assert.equal(whole.output_text, text);
  assert.deepEqual((await ai.responses.retrieve(id)).output, whole.output.map(({ parsed, ...item }) => (item.content ? { ...item, content: item.content.map(({ parsed, ...part }) => part) } : item)));
});

test('chat completions', async () => {
  const completion = await client().chat.completions.create({ model, messages: [{ role: 'user', content: 'hello there' }] });
  assert.equal(completion.choices[0].message.content, 'You said: hello there');
  assert.equal(completion.choices[0].finish_reason, 'stop');
});

test('chat completions, streamed', async () => {
  const stream = client().chat.completions.stream({ model, messages: [{ role: 'user', content: 'hello there' }], stream_options: { include_usage: true } });
  const completion = await stream.finalChatCompletion();
  assert.equal(completion.choices[0].message.content, 'You said: hello there');
  assert.ok(completion.usage);
});

test('chat completions with a tool of the client', async () => {
  const ai = client();
  const messages = [{ role: 'user', content: 'call paint' }];
  const first = await ai.chat.completions.stream({ model, messages, tools: [chatPaint] }).finalChatCompletion();
  const { message } = first.choices[0];
  assert.equal(first.choices[0].finish_reason, 'tool_calls');
  messages.push(message, { role: 'tool', tool_call_id: message.tool_calls[0].id, content: 'painted' });
  const second = await ai.chat.completions.create({ model, messages, tools: [chatPaint] });
  assert.equal(second.choices[0].message.content, 'paint returned {"result":"painted"}');
});

test('chat completions with a session', async () => {
  const ai = client();
  const options = { headers: { 'X-Session-Id': 'chat' } };
  await ai.chat.completions.create({ model, messages: [{ role: 'user', content: 'keep k v' }] }, options);
  const { choices } = await ai.chat.completions.create({ model, messages: [{ role: 'user', content: 'recall k' }] }, options);
  assert.match(choices[0].message.content, /"v"/);
});

test('a failure of the model in a chat completion', async () => {
  await assert.rejects(client().chat.completions.create({ model, messages: [{ role: 'user', content: 'fail' }] }), (error) => {
    assert.ok(error instanceof OpenAI.InternalServerError);
    assert.match(error.message, /boom/);
    return true;
  });
});
