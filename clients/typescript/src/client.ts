import { follow, sessionPath, streamed } from './follow.js';
import { Http, type Options, path } from './http.js';
import { Progress } from './progress.js';
import type {
  ArtifactVersion, Concurrency, Event, ListedSession, Message, MessagePart, OnDisconnect, Run, Session, SessionRef, State,
} from './types.js';

export interface CallOptions {
  signal?: AbortSignal;
}

export interface NewSession extends CallOptions {
  /** An id of your own; the server makes one up otherwise. */
  id?: string;
  state?: State;
  /** For how many seconds after its last change the session is kept. */
  ttl?: number;
}

export interface SessionFilter extends CallOptions {
  title?: string;
  /** As `name:value`. */
  labels?: string[];
  updatedSince?: number;
  updatedBefore?: number;
  pageSize?: number;
}

export interface RunOptions extends CallOptions {
  /** Changes of the state that are made together with the message. */
  stateDelta?: State;
  /** What the events of the run carry as `customMetadata`. */
  customMetadata?: State;
  /** What to do if the session is busy. */
  concurrency?: Concurrency;
  /** What becomes of the run when this client is gone. A stream that is followed anew was gone for a moment. */
  onDisconnect?: OnDisconnect;
  /** Of all runs with one key the first one counts. Made up for every call unless it is given. */
  idempotencyKey?: string;
}

export interface StreamOptions extends RunOptions {
  /** Whether text comes in pieces, too: events that are `partial`. On by default. */
  pieces?: boolean;
}

/** A Parley server. */
export class Parley {
  private readonly http: Http;

  constructor(options: Options) {
    this.http = new Http(options);
  }

  /** The names of the applications. */
  listApps({ signal }: CallOptions = {}): Promise<string[]> {
    return this.http.json({ method: 'GET', path: '/list-apps', signal, again: true });
  }

  createSession(appName: string, userId: string, { id, state, ttl, signal }: NewSession = {}): Promise<Session> {
    const body = { ...(id !== undefined ? { sessionId: id } : {}), state: state ?? {} };
    return this.http.json({ method: 'POST', path: path('apps', appName, 'users', userId, 'sessions'), query: { ttl }, body, signal });
  }

  getSession(session: SessionRef, { signal }: CallOptions = {}): Promise<Session> {
    return this.http.json({ method: 'GET', path: sessionPath(session), signal, again: true });
  }

  /** The sessions of a user, the newest first, page by page as they are asked for. They have no events. */
  async *listSessions(appName: string, userId: string, { signal, labels, pageSize = 100, ...filter }: SessionFilter = {}): AsyncGenerator<ListedSession, void> {
    for (let pageToken: string | undefined; ; ) {
      const query = { ...filter, label: labels, pageSize, pageToken };
      const [page, link] = await this.http.send(
        { method: 'GET', path: path('apps', appName, 'users', userId, 'sessions'), query, signal, again: true },
        async (response) => [(await response.json()) as ListedSession[], response.headers.get('Link')],
      );
      yield* page;
      const next = /<([^>]*)>;\s*rel="next"/.exec(link ?? '')?.[1];
      pageToken = next && (new URL(next, 'http://server').searchParams.get('pageToken') ?? undefined);
      if (!pageToken) return;
    }
  }

  /** Changes the state of a session. Keys whose value is null are deleted. */
  patchSession(session: SessionRef, stateDelta: State, { signal }: CallOptions = {}): Promise<Session> {
    return this.http.json({ method: 'PATCH', path: sessionPath(session), body: { stateDelta }, signal });
  }

  async deleteSession(session: SessionRef, { signal }: CallOptions = {}): Promise<void> {
    await this.http.json({ method: 'DELETE', path: sessionPath(session), signal, again: true });
  }

  /** Says something, and waits for all events of the turn. */
  run(session: SessionRef, message: Message, options: RunOptions = {}): Promise<Event[]> {
    return this.http.json({ method: 'POST', path: '/run', body: runBody(session, message, options), ...starting(options) });
  }

  /**
   * Says something, and hands out the events as they come. A connection that
   * breaks is taken up again: no event is lost, and none comes twice. Of a text
   * whose pieces were cut off the rest may come only in its complete event. At
   * the end it returns the run.
   */
  async *stream(session: SessionRef, message: Message, { pieces = true, ...options }: StreamOptions = {}): AsyncGenerator<Event, Run> {
    const body = { ...runBody(session, message, options), streaming: pieces };
    const request = starting(options);
    const headers = { ...request.headers, Accept: 'text/event-stream' };
    const response = await this.http.send({ method: 'POST', path: '/run_sse', body, ...request, headers }, async (opened) => opened);
    return yield* streamed(this.http, session, response, options.signal);
  }

  /** Says something, and does not wait. The run can be followed. */
  startRun(session: SessionRef, message: Message, { pieces = true, ...options }: StreamOptions = {}): Promise<Run> {
    const { appName: _, userId: __, sessionId: ___, ...body } = runBody(session, message, options);
    return this.http.json({ method: 'POST', path: `${sessionPath(session)}/runs`, body: { ...body, streaming: pieces }, ...starting(options) });
  }

  /** The events of a run to its end, from the first one or from the one after `after`. At the end it returns the run. */
  followRun(session: SessionRef, runId: string, { after, signal }: CallOptions & { after?: string } = {}): AsyncGenerator<Event, Run> {
    const progress = new Progress();
    progress.after = after;
    return follow(this.http, session, runId, progress, signal);
  }

  getRun(session: SessionRef, runId: string, { signal }: CallOptions = {}): Promise<Run> {
    return this.http.json({ method: 'GET', path: sessionPath(session) + path('runs', runId), signal, again: true });
  }

  /** The latest runs of a session, the newest first; at most 100 unless `pageSize` says otherwise. */
  listRuns(session: SessionRef, { pageSize, signal }: CallOptions & { pageSize?: number } = {}): Promise<Run[]> {
    return this.http.json({ method: 'GET', path: `${sessionPath(session)}/runs`, query: { pageSize }, signal, again: true });
  }

  /** Asks for the end of a run. */
  cancelRun(session: SessionRef, runId: string, { signal }: CallOptions = {}): Promise<Run> {
    return this.http.json({ method: 'POST', path: sessionPath(session) + path('runs', runId, 'cancel'), signal, again: true });
  }

  /** The names of the files of a session, and of its user. */
  listArtifacts(session: SessionRef, { signal }: CallOptions = {}): Promise<string[]> {
    return this.http.json({ method: 'GET', path: artifactPath(session), signal, again: true });
  }

  /** Saves the next version of a file. `type` is its content type. */
  saveArtifact(session: SessionRef, name: string, content: string | Blob | ArrayBuffer | Uint8Array<ArrayBuffer>, type: string, { signal }: CallOptions = {}): Promise<ArtifactVersion> {
    return this.http.json({ method: 'PUT', path: artifactPath(session, name), body: content, headers: { 'Content-Type': type }, signal });
  }

  /** A file, in a version or in the latest. */
  getArtifact(session: SessionRef, name: string, { version, signal }: CallOptions & { version?: number } = {}): Promise<Blob> {
    const query = { alt: 'media', version };
    return this.http.send({ method: 'GET', path: artifactPath(session, name), query, signal, again: true }, (response) => response.blob());
  }

  /** The versions of a file, from the first one on. */
  listArtifactVersions(session: SessionRef, name: string, { signal }: CallOptions = {}): Promise<ArtifactVersion[]> {
    return this.http.json({ method: 'GET', path: `${artifactPath(session, name)}/versions/metadata`, signal, again: true });
  }

  async deleteArtifact(session: SessionRef, name: string, { signal }: CallOptions = {}): Promise<void> {
    await this.http.json({ method: 'DELETE', path: artifactPath(session, name), signal, again: true });
  }
}

const artifactPath = (session: SessionRef, ...name: string[]) => sessionPath(session) + path('artifacts', ...name);

function runBody(session: SessionRef, message: Message, { stateDelta, customMetadata, concurrency, onDisconnect }: RunOptions) {
  const parts: MessagePart[] = typeof message === 'string' ? [{ text: message }] : Array.isArray(message) ? message : [message];
  return {
    appName: session.appName,
    userId: session.userId,
    sessionId: session.id,
    newMessage: { role: 'user', parts },
    ...(stateDelta ? { stateDelta } : {}),
    ...(customMetadata ? { customMetadata } : {}),
    ...(concurrency ? { concurrency } : {}),
    ...(onDisconnect ? { onDisconnect } : {}),
  };
}

/** A run may be asked for again: the key keeps it from being started twice. */
const starting = ({ idempotencyKey = newKey(), signal }: RunOptions) => ({
  headers: { 'Idempotency-Key': idempotencyKey } as Record<string, string>,
  signal,
  again: true,
});

// crypto.randomUUID is only there on pages with https.
const newKey = () => Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, '0')).join('');
