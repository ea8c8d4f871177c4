import { afterEach, describe, expect, test, vi } from 'vitest';

import { calls, curl } from './calls';
import { ask, attempt, ConnectionError, unauthorized } from './client';
import { connection } from './connection';

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

describe('what requests tell of the server', () => {
  afterEach(() => {
    vi.unstubAllGlobals();
    connection.found();
  });

  const answer = (status: number, body: string) => vi.stubGlobal('fetch', () => Promise.resolve(new Response(body, { status })));

  test('a refusal is an error with the message of the server', async () => {
    answer(404, '{"error":"no such session"}');
    await expect(ask(calls.session(key))).rejects.toMatchObject({ name: 'ParleyError', status: 404, message: 'no such session' });
  });

  test('an unknown user is noticed', async () => {
    const listener = vi.fn();
    unauthorized.add(listener);
    answer(401, '{"error":"who are you?"}');
    await expect(ask(calls.session(key))).rejects.toMatchObject({ status: 401 });
    expect(listener).toHaveBeenCalledOnce();
    unauthorized.delete(listener);
  });

  test('a server that cannot be reached is lost until it answers', async () => {
    vi.stubGlobal('fetch', () => Promise.reject(new TypeError('refused')));
    await expect(ask(calls.session(key))).rejects.toBeInstanceOf(ConnectionError);
    expect(connection.isLost()).toBe(true);
    answer(500, '{}');
    expect((await attempt(calls.health())).status).toBe(500);
    expect(connection.isLost()).toBe(false);
  });
});
