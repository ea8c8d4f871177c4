import { connection } from './connection';
import type { Call } from './calls';

/** What a server says that is not 2xx. */
export class ApiError extends Error {
  constructor(
    readonly status: number,
    message: string,
    readonly requestId = '',
    readonly body: unknown = undefined,
  ) {
    super(message);
  }
}

/** The server cannot be reached. */
export class LostError extends Error {
  constructor() {
    super('The server cannot be reached.');
  }
}

/** What is told when the server does not know any more who its user is. */
export const unauthorized = new Set<() => void>();

let last: Call | undefined;
/** The last call that has changed something. */
export const lastAction = () => last;
export const forgetLastAction = () => (last = undefined);

/** Sends a call and hands over the response, whatever its status. */
export async function send(call: Call, signal?: AbortSignal, headers: Record<string, string> = {}): Promise<Response> {
  const init: RequestInit = { method: call.method, headers: { ...headers }, ...(signal ? { signal } : {}) };
  if (call.body !== undefined) {
    init.body = typeof call.body === 'string' || call.body instanceof Blob ? call.body : JSON.stringify(call.body);
    init.headers = { ...headers, 'Content-Type': call.type ?? 'application/json' };
  }
  if (call.method !== 'GET' && !call.path.startsWith('/dev-ui/')) last = call;
  try {
    const response = await fetch(call.path, init);
    connection.found();
    if (response.status === 401) for (const listener of unauthorized) listener();
    return response;
  } catch (error) {
    if (signal?.aborted) throw error;
    connection.lost();
    throw new LostError();
  }
}

/** Sends a call and reads the JSON of its answer. */
export async function request<T>(call: Call, signal?: AbortSignal): Promise<{ value: T; response: Response }> {
  const response = await send(call, signal, { Accept: 'application/json' });
  if (!response.ok) throw await failure(response);
  return { value: (await response.json()) as T, response };
}

export async function ask<T>(call: Call, signal?: AbortSignal): Promise<T> {
  return (await request<T>(call, signal)).value;
}

export async function failure(response: Response): Promise<ApiError> {
  const text = await response.text().catch(() => '');
  let message = `The server answered ${response.status}.`;
  let body: unknown = text;
  try {
    body = JSON.parse(text);
    const said = (body as { error?: unknown }).error;
    if (typeof said === 'string' && said) message = said;
  } catch {
    // Something in front of the server has answered.
  }
  return new ApiError(response.status, message, response.headers.get('X-Request-Id') ?? '', body);
}

/** The address of the next page, from a Link header. */
export function nextPage(response: Response): string | undefined {
  return /<([^>]*)>;\s*rel="next"/.exec(response.headers.get('Link') ?? '')?.[1];
}
