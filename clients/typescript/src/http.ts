import { ConnectionError, ParleyError, refusal } from './errors.js';

export interface Options {
  /** The address of the server, such as `https://parley.example.com`. */
  baseUrl: string;
  /** A token, or a function that returns one and is called for every request. */
  token?: string | (() => string | undefined | Promise<string | undefined>);
  /** Headers to add to every request. */
  headers?: Record<string, string>;
  /** Used instead of the global `fetch`. */
  fetch?: typeof globalThis.fetch;
  /** How often in a row a request is retried that can be; 6 by default, which takes about 15 seconds. */
  retries?: number;
  /** After how many milliseconds of silence a stream counts as broken; 45,000 by default. */
  silence?: number;
}

/** A request to an endpoint. */
export interface Request {
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** The path, encoded, such as `/list-apps`. */
  path: string;
  query?: Record<string, string | number | string[] | undefined>;
  headers?: Record<string, string>;
  /** An object is sent as JSON, anything else as it is. */
  body?: unknown;
  signal?: AbortSignal | undefined;
  /** Whether the request can be sent again without harm when the server cannot be reached. Off by default. */
  retry?: boolean;
}

/** Sends requests, and retries those that can be retried. */
export class Http {
  readonly retries: number;
  readonly silence: number;
  private readonly base: string;

  constructor(private readonly options: Options) {
    this.base = options.baseUrl.replace(/\/+$/, '');
    this.retries = options.retries ?? 6;
    this.silence = options.silence ?? 45_000;
  }

  /** Sends a request and reads the response, and retries when one of them fails. */
  async send<T>(request: Request, read: (response: Response) => Promise<T>): Promise<T> {
    for (let attempt = 0; ; attempt++) {
      try {
        return await this.whole(await this.once(request), read, request.signal);
      } catch (error) {
        if (!request.retry || attempt >= this.retries || !isTemporary(error)) throw error;
        await pause(attempt, error, request.signal);
      }
    }
  }

  json<T>(request: Request): Promise<T> {
    const headers = { Accept: 'application/json', ...request.headers };
    return this.send({ ...request, headers }, async (response) => (await response.json()) as T);
  }

  /** Reads a response, which may be cut off. */
  private async whole<T>(response: Response, read: (response: Response) => Promise<T>, signal?: AbortSignal): Promise<T> {
    try {
      return await read(response);
    } catch (error) {
      signal?.throwIfAborted();
      throw new ConnectionError(error);
    }
  }

  /** Sends a request once. */
  async once({ method, path, query = {}, headers = {}, body, signal }: Request): Promise<Response> {
    signal?.throwIfAborted();
    const all = new Headers({ ...this.options.headers, ...headers });
    const { token } = this.options;
    const bearer = typeof token === 'function' ? await token() : token;
    if (bearer) all.set('Authorization', `Bearer ${bearer}`);
    const isJson = body !== undefined && Object.getPrototypeOf(body) === Object.prototype;
    if (isJson) all.set('Content-Type', 'application/json');
    const url = new URL(this.base + path);
    for (const [name, value] of Object.entries(query)) {
      for (const one of Array.isArray(value) ? value : [value]) if (one !== undefined) url.searchParams.append(name, String(one));
    }
    let response: Response;
    try {
      response = await (this.options.fetch ?? fetch)(url, {
        method,
        headers: all,
        ...(body !== undefined ? { body: isJson ? JSON.stringify(body) : (body as BodyInit) } : {}),
        ...(signal ? { signal } : {}),
      });
    } catch (error) {
      signal?.throwIfAborted();
      throw new ConnectionError(error);
    }
    if (!response.ok) throw await refusal(response);
    return response;
  }
}

/** Reports whether a later attempt may succeed: the server cannot be reached, or a proxy says so. */
export function isTemporary(error: unknown): boolean {
  return error instanceof ConnectionError || (error instanceof ParleyError && [502, 503, 504].includes(error.status));
}

/** Waits before the next attempt: longer each time, and at least as long as the server asks for. */
export async function pause(attempt: number, error: unknown, signal: AbortSignal | undefined): Promise<void> {
  const wanted = error instanceof ParleyError ? (error.retryAfter ?? 0) * 1000 : 0;
  const ms = Math.max(wanted, Math.min(250 * 2 ** attempt, 8000) * (0.5 + Math.random() / 2));
  signal?.throwIfAborted();
  await new Promise<void>((resolve, reject) => {
    const stop = () => {
      clearTimeout(timer);
      reject(signal!.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', stop);
      resolve();
    }, ms);
    signal?.addEventListener('abort', stop, { once: true });
  });
}

/** Joins names to a path, each encoded. It refuses names that a URL would resolve to another path. */
export function path(...names: string[]): string {
  for (const name of names) if (name === '' || name === '.' || name === '..') throw new TypeError(`${JSON.stringify(name)} cannot be a name in a path`);
  return names.map((name) => `/${encodeURIComponent(name)}`).join('');
}
