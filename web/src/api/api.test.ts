import { afterEach, describe, expect, test, vi } from 'vitest';

import { calls, curl } from './calls';
import { follow } from './follow';
import type { Event, Run } from './types';

const key = { app: 'a b', user: 'u/1', session: 's' };

test('commands that a shell understands', () => {
  const text = curl(calls.startRun(key, [{ text: "What's up?" }]), 'http://h');
  expect(text).toBe(`curl -X POST 'http://h/apps/a%20b/users/u%2F1/sessions/s/runs' -H 'Content-Type: application/json' -d '{"streaming":true,"newMessage":{"role":"user","parts":[{"text":"What'\\''s up?"}]}}'`);
  expect(curl(calls.followRun(key, 'e-1', 'x'), 'http://h')).toBe(`curl -N 'http://h/apps/a%20b/users/u%2F1/sessions/s/runs/e-1/events?after=x'`);
  expect(curl(calls.import(key, '{"parley":1}\n', 's.jsonl'), '')).toContain(`--data-binary '@s.jsonl'`);
  expect(curl([calls.branch(key, 'e-1', 'b'), calls.deleteArtifact(key, 'user:a b/c.png')], 'http://h', true)).toBe(
    `curl -X POST 'http://h/apps/a%20b/users/u%2F1/sessions/s/fork' -H "Authorization: Bearer $PARLEY_TOKEN" -H 'Content-Type: application/json' -d '{"beforeInvocationId":"e-1","sessionId":"b"}'` +
      ` && curl -X DELETE 'http://h/apps/a%20b/users/u%2F1/sessions/s/artifacts/user%3Aa%20b/c.png' -H "Authorization: Bearer $PARLEY_TOKEN"`,
  );
});

describe('following a run', () => {
  afterEach(() => vi.unstubAllGlobals());

  /** A server whose streams are cut off where the text ends. */
  function serve(...streams: (string | number)[]) {
    const asked: string[] = [];
    vi.stubGlobal('fetch', (path: string) => {
      asked.push(path);
      const next = streams.shift();
      if (next === undefined) return Promise.reject(new TypeError('gone'));
      if (typeof next === 'number') return Promise.resolve(new Response('{"error":"no"}', { status: next }));
      // In small pieces, through the middle of letters.
      const bytes = new TextEncoder().encode(next);
      const body = new ReadableStream({
        start(out) {
          for (let i = 0; i < bytes.length; i += 7) out.enqueue(bytes.slice(i, i + 7));
          out.close();
        },
      });
      return Promise.resolve(new Response(body));
    });
    return asked;
  }

  async function run() {
    const seen: string[] = [];
    await follow(key, 'e-1', undefined, {
      event: (e: Event) => seen.push(`${e.partial ? 'piece' : 'event'} ${e.id}`),
      begin: (again) => seen.push(again ? 'again' : 'begin'),
      end: (r: Run) => seen.push(`end ${r.status}`),
    }, new AbortController().signal);
    return seen;
  }

  test('over a connection that breaks, from the last event on', async () => {
    const asked = serve(
      ': hello\n\ndata: {"id":"p","partial":true,"text":"zwölf"}\n\nid: a\ndata: {"id":"a"}\n\nid: b\nda',
      'event: resume\ndata: {"url":"/x"}\n\n',
      'id: b\ndata: {"id":"b"}\n\nevent: end\ndata: {"status":"completed"}\n\n',
    );
    expect(await run()).toEqual(['begin', 'piece p', 'event a', 'again', 'again', 'event b', 'end completed']);
    expect(asked.map((p) => p.split('?')[1])).toEqual([undefined, 'after=a', 'after=a']);
  });

  test('a run that is not there is an error, and not tried again', async () => {
    const asked = serve(404);
    await expect(run()).rejects.toThrow('no');
    expect(asked).toHaveLength(1);
  });
});
