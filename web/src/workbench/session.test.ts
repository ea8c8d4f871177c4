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
