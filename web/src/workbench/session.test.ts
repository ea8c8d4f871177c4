import { afterEach, expect, test, vi } from 'vitest';

import { SessionModel } from './session';

afterEach(() => vi.unstubAllGlobals());

test('a run that ends while the session is read is shown to its end', async () => {
  const run = { id: 'e-1', appName: 'a', userId: 'u', sessionId: 's', createTime: 1 };
  const answer = { id: 'ev-1', invocationId: 'e-1', author: 'agent', timestamp: 2, content: { role: 'model', parts: [{ text: 'Sunny.' }] }, actions: {} };
  let requests = 0;
  // The run ends between the first request and the second one.
  vi.stubGlobal('fetch', async (input: RequestInfo | URL) => {
    const path = new URL(String(input), 'http://localhost').pathname;
    const ended = ++requests > 1;
    if (path.endsWith('/events')) {
      return new Response(`id: ev-1\ndata: ${JSON.stringify(answer)}\n\nevent: end\ndata: ${JSON.stringify({ ...run, status: 'completed', endTime: 2 })}\n\n`, {
        headers: { 'Content-Type': 'text/event-stream' },
      });
    }
    if (path.endsWith('/runs')) return Response.json([{ ...run, status: ended ? 'completed' : 'running' }]);
    if (path.endsWith('/sessions')) return Response.json([]);
    return Response.json({ id: 's', appName: 'a', userId: 'u', state: {}, events: ended ? [answer] : [], lastUpdateTime: 1 });
  });
  const model = new SessionModel({ app: 'a', user: 'u', session: 's' });
  await model.load('open');
  await expect.poll(() => model.get().events.map((e) => e.id)).toEqual(['ev-1']);
});

test('a message is sent once, however often that is asked for before the server answers', async () => {
  const posts: string[] = [];
  let respond: (response: Response) => void = () => undefined;
  vi.stubGlobal('fetch', async (input: RequestInfo | URL, init?: RequestInit) => {
    const path = new URL(String(input), 'http://localhost').pathname;
    if (init?.method !== 'POST') return path.endsWith('/events') ? new Promise<Response>(() => undefined) : Response.json([]);
    posts.push(path);
    return new Promise<Response>((resolve) => (respond = resolve));
  });
  const model = new SessionModel({ app: 'a', user: 'u', session: 's' });
  const first = model.send([{ text: 'Hello' }]);
  expect(await model.send([{ text: 'Hello' }])).toBe(false);
  expect(await model.again('e-1', [{ text: 'Hello' }])).toBeUndefined();
  await expect.poll(() => posts.length).toBe(1);
  respond(Response.json({ detail: 'Not now.' }, { status: 409 }));
  expect(await first).toBe(false);
  // What was refused can be sent again.
  const second = model.send([{ text: 'Hello' }]);
  await expect.poll(() => posts.length).toBe(2);
  respond(Response.json({ id: 'e-1', appName: 'a', userId: 'u', sessionId: 's', status: 'running', createTime: 1 }));
  expect(await second).toBe(true);
  expect(model.get().events.map((e) => e.id)).toEqual(['local-e-1']);
});
