import { afterEach, beforeEach, expect, test, vi } from 'vitest';

import type { Answer, Request } from '../../diagram/protocol';
import { DrawQueue, type Frame, type Result } from './drawqueue';

const drawing = (source: string): Answer => ({ svg: `<svg>${source}</svg>`, width: 10, height: 10, kind: 'flowchart', title: '' });
const request = (source: string, dark = false): Request => ({ source, dark, colors: {} });

/** Frames that draw at once, but for what is slow, which is never drawn. */
class Frames {
  asked: string[] = [];
  made = 0;
  open = 0;
  isolated = true;
  fails = false;
  slow = /^slow/;
  load = async (): Promise<Frame> => {
    if (this.fails) throw new Error('It could not be loaded.');
    this.made++;
    this.open++;
    return {
      isolated: this.isolated,
      ask: ({ source }) => {
        this.asked.push(source);
        return this.slow.test(source) ? new Promise(() => undefined) : Promise.resolve(source.startsWith('bad') ? { error: 'Parse error' } : drawing(source));
      },
      remove: () => void this.open--,
    };
  };
}

/** Wants a diagram, and notes what comes of it. */
function want(queue: DrawQueue, source: string, asked = false) {
  const got: Result[] = [];
  const stop = queue.want(request(source), asked, (result) => got.push(result));
  return { got, stop };
}

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());
const settle = () => vi.advanceTimersByTimeAsync(0);

test('a diagram is drawn once, in one frame, and then known', async () => {
  const frames = new Frames();
  const queue = new DrawQueue(frames.load);
  const [a, again, b] = [want(queue, 'a'), want(queue, 'a'), want(queue, 'b')];
  expect(queue.known('a', false)).toBeUndefined();
  await settle();
  expect([a, again, b].map((one) => one.got.length)).toEqual([1, 1, 1]);
  expect(a.got[0]!.picture!.address).toBe('data:image/svg+xml;charset=utf-8,%3Csvg%3Ea%3C%2Fsvg%3E');
  expect(queue.known('a', false)).toBe(a.got[0]);
  expect(queue.known('a', true)).toBeUndefined();
  expect(want(queue, 'a').got).toEqual(a.got);
  expect(frames).toMatchObject({ asked: ['a', 'b'], made: 1 });
});

test('what is wrong with a diagram stays wrong', async () => {
  const frames = new Frames();
  const queue = new DrawQueue(frames.load);
  want(queue, 'bad');
  want(queue, 'x'.repeat(20_001));
  await settle();
  expect(queue.known('bad', false)).toEqual({ error: 'Parse error', last: true });
  expect(queue.known('x'.repeat(20_001), false)?.error).toContain('longer than 20,000');
  expect(frames.asked).toEqual(['bad']);
});

test('a frame that could not be loaded is loaded again for the next diagram', async () => {
  const frames = new Frames();
  frames.fails = true;
  const queue = new DrawQueue(frames.load);
  const first = want(queue, 'a');
  await settle();
  expect(first.got).toEqual([{ error: 'It could not be loaded.', last: false }]);
  expect(queue.known('a', false)).toBeUndefined();
  frames.fails = false;
  const second = want(queue, 'a');
  await settle();
  expect(second.got[0]!.picture).toBeDefined();
});

test('after one that takes too long, only what a user asks for is drawn, in another frame', async () => {
  const frames = new Frames();
  const queue = new DrawQueue(frames.load);
  let told = 0;
  // Components stop to wait then: the one with the slow diagram has to have the error by now.
  queue.watch(() => {
    told++;
    slow.stop();
  });
  const [slow, waiting, asked] = [want(queue, 'slow'), want(queue, 'a'), want(queue, 'b', true)];
  await vi.advanceTimersByTimeAsync(29_999);
  expect(slow.got).toEqual([]);
  await vi.advanceTimersByTimeAsync(1);
  expect(slow.got).toEqual([{ error: 'It took longer than 30 seconds.', last: false, late: true }]);
  expect(queue.known('slow', false)).toBeUndefined();
  expect(queue.isAutomatic()).toBe(false);
  expect(told).toBe(1);
  expect(waiting.got).toEqual([]);
  expect(asked.got).toHaveLength(1);
  expect(frames).toMatchObject({ asked: ['slow', 'b'], made: 2, open: 1 });
  want(queue, 'c');
  await settle();
  expect(frames.asked).toEqual(['slow', 'b']);
  frames.slow = /never/;
  const again = want(queue, 'slow', true);
  await settle();
  expect(again.got[0]!.picture).toBeDefined();
});

test('where the page waits for the frame, nothing is drawn unless a user asks for it', async () => {
  const frames = new Frames();
  frames.isolated = false;
  const queue = new DrawQueue(frames.load);
  const first = want(queue, 'a');
  await settle();
  expect([first.got, frames.asked, queue.isAutomatic()]).toEqual([[], [], false]);
  const asked = want(queue, 'a', true);
  await settle();
  expect(asked.got[0]!.picture).toBeDefined();
});

test('what is scrolled away before its turn is not drawn', async () => {
  const frames = new Frames();
  const queue = new DrawQueue(frames.load);
  const [, gone, twice] = [want(queue, 'slow'), want(queue, 'gone'), want(queue, 'twice')];
  want(queue, 'twice');
  gone.stop();
  twice.stop();
  await settle();
  frames.slow = /never/;
  const first = want(new DrawQueue(frames.load), 'x'); // before the frame is there
  first.stop();
  await settle();
  expect(frames.asked).toEqual(['slow']);
  await vi.advanceTimersByTimeAsync(30_000);
  expect(frames.asked).toEqual(['slow']); // the other would have to be asked for now
});

test('what is kept is bounded', async () => {
  const frames = new Frames();
  const queue = new DrawQueue(async () => ({ ...(await frames.load()), ask: async ({ source }) => ({ ...drawing(source), svg: 'x'.repeat(7_000_000) }) as Answer }));
  for (const source of ['a', 'b', 'c']) want(queue, source);
  await settle();
  expect(['a', 'b', 'c'].map((source) => queue.known(source, false) !== undefined)).toEqual([false, true, true]);
});
