import { createParser } from 'eventsource-parser';

import { calls } from './calls';
import { ApiError, failure, send } from './client';
import type { Event, Key, Run } from './types';

export interface Follower {
  /** A stored event, or a piece of text that is not (partial). */
  event(event: Event): void;
  /** The stream begins, or begins anew after it was cut off. */
  begin(again: boolean): void;
  end(run: Run): void;
}

const pauses = [300, 1000, 2000, 4000];

/**
 * Follows a run to its end, over any number of broken connections. It fails
 * when there is no such run, and ends quietly when signal is aborted.
 */
export async function follow(key: Key, run: string, after: string | undefined, to: Follower, signal: AbortSignal): Promise<void> {
  for (let attempt = 0, first = true; !signal.aborted; first = false) {
    try {
      const response = await send(calls.followRun(key, run, after), signal, { Accept: 'text/event-stream' });
      if (!response.ok) throw await failure(response);
      to.begin(!first);
      let ended = false;
      await readFrames(response, (name, id, data) => {
        attempt = 0;
        if (name === 'end') {
          ended = true;
          to.end(data as Run);
        } else if (name !== 'resume') {
          if (id) after = id;
          to.event(data as Event);
        }
      });
      if (ended) return;
    } catch (error) {
      if (signal.aborted) return;
      if (error instanceof ApiError && error.status < 500) throw error;
    }
    await pause(pauses[Math.min(attempt++, pauses.length - 1)]!, signal);
  }
}

/** Reads Server-Sent Events with JSON in them. */
export async function readFrames(response: Response, frame: (name: string, id: string | undefined, data: unknown) => void) {
  const parser = createParser({
    onEvent: (event) => frame(event.event ?? '', event.id, JSON.parse(event.data)),
  });
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    parser.feed(value);
  }
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener('abort', () => (clearTimeout(timer), resolve()), { once: true });
  });
}
