// What needs no server.
import { expect, test } from 'vitest';

import { Parley, questionsIn, textOf, type Event, type Options } from '../src/index.js';
import { Progress } from '../src/progress.js';
import { frames } from '../src/sse.js';
import { collect } from './kit.js';

/** The frames of a response that arrives in these pieces. */
async function framesOf(pieces: Iterable<string>) {
  const [next, encoder] = [pieces[Symbol.iterator](), new TextEncoder()];
  const body = new ReadableStream({
    pull(out) {
      const { done, value } = next.next();
      if (done) out.close();
      else out.enqueue(encoder.encode(value));
    },
  });
  const got = [];
  for await (const frame of frames(new Response(body), 60_000)) got.push(frame);
  return got;
}

test('frames, wherever the stream is split', async () => {
  const stream = ': hello\n\ndata: {"a":1}\n\nid: x\ndata: one\r\ndata:two\r\n\r\nevent: end\rdata\r\rid: lost\n\ndata: half';
  const want = [
    { event: undefined, id: undefined, data: '{"a":1}' },
    { event: undefined, id: 'x', data: 'one\ntwo' },
    { event: 'end', id: undefined, data: '' },
  ];
  for (let size = 1; size < stream.length; size++) {
    const pieces = Array.from({ length: Math.ceil(stream.length / size) }, (_, i) => stream.slice(i * size, (i + 1) * size));
    expect(await framesOf(pieces), `in pieces of ${size}`).toEqual(want);
  }
});

test('names that would lead elsewhere', async () => {
  const { asked, client } = answered([]);
  for (const id of ['', '.', '..']) await expect((async () => client.getSession({ appName: 'a', userId: 'u', id }))()).rejects.toThrow('cannot be a name');
  expect(asked).toEqual([]);
});

test('a large frame, in many pieces', async () => {
  function* pieces() {
    yield 'data: ';
    for (let i = 0; i < 20_000; i++) yield 'x'.repeat(1000); // to search all of it each time would take minutes
    yield '\n\n';
  }
  const got = await framesOf(pieces());
  expect(got.map(({ data }) => data.length)).toEqual([20_000_000]);
});

/** A client whose nth request is answered with a stream that has this text, and ends. */
function answered(texts: string[], options: Partial<Options> = {}) {
  const asked: string[] = [];
  const fetch = async (url: unknown) => {
    asked.push(new URL(String(url)).pathname.split('/').at(-1)!);
    return new Response(texts[asked.length - 1] ?? '', { headers: { 'Content-Type': 'text/event-stream', 'X-Parley-Run': 'e-1' } });
  };
  return { asked, client: new Parley({ baseUrl: 'http://server', fetch, ...options }) };
}
const session = { appName: 'a', userId: 'u', id: 's' };
const told = 'id: 1\ndata: {"id":"1","author":"a","invocationId":"e-1"}\n\n';
const end = 'event: end\ndata: {"id":"e-1","status":"completed"}\n\n';

test('a silent run outlasts any number of connections', async () => {
  const { asked, client } = answered([...Array(4).fill(': keep-alive\n\n'), told + end], { retries: 1 });
  const { list, result } = await collect(client.followRun(session, 'e-1'));
  expect([list.length, result.status, asked.length]).toEqual([1, 'completed', 5]);

  const gone = answered([': keep-alive\n\n'], { retries: 1 }); // and then nothing comes any more
  await expect(collect(gone.client.followRun(session, 'e-1'))).rejects.toMatchObject({ name: 'ConnectionError' });
  expect(gone.asked).toHaveLength(2);
});

test('a caller learns of new connections', async () => {
  const { client } = answered([told, '', told.replaceAll('1', '2') + end]);
  const seen: string[] = [];
  for await (const event of client.followRun(session, 'e-1', { onReconnect: () => seen.push('again') })) seen.push(event.id);
  expect(seen).toEqual(['1', 'again', 'again', '2']);
});

test('endpoints without a method', async () => {
  const { asked, client } = answered(['{"a":1}'], { retries: 0 });
  expect(await (await client.request({ method: 'GET', path: '/health', query: { q: 1 } })).json()).toEqual({ a: 1 });
  expect(asked).toEqual(['health']);
  const refused = new Parley({ baseUrl: 'http://server', fetch: async () => new Response('{"error":"no"}', { status: 404 }) });
  await expect(refused.request({ method: 'GET', path: '/nowhere' })).rejects.toMatchObject({ name: 'ParleyError', status: 404, message: 'no' });
});

test('a server that cannot read on is not the end of the run', async () => {
  const failed = (type: string) => `data: {"error":"no","error_details":{"error_type":"${type}"}}\n\n`;
  const { asked, client } = answered([failed('store'), told + end]);
  const { list, result } = await collect(client.stream(session, 'hi'));
  expect([list.length, result.status, asked]).toEqual([1, 'completed', ['run_sse', 'events']]);
  await expect(collect(answered([failed('model')]).client.stream(session, 'hi'))).rejects.toMatchObject({ name: 'RunError', type: 'model' });
});

const piece = (id: string, ...texts: string[]) => ({ id, partial: true, content: { parts: texts.map((text) => ({ text })) } }) as unknown as Event;

test('pieces after another connection', () => {
  const progress = new Progress();
  const take = (event: Event) => {
    const rest = progress.take(event);
    return rest && textOf(rest);
  };
  expect([take(piece('1', 'a')), take(piece('1', 'a')), take(piece('2', 'x'))]).toEqual(['a', 'a', 'x']);
  progress.reconnect();
  expect(take(piece('1', 'aa'))).toBeUndefined(); // all of it is known
  expect([take(piece('1', 'a')), take(piece('2', 'xy', 'z'))]).toEqual(['a', 'yz']);
  progress.reconnect();
  expect([take(piece('1', 'aaab')), take(piece('2', 'other'))]).toEqual(['b', 'other']); // the second one was made again
});

const asks = (name: string, args: object) =>
  ({ author: 'agent', longRunningToolIds: ['c'], content: { parts: [{ functionCall: { id: 'c', name, args } }] } }) as unknown as Event;

test('questions and their answers', () => {
  const [input] = questionsIn([asks('adk_request_input', { message: 'How many?', responseSchema: { type: 'integer' } })]);
  expect(input).toMatchObject({ kind: 'input', message: 'How many?', schema: { type: 'integer' } });
  if (input?.kind !== 'input') return;
  expect(input.answer(3)).toEqual({ functionResponse: { id: 'c', name: 'adk_request_input', response: { result: 3 } } });
  expect(input.answer({ n: 3 })).toMatchObject({ functionResponse: { response: { n: 3 } } });

  const [choice] = questionsIn([asks('get_user_choice', { options: ['red', 'blue'] })]);
  expect(choice).toMatchObject({ kind: 'choice', options: ['red', 'blue'] });

  const [long] = questionsIn([asks('order_pizza', {})]);
  if (long?.kind !== 'result') throw new Error(`asked is ${long?.kind}`);
  expect(long.answer({ status: 'baking' }, true)).toEqual({ functionResponse: { id: 'c', name: 'order_pizza', response: { status: 'baking' }, willContinue: true } });
  const answered = (more: object) => ({ author: 'user', content: { parts: [{ functionResponse: { id: 'c', name: 'order_pizza', ...more } }] } }) as unknown as Event;
  expect(questionsIn([asks('order_pizza', {}), answered({ willContinue: true })])).toHaveLength(1);
  expect(questionsIn([asks('order_pizza', {}), answered({})])).toEqual([]);

  const [login] = questionsIn([asks('svc_request_credential', { authConfig: { exchangedAuthCredential: { oauth2: { authUri: 'https://p.example/auth?redirect_uri=https%3A%2F%2Ffixed' } } } })]);
  expect(login?.kind === 'credential' && login.loginUrl('https://mine')).toBe('https://p.example/auth?redirect_uri=https%3A%2F%2Ffixed');
});

test('a refusal says when to come again, and is not tried again by itself', async () => {
  let asked = 0;
  const answer = () => new Response('{"error":"Too many requests","detail":"Too many requests"}', { status: 429, headers: { 'Retry-After': '7', 'X-Request-Id': 'r' } });
  const busy = new Parley({ baseUrl: 'http://server', fetch: async () => (asked++, answer()) });
  await expect(busy.listApps()).rejects.toMatchObject({ status: 429, message: 'Too many requests', retryAfter: 7, requestId: 'r' });
  expect(asked).toBe(1);

  const page = new Parley({ baseUrl: 'http://server', retries: 1, fetch: async () => (asked++, new Response('<h1>Bad Gateway</h1>', { status: 502 })) });
  await expect(page.listApps()).rejects.toMatchObject({ status: 502, message: 'The server answered 502' });
  expect(asked).toBe(3);
});
