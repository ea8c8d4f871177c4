// The clock of the server. Times of runs and events are the server's, and the
// clock of the browser may be wrong.

interface Bounds {
  low: number;
  high: number;
}

const unknown: Bounds = { low: -Infinity, high: Infinity };

/** How far the server is ahead of this browser, in seconds, and between what that must be. */
let ahead = 0;
let bounds = unknown;

/**
 * Takes the Date header of a response. The server wrote it between two times of the browser's clock, in seconds. It has whole
 * seconds, so each response says only between what the difference is, and several of them say it better than the last one.
 * The estimate stays as long as it is possible: the times on the screen do not jump, and a clock that is right is used as it is.
 */
export function noteDate(header: string | null, sent: number, received: number) {
  const date = Date.parse(header ?? '') / 1000;
  if (Number.isNaN(date) || received < sent) return; // or the clock was set in between
  const said = { low: date - received, high: date + 1 - sent };
  const both = { low: Math.max(bounds.low, said.low), high: Math.min(bounds.high, said.high) };
  const first = bounds === unknown;
  const changed = both.low > both.high; // one of the clocks was set
  bounds = changed ? said : both;
  if (ahead >= bounds.low && ahead <= bounds.high) return;
  ahead = first || changed ? (bounds.low + bounds.high) / 2 : Math.min(Math.max(ahead, bounds.low), bounds.high);
}

export const browserNow = () => Date.now() / 1000;

/** What time it is for the server, in seconds since 1970. */
export const serverNow = () => browserNow() + ahead;

/** How long ago something was, in seconds. What the server is about to tell may be a little ahead of the estimate. */
export const sinceTime = (time: number) => Math.max(0, serverNow() - time);

/** Forgets what is known. */
export function forgetClock() {
  ahead = 0;
  bounds = unknown;
}
