import type { Event } from './types.js';

/** One of the faults that the server has found in a request. */
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
  /** The status of the answer. */
  readonly status: number;
  /** The message once more, or a list that says where the request is wrong. */
  readonly detail: string | Problem[];
  /** Names the request in the server's log. */
  readonly requestId: string;
  /** After how many seconds it is worth trying again, if the server says so. */
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
  /** The kind of failure, for programs; empty when it is not told. */
  readonly type: string;
  /** The events up to the failure. Those of a stream have been handed out already. */
  readonly events: Event[];

  constructor(init: ErrorInit & { runId: string; type?: string; events?: Event[] }) {
    super(init);
    this.runId = init.runId;
    this.type = init.type ?? '';
    this.events = init.events ?? [];
  }
}

/** The server cannot be reached, or no longer. `cause` says why. */
export class ConnectionError extends Error {
  override readonly name = 'ConnectionError';
  constructor(cause: unknown) {
    super('The server cannot be reached', { cause });
  }
}

/** The error that a response stands for. */
export async function refusal(response: Response): Promise<ParleyError> {
  const text = await response.text().catch(() => '');
  let body: { error?: unknown; detail?: string | Problem[]; events?: Event[] } = {};
  try {
    body = (JSON.parse(text) ?? {}) as typeof body;
  } catch {
    // Something in front of the server has answered.
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
