import type { Event } from './types.js';

/** A fault that the server has found in a request. */
export interface Problem {
  type: string;
  loc: (string | number)[];
  msg: string;
}

export interface ErrorInit {
  status: number;
  message: string;
  detail?: string | Problem[];
  requestId?: string;
  retryAfter?: number;
}

/** The server has refused a request. */
export class ParleyError extends Error {
  override readonly name: string = 'ParleyError';
  /** The HTTP status. */
  readonly status: number;
  /** The message again, or a list of the faults with their places. */
  readonly detail: string | Problem[];
  /** Identifies the request in the server's log. */
  readonly requestId: string;
  /** After how many seconds to retry, if the server says so. */
  readonly retryAfter: number | undefined;

  constructor(init: ErrorInit) {
    super(init.message);
    this.status = init.status;
    this.detail = init.detail ?? init.message;
    this.requestId = init.requestId ?? '';
    this.retryAfter = init.retryAfter;
  }
}

/** A run has failed, or was cancelled: status 500 or 409. */
export class RunError extends ParleyError {
  override readonly name = 'RunError';
  /** The id of the run. */
  readonly runId: string;
  /** The kind of failure, for programs; empty when it is not known. */
  readonly type: string;
  /** The events up to the failure. Empty for a stream, which has yielded them. */
  readonly events: Event[];

  constructor(init: ErrorInit & { runId: string; type?: string; events?: Event[] }) {
    super(init);
    this.runId = init.runId;
    this.type = init.type ?? '';
    this.events = init.events ?? [];
  }
}

/** The server cannot be reached, or the connection broke. `cause` says why. */
export class ConnectionError extends Error {
  override readonly name = 'ConnectionError';
  constructor(cause: unknown) {
    super('The server cannot be reached', { cause });
  }
}

/** The error of a response that is not 2xx. */
export async function refusal(response: Response): Promise<ParleyError> {
  const text = await response.text().catch(() => '');
  let body: { error?: unknown; detail?: string | Problem[]; events?: Event[] } = {};
  try {
    body = (JSON.parse(text) ?? {}) as typeof body;
  } catch {
    // A proxy in front of the server has answered.
  }
  const after = Number(response.headers.get('Retry-After') ?? Number.NaN);
  const init: ErrorInit = {
    status: response.status,
    message: typeof body.error === 'string' && body.error ? body.error : `The server answered ${response.status}`,
    requestId: response.headers.get('X-Request-Id') ?? '',
    ...(body.detail !== undefined ? { detail: body.detail } : {}),
    ...(Number.isFinite(after) ? { retryAfter: after } : {}),
  };
  const runId = response.headers.get('X-Parley-Run') ?? '';
  return body.events ? new RunError({ ...init, runId, events: body.events }) : new ParleyError(init);
}
