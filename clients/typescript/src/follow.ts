import { ConnectionError, ParleyError, RunError } from './errors.js';
import { type Http, isPassing, path, pause } from './http.js';
import { Progress } from './progress.js';
import { frames } from './sse.js';
import type { Event, Run, SessionRef } from './types.js';

export const sessionPath = (s: SessionRef) => path('apps', s.appName, 'users', s.userId, 'sessions', s.id);

/**
 * Follows a run to its end, over any number of broken connections, from where
 * progress is. It returns the run, and fails with a RunError if that has failed.
 */
export async function* follow(http: Http, session: SessionRef, runId: string, progress: Progress, signal?: AbortSignal): AsyncGenerator<Event, Run> {
  const at = `${sessionPath(session)}${path('runs', runId, 'events')}`;
  for (let attempt = 0; ; attempt++) {
    let broken: unknown;
    let [alive, told] = [false, false];
    try {
      const response = await http.once({
        method: 'GET',
        path: at,
        headers: { Accept: 'text/event-stream', ...(progress.after ? { 'Last-Event-ID': progress.after } : {}) },
        signal,
      });
      progress.reconnect();
      // A run may be silent for longer than something in between keeps a connection.
      // A server that shows signs of life is not away.
      const show = () => ([attempt, alive] = [0, true]);
      for await (const frame of frames(response, http.silence, show)) {
        told = true;
        if (frame.event === 'end') return ended(JSON.parse(frame.data) as Run, progress);
        if (frame.event === 'resume') break; // this server shuts down; another one goes on
        const event = progress.take(JSON.parse(frame.data) as Event);
        if (event) yield event;
      }
    } catch (error) {
      signal?.throwIfAborted();
      if (error instanceof ParleyError && !isPassing(error)) throw error;
      broken = error;
    }
    if (attempt >= http.retries) throw broken instanceof ParleyError || broken instanceof ConnectionError ? broken : new ConnectionError(broken);
    await pause(alive && !told ? 2 : attempt, broken, signal); // a server with nothing to tell is not asked all the time
  }
}

/** The run, unless it has failed without an event that says so. */
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
 * Reads the answer of /run_sse, and follows the run when that ends: the server
 * closes it in the same way when the run is over and when it shuts down itself.
 */
export async function* streamed(http: Http, session: SessionRef, response: Response, signal?: AbortSignal): AsyncGenerator<Event, Run> {
  const progress = new Progress();
  let runId = response.headers.get('X-Parley-Run') ?? '';
  try {
    for await (const frame of frames(response, http.silence)) {
      const said = JSON.parse(frame.data) as Event | Failed;
      if ('error' in said) {
        const { error_type: type } = said.error_details;
        if (type === 'store' && runId) break; // the server could not read on; the run goes on
        throw new RunError({ status: type === 'cancelled' ? 409 : 500, message: said.error, type, runId, requestId: response.headers.get('X-Request-Id') ?? '' });
      }
      runId ||= said.invocationId;
      const event = progress.take(said);
      if (event) yield event;
    }
  } catch (error) {
    signal?.throwIfAborted();
    if (error instanceof RunError) throw error;
    if (!runId) throw new ConnectionError(error); // something in between hides the header X-Parley-Run
  }
  return yield* follow(http, session, runId, progress, signal);
}
