// Connections that break in every way that there is, in the middle of a turn.
import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';

import { textOf } from '../src/index.js';
import { begin, behind, collect, complete, direct, ids, open, pieces, stored } from './kit.js';

const question = 'What is the weather in New York?';

/** How many bytes the stream of a turn has. */
async function length(): Promise<number> {
  const { appName, userId, id: sessionId } = await begin('weather');
  const body = { appName, userId, sessionId, streaming: true, newMessage: { parts: [{ text: question }] } };
  const headers = { 'Content-Type': 'application/json' };
  const response = await fetch(`${process.env.BASE}/run_sse`, { method: 'POST', headers, body: JSON.stringify(body) });
  expect(response.status).toBe(200);
  return (await response.text()).length;
}

test.each(['cut', 'end'] as const)('no event is lost or doubled, wherever answers are %s', async (then) => {
  const total = await length();
  const places = Array.from({ length: 12 }, (_, i) => Math.floor((total * (i + 0.5)) / 12));
  await Promise.all(
    [1, ...places].map(async (after) => {
      // The stream breaks, and so does the first attempt to take it up again.
      const { client, proxy } = await behind((n) => (n < 2 ? { after: n === 0 ? after : 60, then } : undefined));
      const session = await begin('weather');
      const { list, result } = await collect(client.stream(session, question));
      expect(result.status).toBe('completed');
      expect(ids(complete(list))).toEqual(ids(await stored(session)));
      expect(textOf(complete(list).at(-1)!).startsWith(pieces(list).join(''))).toBe(true);
      expect(proxy.seen.map(({ method, url }) => `${method} ${url!.split('/').at(-1)}`)).toEqual(['POST run_sse', 'GET events', 'GET events']);
      expect(await direct.listRuns(session)).toHaveLength(1);
    }),
  );
});

test('pieces of a text continue where they were cut off', async () => {
  const gates = [randomUUID(), randomUUID()];
  const { client, proxy } = await behind(() => undefined);
  const session = await begin('teller');
  const heard: string[] = [];
  const cutAfter = ['zwölf ', 'three '];
  for await (const event of client.stream(session, `one zwölf [${gates[0]}] three [${gates[1]}] four`)) {
    heard.push(`${event.partial ? 'piece' : 'event'} ${textOf(event)}`);
    const n = event.partial ? cutAfter.indexOf(textOf(event)) : -1;
    if (n < 0) continue;
    proxy.break();
    // The text continues when it is followed again. What comes first is all of it so far, and only then are further pieces
    // certain to come, too.
    void expect.poll(() => proxy.answered, { timeout: 30_000 }).toBe(n + 2).then(() => open(gates[n]!));
  }
  expect(heard).toEqual(['piece one ', 'piece zwölf ', 'piece three ', 'piece four ', 'event one zwölf three four ']);
});

test('a start whose response is lost is not a second run', async () => {
  const { client, proxy } = await behind((n) => (n < 2 ? { after: 0, then: 'cut' } : undefined));
  for (const view of ['stream', 'run', 'startRun'] as const) {
    proxy.seen.length = 0;
    const session = await begin('weather');
    if (view === 'stream') await collect(client.stream(session, question));
    else await client[view](session, question);
    expect(proxy.seen.slice(0, 3).map(({ method }) => method)).toEqual(['POST', 'POST', 'POST']);
    expect(new Set(proxy.seen.slice(0, 3).map(({ headers }) => headers['idempotency-key'])).size).toBe(1);
    expect(await direct.listRuns(session)).toHaveLength(1);
  }
});

test('an answer of /run that is cut off is asked for again', async () => {
  const { client, proxy } = await behind((n) => (n === 0 ? { after: 200, then: 'cut' } : undefined));
  const session = await begin('weather');
  expect(await client.run(session, question)).toEqual(await stored(session));
  expect(proxy.seen).toHaveLength(2);
});

test('a connection that hangs is given up', async () => {
  const { client, proxy } = await behind((n) => (n === 0 ? { after: 500, then: 'hang' } : undefined), { silence: 2000 });
  const session = await begin('weather');
  const { list } = await collect(client.stream(session, question));
  expect(ids(complete(list))).toEqual(ids(await stored(session)));
  expect(proxy.seen.length).toBeGreaterThan(1);
});

test('a server that stays away is an error in the end', async () => {
  const { client } = await behind((n) => ({ after: n === 0 ? 500 : 0, then: 'cut' }), { retries: 1 });
  await expect(collect(client.stream(await begin('weather'), question))).rejects.toMatchObject({ name: 'ConnectionError' });
});

test('what cannot be repeated is not', async () => {
  const { client, proxy } = await behind(() => ({ after: 0, then: 'cut' }));
  await expect(client.createSession('weather', 'u')).rejects.toMatchObject({ name: 'ConnectionError' });
  expect(proxy.seen).toHaveLength(1);
});
