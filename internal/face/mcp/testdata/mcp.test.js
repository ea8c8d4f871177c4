// Conversations with the official client of MCP for TypeScript.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js';

const address = new URL(process.env.BASE + '/apps/weather/mcp');

async function connect(answer) {
  const client = new Client({ name: 'test', version: '1' }, { capabilities: answer ? { elicitation: {} } : {} });
  if (answer) client.setRequestHandler(ElicitRequestSchema, answer);
  await client.connect(new StreamableHTTPClientTransport(address));
  return client;
}

const call = (client, args, options) => client.callTool({ name: 'weather', arguments: args }, undefined, options);

test('two turns of one session, with progress', async () => {
  const client = await connect();
  assert.deepEqual((await client.listTools()).tools.map((tool) => tool.name), ['weather']);
  const pieces = [];
  const first = await call(client, { message: 'weather in Oslo' }, { onprogress: (p) => pieces.push(p.message) });
  assert.equal(first.content[0].text, 'It is sunny in Oslo.');
  assert.equal(pieces.join(''), 'It is sunny in Oslo.');
  const { session } = first.structuredContent;
  const second = await call(client, { message: 'hello', session });
  assert.equal(second.content[0].text, 'You said: hello');
  assert.equal(second.structuredContent.session, session);
  await client.close();
});

test('a confirmation and an input', async () => {
  const asked = [];
  const client = await connect(async ({ params }) => {
    asked.push(params.message);
    return { action: 'accept', content: params.requestedSchema.properties.n ? { n: 4 } : { approved: true } };
  });
  const first = await call(client, { message: 'danger one' });
  assert.match(first.content[0].text, /^delete_table returned .*"deleted":"one"/);
  const { session } = first.structuredContent;
  const second = await call(client, { message: 'ask', session });
  assert.match(second.content[0].text, /4/);
  assert.equal(asked.length, 2);
  await client.close();
});

test('a client that cannot ask gets a text, and answers in another call', async () => {
  const client = await connect();
  const first = await call(client, { message: 'ask' });
  const { session, questions } = first.structuredContent;
  assert.match(first.content[0].text, /The agent waits for the user/);
  const second = await call(client, { message: '', session, answers: { [questions[0].id]: { n: 4 } } });
  assert.match(second.content[0].text, /4/);
  const danger = await call(client, { message: 'danger one', session });
  const approved = await call(client, { message: '', session, answers: { [danger.structuredContent.questions[0].id]: true } });
  assert.ok(approved.isError);
  assert.match(approved.content[0].text, /cannot approve/);
  await client.close();
});

test('a call that is cancelled cancels the run', async () => {
  const client = await connect();
  const { session } = (await call(client, { message: 'hello' })).structuredContent;
  const abort = new AbortController();
  const slow = call(client, { message: 'story never', session }, { signal: abort.signal, onprogress: () => abort.abort() });
  await assert.rejects(slow);
  for (;;) {
    const resp = await fetch(`${process.env.BASE}/apps/weather/users/user/sessions/${session}/runs`);
    const runs = await resp.json();
    if (runs[0].status !== 'running') {
      assert.equal(runs[0].status, 'cancelled');
      break;
    }
  }
  await client.close();
});

test('artifacts are resources', async () => {
  const client = await connect();
  const saved = await call(client, { message: 'art a.txt hello' });
  const link = saved.content.find((c) => c.type === 'resource_link');
  assert.ok((await client.listResources()).resources.some((r) => r.uri === link.uri));
  assert.equal((await client.readResource({ uri: link.uri })).contents[0].text, 'hello');
  await client.close();
});
