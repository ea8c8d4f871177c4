import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';

import { ConnectionError, Parley, ParleyError, questionsIn, RunError, textOf } from '../src/index.js';
import { base, begin, behind, collect, complete, direct, ids, open, stored } from './kit.js';

test('sessions', async () => {
  expect(await direct.listApps()).toEqual(['approval', 'asker', 'calendar', 'teller', 'weather']);
  const user = `ü/${randomUUID()}`; // which has to be encoded
  const session = await direct.createSession('weather', user, { id: 'one', state: { unit: 'celsius', old: 1 }, ttl: 3600 });
  expect(session).toMatchObject({ id: 'one', appName: 'weather', userId: user, state: { unit: 'celsius' } });
  const patched = await direct.patchSession(session, { old: null, visits: 2 });
  expect(patched.state).toEqual({ unit: 'celsius', visits: 2 });
  expect(await direct.getSession({ appName: 'weather', userId: user, id: 'one' })).toEqual(patched);
  for (let i = 0; i < 4; i++) await direct.createSession('weather', user);
  const { list } = await collect(direct.listSessions('weather', user, { pageSize: 2 }));
  expect(new Set(list.map(({ id }) => id)).size).toBe(5);
  await direct.patchSession(session, { __session_metadata__: { displayName: 'A trip', labels: { kind: 'trip', year: '26' } } });
  const found = await collect(direct.listSessions('weather', user, { title: 'trip', labels: ['kind:trip', 'year:26'] }));
  expect(found.list.map(({ id }) => id)).toEqual(['one']);
  await direct.deleteSession(session);
  await expect(direct.getSession(session)).rejects.toMatchObject({ status: 404 });
});

test('a search in what was said', async () => {
  const session = await begin('weather');
  await direct.run(session, 'What is the weather in Paris?');
  await direct.run(session, 'And in London?');
  const { list } = await collect(direct.search('weather', session.userId, '"weather in" par', { pageSize: 1 }));
  expect(list.map(({ sessionId }) => sessionId)).toEqual(list.map(() => session.id));
  expect(list.at(-1)!.author).toBe('user');
  expect(list.at(-1)!.snippet.filter(({ match }) => match).map(({ text }) => text)).toEqual(['weather in', 'Paris']);
  await expect(collect(direct.search('weather', session.userId, '!'))).rejects.toMatchObject({ status: 422 });
});

test('a turn as a whole, as a stream and as an object', async () => {
  const session = await begin('weather');
  const events = await direct.run(session, 'What is the weather in Paris?', { stateDelta: { asked: true }, customMetadata: { from: 'test' } });
  expect(events.map((event) => event.content?.parts?.[0]).map((part) => Object.keys(part!)[0])).toEqual(['functionCall', 'functionResponse', 'text']);
  expect(events[0]!.customMetadata).toEqual({ from: 'test' });
  expect(await stored(session)).toEqual(events);

  const { list, result } = await collect(direct.stream(session, 'What is the weather in London?'));
  expect(list.some((event) => event.partial)).toBe(true);
  expect((await stored(session)).slice(3)).toEqual(complete(list));
  expect(result).toMatchObject({ id: list[0]!.invocationId, status: 'completed' });
  const whole = await collect(direct.stream(session, 'Once more', { pieces: false }));
  expect(whole.list.some((event) => event.partial)).toBe(false);

  const run = await direct.startRun(session, 'What is the weather in New York?');
  const followed = await collect(direct.followRun(session, run.id));
  expect(followed.result.status).toBe('completed');
  const rest = await collect(direct.followRun(session, run.id, { after: complete(followed.list)[0]!.id }));
  expect(ids(rest.list)).toEqual(ids(complete(followed.list)).slice(1));
  expect((await direct.listRuns(session)).map(({ id }) => id)[0]).toBe(run.id);
  expect((await direct.getRun(session, run.id)).status).toBe('completed');
});

test('artifacts', async () => {
  const session = await begin('weather');
  const bytes = new Uint8Array([0, 255, 10, 13, 128]);
  expect(await direct.saveArtifact(session, 'a b/ü.bin', bytes, 'application/x-test')).toMatchObject({ version: 0, mimeType: 'application/x-test' });
  expect((await direct.saveArtifact(session, 'a b/ü.bin', 'second', 'text/plain')).version).toBe(1);
  expect(await direct.listArtifacts(session)).toEqual(['a b/ü.bin']);
  const first = await direct.getArtifact(session, 'a b/ü.bin', { version: 0 });
  expect(new Uint8Array(await first.arrayBuffer())).toEqual(bytes);
  expect(await (await direct.getArtifact(session, 'a b/ü.bin')).text()).toBe('second');
  expect((await direct.listArtifactVersions(session, 'a b/ü.bin')).map(({ version }) => version)).toEqual([0, 1]);
  await direct.deleteArtifact(session, 'a b/ü.bin');
  await expect(direct.getArtifact(session, 'a b/ü.bin')).rejects.toMatchObject({ status: 404 });
});

test('errors say what the server said', async () => {
  const nowhere = { appName: 'weather', userId: 'missing', id: 'nothing' };
  const error = await direct.run(nowhere, 'Hello').catch((e: unknown) => e as ParleyError);
  expect(error).toBeInstanceOf(ParleyError);
  expect(error).toMatchObject({ name: 'ParleyError', status: 404, message: 'Session not found: nothing', detail: 'Session not found: nothing' });
  expect((error as ParleyError).requestId).not.toBe('');
  await expect(direct.stream(nowhere, 'Hello').next()).rejects.toMatchObject({ status: 404 });
  await expect(direct.run(await begin('weather'), [])).rejects.toMatchObject({ status: 422, detail: [{ loc: ['body', 'newMessage', 'parts'] }] });

  const refused = new Parley({ baseUrl: 'http://127.0.0.1:9', retries: 0 });
  await expect(refused.listApps()).rejects.toBeInstanceOf(ConnectionError);
});

test('a run that fails, in every view', async () => {
  for (const view of ['run', 'stream', 'follow'] as const) {
    const session = await begin('teller');
    const heard: string[] = [];
    const error = await (async () => {
      if (view === 'run') return direct.run(session, 'one | fail');
      const events = view === 'stream' ? direct.stream(session, 'one | fail') : direct.followRun(session, (await direct.startRun(session, 'one | fail')).id);
      for await (const event of events) if (!event.partial) heard.push(textOf(event));
      return undefined;
    })().catch((e: unknown) => e as RunError);
    expect(error, view).toBeInstanceOf(RunError);
    const failed = error as RunError;
    expect(failed.status).toBe(500);
    expect(failed.message).toContain('the teller has failed');
    expect(failed.runId).toMatch(/^e-/);
    expect(view === 'run' ? failed.events.map(textOf) : heard).toEqual(['one ']);
    if (view !== 'run') expect(failed.type).toBe('agent');
  }
});

test('a cancelled run', async () => {
  const session = await begin('teller');
  const gate = randomUUID();
  const events = direct.stream(session, `one [${gate}] two`);
  const { value: first } = await events.next();
  await direct.cancelRun(session, (first as { invocationId: string }).invocationId);
  await expect(collect(events)).rejects.toMatchObject({ name: 'RunError', status: 409 });
});

test('feedback to a run', async () => {
  const session = await begin('teller');
  const [event] = await direct.run(session, 'hello');
  const runId = (event as { invocationId: string }).invocationId;
  await direct.setFeedback(session, runId, { rating: 'up' });
  await direct.setFeedback(session, runId, { rating: 'down', note: 'too long' });
  expect(await direct.listFeedback(session)).toMatchObject([{ runId, rating: 'down', note: 'too long', author: session.userId }]);
  const all = await collect(direct.listAllFeedback('teller', { userId: session.userId, rating: 'down', hasNote: true, pageSize: 1 }));
  expect(all.list).toMatchObject([{ sessionId: session.id, runId, rating: 'down', note: 'too long', author: session.userId }]);
  await direct.setFeedback(session, runId, {});
  expect(await direct.listFeedback(session)).toEqual([]);
});

test('an abort ends the stream, and not the run', async () => {
  const session = await begin('teller');
  const [gate, stop] = [randomUUID(), new AbortController()];
  const events = direct.stream(session, `one [${gate}] two`, { signal: stop.signal });
  const { value: first } = await events.next();
  const next = events.next();
  stop.abort(new Error('enough'));
  await expect(next).rejects.toThrow('enough');
  await open(gate);
  const { result } = await collect(direct.followRun(session, (first as { invocationId: string }).invocationId));
  expect(result.status).toBe('completed');
  await expect(direct.getSession(session, { signal: AbortSignal.abort(new Error('before')) })).rejects.toThrow('before');
});

test('a reader that stops closes the connection', async () => {
  const { client, proxy } = await behind(() => undefined);
  const [session, gate] = [await begin('teller'), randomUUID()];
  for await (const _ of client.stream(session, `one [${gate}] two`)) break;
  await expect.poll(() => proxy.seen[0]!.socket.destroyed).toBe(true);
  await open(gate);
});

test('a token for every request', async () => {
  let n = 0;
  const { client, proxy } = await behind(() => undefined, { token: async () => `token-${n++}`, headers: { 'X-Mine': 'yes' } });
  await client.listApps();
  await client.listApps();
  expect(proxy.seen.map(({ headers }) => [headers.authorization, headers['x-mine']])).toEqual([['Bearer token-0', 'yes'], ['Bearer token-1', 'yes']]);
});

test('confirmations', async () => {
  for (const [confirmed, outcome] of [[true, 'on their way back'], [false, 'rejected']] as const) {
    const session = await begin('approval');
    const { list, result } = await collect(direct.stream(session, 'Refund 80'));
    expect(result.status).toBe('waiting');
    const [question, ...others] = questionsIn(list);
    expect(others).toEqual([]);
    if (question?.kind !== 'confirmation') throw new Error(`asked is ${question?.kind}`);
    expect(question.original).toMatchObject({ name: 'refund_order', args: { amount: 80 } });
    expect(question.hint).toContain('refund_order');
    const after = await direct.run(session, question.answer(confirmed));
    expect(JSON.stringify(after[0])).toContain(outcome);
    expect(questionsIn((await direct.getSession(session)).events)).toEqual([]);
    await expect(direct.run(session, question.answer(confirmed))).rejects.toMatchObject({ status: 409 });
  }
});

test('a confirmation with a payload', async () => {
  const session = await begin('approval');
  const [question] = questionsIn(await direct.run(session, 'Grant a discount of 30 percent'));
  if (question?.kind !== 'confirmation') throw new Error(`asked is ${question?.kind}`);
  expect(question.payload).toEqual({ percent: 30 });
  const after = await direct.run(session, question.answer(true, { percent: 10 }));
  expect(JSON.stringify(after)).toContain('A discount of 10 percent is granted');
});

test('input', async () => {
  const session = await begin('asker');
  const [question] = questionsIn(await direct.run(session, 'Request input from the user with the message "How many?"'));
  if (question?.kind !== 'input') throw new Error(`asked is ${question?.kind}`);
  expect(question.message).toBe('How many?');
  const { list, result } = await collect(direct.stream(session, question.answer('seven')));
  expect(result).toMatchObject({ status: 'completed', resumes: (await direct.listRuns(session))[1]!.id });
  expect(textOf(complete(list).at(-1)!)).toContain('seven');
});

test('a login, after which the run continues', async () => {
  const redirect = process.env.REDIRECT!;
  const session = await begin('calendar');
  const { list, result } = await collect(direct.stream(session, 'List the events in my calendar'));
  expect(result.status).toBe('waiting');
  const [question] = questionsIn(list);
  if (question?.kind !== 'credential') throw new Error(`asked is ${question?.kind}`);
  // The provider lets users in without a page, and the user's browser comes back.
  let address = `${question.loginUrl(redirect)}&auto_login=ann`;
  while (!address.startsWith(redirect)) {
    const response = await fetch(address, { redirect: 'manual' });
    address = new URL(response.headers.get('Location')!, address).href;
  }
  const after = await direct.run(session, question.answer(address, redirect));
  expect(after[0]!.content!.parts![0]!.functionResponse).toMatchObject({ name: 'list_events', response: { status: 'success' } });
  expect(JSON.stringify(await direct.getSession(session))).not.toContain(new URL(address).searchParams.get('code'));
});

test('the base may have a path and a slash at its end', async () => {
  const { client, proxy } = await behind(() => undefined);
  await client.listApps();
  await expect(new Parley({ baseUrl: `${proxy.url}/deep/`, retries: 0 }).listApps()).rejects.toMatchObject({ status: 404 });
  expect(proxy.seen.map(({ url }) => url)).toEqual(['/list-apps', '/deep/list-apps']);
  expect(base).toMatch(/^http:/);
});
