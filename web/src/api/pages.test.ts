import { afterEach, expect, test, vi } from 'vitest';

import { calls } from './calls';
import { readPages } from './pages';

const asked: string[] = [];

/** A server with three pages of usage. */
function serve() {
  asked.length = 0;
  vi.stubGlobal('fetch', (input: RequestInfo | URL) => {
    const url = new URL(input instanceof Request ? input.url : input, 'http://localhost');
    asked.push(url.pathname + url.search);
    const page = Number(url.searchParams.get('pageToken') ?? 1);
    const headers: Record<string, string> = { 'Content-Type': 'application/json', ...(page < 3 ? { Link: `</usage?groupBy=user&pageToken=${page + 1}>; rel="next"` } : {}) };
    return Promise.resolve(new Response(JSON.stringify([{ userId: `u${page}` }]), { headers }));
  });
}

afterEach(() => vi.unstubAllGlobals());

const call = calls.usage({ from: '2026-11-01', to: '2026-11-30', groupBy: 'user' });

test('a list is read until its end', async () => {
  serve();
  expect(await readPages(call, 5)).toEqual({ rows: [{ userId: 'u1' }, { userId: 'u2' }, { userId: 'u3' }], more: false });
  expect(asked).toEqual(['/usage?from=2026-11-01&to=2026-11-30&groupBy=user', '/usage?groupBy=user&pageToken=2', '/usage?groupBy=user&pageToken=3']);
});

test('no more of a list is read than wanted, and that is told', async () => {
  serve();
  expect(await readPages(call, 2)).toEqual({ rows: [{ userId: 'u1' }, { userId: 'u2' }], more: true });
  expect(asked).toHaveLength(2);
});
