import { afterEach, beforeEach, expect, test, vi } from 'vitest';

import { calls } from './calls';
import { attempt } from './client';
import { forgetClock, noteDate, serverNow, sinceTime } from './clock';

const start = Date.UTC(2030, 0, 1) / 1000;

beforeEach(() => {
  vi.useFakeTimers();
  vi.setSystemTime(start * 1000);
});
afterEach(() => {
  forgetClock();
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

/** A response that took some seconds, of a server that is ahead of the browser. */
function answer(ahead: number, took = 0.02) {
  const sent = Date.now() / 1000;
  const date = new Date(Math.floor(sent + took / 2 + ahead) * 1000).toUTCString();
  vi.advanceTimersByTime(took * 1000);
  noteDate(date, sent, sent + took);
}

const error = (ahead: number) => Math.abs(serverNow() - Date.now() / 1000 - ahead);

test('a clock that is right is used as it is', () => {
  for (let i = 0; i < 50; i++) {
    answer(0);
    expect(error(0)).toBe(0);
    vi.advanceTimersByTime(370);
  }
});

test.each([300, -300, 86_400.4, -3.7])('a clock that is wrong by %d seconds is corrected, and what is shown does not jump', (ahead) => {
  answer(ahead);
  expect(error(ahead)).toBeLessThan(0.6);
  for (let i = 0; i < 100; i++) {
    const before = serverNow() - Date.now() / 1000;
    vi.advanceTimersByTime(370);
    answer(ahead);
    expect(Math.abs(serverNow() - Date.now() / 1000 - before)).toBeLessThan(0.6);
  }
  expect(error(ahead)).toBeLessThan(0.1);
});

test('slow responses and those without a date say less', () => {
  answer(300);
  const before = serverNow();
  noteDate(null, start, start + 1);
  noteDate('yesterday', start, start + 1);
  expect(serverNow()).toBe(before);
  answer(300, 20);
  expect(error(300)).toBeLessThan(0.6);
});

test('a clock that is set later is corrected again', () => {
  answer(300);
  answer(-40);
  expect(error(-40)).toBeLessThan(0.6);
});

test('nothing was in the future', () => {
  expect(sinceTime(start + 5)).toBe(0);
  expect(sinceTime(start - 5)).toBe(5);
});

test('responses set the clock, unless they are copies of earlier ones', async () => {
  const headers = new Headers({ Date: new Date((start + 300) * 1000).toUTCString(), Age: '200' });
  vi.stubGlobal('fetch', () => Promise.resolve(new Response('{}', { headers })));
  await attempt(calls.health());
  expect(error(0)).toBe(0);
  headers.delete('Age');
  await attempt(calls.health());
  expect(error(300)).toBeLessThan(0.6);
});
