import { ConnectionError, ParleyError, RunError } from './errors.js';
import { type Http, isTemporary, path, pause } from './http.js';
import { Progress } from './progress.js';
import { frames } from './sse.js';
import type { Event, Run, SessionRef } from './types.js';

export const sessionPath = (s: SessionRef) => path('apps', s.appName, 'users', s.userId, 'sessions', s.id);

export interface Following {
  signal?: AbortSignal | undefined;
  onReconnect?: () => void;
}

/**
 * Follows a run from progress to its end, over any number of connections. It
 * returns the run, and throws a RunError if the run has failed.
 */
export async function* follow(http: Http, session: SessionRef, runId: string, progress: Progress, { signal, onReconnect }: Following): AsyncGenerator<Event, Run> {
  const at = `${sessionPath(session)}${path('runs', runId, 'events')}`;
  let connected = false;
  for (let attempt = 0; ; attempt++) {
    let broken: unknown;
    let [alive, received] = [false, false];
    try {
      const response = await http.once({
        method: 'GET',
        path: at,
        headers: { Accept: 'text/event-stream', ...(progress.after ? { 'Last-Event-ID': progress.after } : {}) },
        signal,
      });
      if (connected) onReconnect?.();
      connected = true;
      progress.reconnect();
      // A run may be silent for longer than a proxy keeps a connection open. Comments
      // show that the server is alive.
      const onData = () => ([attempt, alive] = [0, true]);
      for await (const frame of frames(response, http.silence, onData)) {
        received = true;
        if (frame.event === 'end') return ended(JSON.parse(frame.data) as Run, progress);
        if (frame.event === 'resume') break; // this server shuts down, and another one continues the run
        const event = progress.take(JSON.parse(frame.data) as Event);
        if (event) yield event;
      }
    } catch (error) {
      signal?.throwIfAborted();
      if (error instanceof ParleyError && !isTemporary(error)) throw error;
      broken = error;
    }
    if (attempt >= http.retries) throw broken instanceof ParleyError || broken instanceof ConnectionError ? broken : new ConnectionError(broken);
    await pause(alive && !received ? 2 : attempt, broken, signal); // do not reconnect at once to a server that sends no events
  }
}

/** Returns the run, and throws if it has failed and no event says so. */
function ended(run: Run, { last }: Progress): Run {
  const { error } = run;
  if (!error || error.reported || last?.errorCode === error.type) return run;
  throw new RunError({ status: run.status === 'cancelled' ? 409 : 500, message: error.message, type: error.type, runId: run.id });
}

interface Failed {
  error: string;
  error_details: { error_type: string };
}

/**
 * Reads the response of /run_sse, and follows the run when that ends: the server
 * closes it in the same way when the run has ended and when it shuts down.
 */
export async function* streamed(http: Http, session: SessionRef, response: Response, signal?: AbortSignal): AsyncGenerator<Event, Run> {
  const progress = new Progress();
  let runId = response.headers.get('X-Parley-Run') ?? '';
  try {
    for await (const frame of frames(response, http.silence)) {
      const received = JSON.parse(frame.data) as Event | Failed;
      if ('error' in received) {
        const { error_type: type } = received.error_details;
        if (type === 'store' && runId) break; // the server could not read the log; the run continues
        throw new RunError({ status: type === 'cancelled' ? 409 : 500, message: received.error, type, runId, requestId: response.headers.get('X-Request-Id') ?? '' });
      }
      runId ||= received.invocationId;
      const event = progress.take(received);
      if (event) yield event;
    }
  } catch (error) {
    signal?.throwIfAborted();
    if (error instanceof RunError) throw error;
    if (!runId) throw new ConnectionError(error); // a proxy has removed the header X-Parley-Run
  }
  return yield* follow(http, session, runId, progress, { signal });
}
