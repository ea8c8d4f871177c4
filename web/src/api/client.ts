import { ConnectionError, Parley } from '@parley-run/client';

import type { Call } from './calls';
import { browserNow, noteDate } from './clock';
import { connection } from './connection';

export { ConnectionError, ParleyError } from '@parley-run/client';

/** Called when the server answers that it does not know the user. */
export const unauthorized = new Set<() => void>();

let last: Call | undefined;
/** The last call that has changed something. */
export const lastAction = () => last;
export const forgetLastAction = () => (last = undefined);

/** fetch, which also notes whether the server can be reached and knows the user, and what time it is there. */
async function watchedFetch(url: RequestInfo | URL, init: RequestInit = {}): Promise<Response> {
  const sent = browserNow();
  try {
    const response = await fetch(url, init);
    connection.found();
    if (!response.headers.has('Age')) noteDate(response.headers.get('Date'), sent, browserNow());
    if (response.status === 401) for (const listener of unauthorized) listener();
    return response;
  } catch (error) {
    if (!init.signal?.aborted) connection.lost();
    throw error;
  }
}

/** The server of this page. A run is followed until it ends, for as long as the page is open. */
export const parley = new Parley({ baseUrl: globalThis.location?.origin ?? 'http://localhost', fetch: watchedFetch, retries: Infinity });

function note(call: Call) {
  if (call.method !== 'GET' && !call.path.startsWith('/dev-ui/')) last = call;
}

const contentType = ({ type }: Call): Record<string, string> => (type ? { 'Content-Type': type } : {});

/** Sends a call. It throws a ParleyError when the server refuses it. */
export function send(call: Call, signal?: AbortSignal, headers: Record<string, string> = {}): Promise<Response> {
  note(call);
  return parley.request({ method: call.method, path: call.path, body: call.body, headers: { ...headers, ...contentType(call) }, signal });
}

/** Sends a call, and returns the response whatever its status is. */
export async function attempt(call: Call): Promise<Response> {
  note(call);
  const body = call.body === undefined ? {} : { body: call.type ? (call.body as BodyInit) : JSON.stringify(call.body) };
  const headers = { ...(call.body === undefined ? {} : { 'Content-Type': 'application/json' }), ...contentType(call) };
  try {
    return await watchedFetch(call.path, { method: call.method, headers, ...body });
  } catch (error) {
    throw new ConnectionError(error);
  }
}

/** Sends a call and reads the JSON of the response. */
export async function request<T>(call: Call, signal?: AbortSignal): Promise<{ value: T; response: Response }> {
  const response = await send(call, signal, { Accept: 'application/json' });
  return { value: (await response.json()) as T, response };
}

export async function ask<T>(call: Call, signal?: AbortSignal): Promise<T> {
  return (await request<T>(call, signal)).value;
}

/** The address of the next page, from a Link header. */
export function nextPage(response: Response): string | undefined {
  return /<([^>]*)>;\s*rel="next"/.exec(response.headers.get('Link') ?? '')?.[1];
}
