import { follow, sessionPath, streamed } from './follow.js';
import { Http, type Options, path, type Request } from './http.js';
import { Progress } from './progress.js';
import type {
  ArtifactVersion, Concurrency, Event, Feedback, FoundEvent, GivenFeedback, ListedSession, Message, MessagePart, OnDisconnect, Run, Session, SessionRef, State,
} from './types.js';

export interface CallOptions {
  signal?: AbortSignal;
}

export interface NewSession extends CallOptions {
  /** The id of the session; the server chooses one by default. */
  id?: string;
  state?: State;
  /** How many seconds after its last change the session expires. */
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

export interface FeedbackFilter extends CallOptions {
  userId?: string;
  rating?: 'up' | 'down';
  hasNote?: boolean;
  /** In seconds since 1970. */
  since?: number;
  before?: number;
  pageSize?: number;
}

export interface SearchOptions extends CallOptions {
  pageSize?: number;
}

export interface RunOptions extends CallOptions {
  /** A change of the state that is stored together with the message. */
  stateDelta?: State;
  /** What the events of the run carry as `customMetadata`. */
  customMetadata?: State;
  /** What happens if a run of the session is active. */
  concurrency?: Concurrency;
  /** What happens to the run when the client disconnects. A stream that reconnects was disconnected for a moment. */
  onDisconnect?: OnDisconnect;
  /** Requests with the same key start one run. Each call has a random one by default. */
  idempotencyKey?: string;
}

export interface FollowOptions extends CallOptions {
  /** Start behind the event with this id. */
  after?: string;
  /** Called when the stream continues on a new connection. */
  onReconnect?: () => void;
}

export interface StreamOptions extends RunOptions {
  /** Whether text is also streamed in pieces: events that are `partial`. On by default. */
  pieces?: boolean;
}

/** A Parley server. */
export class Parley {
  private readonly http: Http;

  constructor(options: Options) {
    this.http = new Http(options);
  }

  /**
   * Sends a request to an endpoint that has no method here, with the token, the
   * headers and the errors of this client.
   */
  request(request: Request): Promise<Response> {
    return this.http.send(request, async (response) => response);
  }

  /** The names of the applications. */
  listApps({ signal }: CallOptions = {}): Promise<string[]> {
    return this.http.json({ method: 'GET', path: '/list-apps', signal, retry: true });
  }

  createSession(appName: string, userId: string, { id, state, ttl, signal }: NewSession = {}): Promise<Session> {
    const body = { ...(id !== undefined ? { sessionId: id } : {}), state: state ?? {} };
    return this.http.json({ method: 'POST', path: path('apps', appName, 'users', userId, 'sessions'), query: { ttl }, body, signal });
  }

  getSession(session: SessionRef, { signal }: CallOptions = {}): Promise<Session> {
    return this.http.json({ method: 'GET', path: sessionPath(session), signal, retry: true });
  }

  /** The sessions of a user, newest first, without their events. Pages are fetched as they are needed. */
  listSessions(appName: string, userId: string, { signal, labels, pageSize = 100, ...filter }: SessionFilter = {}): AsyncGenerator<ListedSession, void> {
    return this.pages({ method: 'GET', path: path('apps', appName, 'users', userId, 'sessions'), query: { ...filter, label: labels, pageSize }, signal });
  }

  /**
   * The events of a user in which all words of a query were said, the latest first. Words in quotes have to follow one
   * another, and the last word may be incomplete. Pages are fetched as they are needed.
   */
  search(appName: string, userId: string, q: string, { signal, pageSize = 20 }: SearchOptions = {}): AsyncGenerator<FoundEvent, void> {
    return this.pages({ method: 'GET', path: path('apps', appName, 'users', userId, 'search'), query: { q, pageSize }, signal });
  }

  /** The items of all pages. */
  private async *pages<T>(request: Request): AsyncGenerator<T, void> {
    for (let pageToken: string | undefined; ; ) {
      const [page, link] = await this.http.send(
        { ...request, query: { ...request.query, pageToken }, retry: true },
        async (response) => [(await response.json()) as T[], response.headers.get('Link')] as const,
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
    await this.http.json({ method: 'DELETE', path: sessionPath(session), signal, retry: true });
  }

  /** Sends a message, and returns all events of the turn when it has ended. */
  run(session: SessionRef, message: Message, options: RunOptions = {}): Promise<Event[]> {
    return this.http.json({ method: 'POST', path: '/run', body: runBody(session, message, options), ...starting(options) });
  }

  /**
   * Sends a message, and yields the events as they arrive. When the connection
   * breaks, it reconnects: no event is lost, and none is yielded twice. The rest
   * of a text that was being streamed may only arrive in its complete event. At
   * the end it returns the run.
   */
  async *stream(session: SessionRef, message: Message, { pieces = true, ...options }: StreamOptions = {}): AsyncGenerator<Event, Run> {
    const body = { ...runBody(session, message, options), streaming: pieces };
    const request = starting(options);
    const headers = { ...request.headers, Accept: 'text/event-stream' };
    const response = await this.http.send({ method: 'POST', path: '/run_sse', body, ...request, headers }, async (opened) => opened);
    return yield* streamed(this.http, session, response, options.signal);
  }

  /** Sends a message, and returns the run without waiting for it. */
  startRun(session: SessionRef, message: Message, { pieces = true, ...options }: StreamOptions = {}): Promise<Run> {
    const { appName: _, userId: __, sessionId: ___, ...body } = runBody(session, message, options);
    return this.http.json({ method: 'POST', path: `${sessionPath(session)}/runs`, body: { ...body, streaming: pieces }, ...starting(options) });
  }

  /** The events of a run to its end, from the first one or from the one behind `after`. At the end it returns the run. */
  followRun(session: SessionRef, runId: string, { after, ...options }: FollowOptions = {}): AsyncGenerator<Event, Run> {
    const progress = new Progress();
    progress.after = after;
    return follow(this.http, session, runId, progress, options);
  }

  getRun(session: SessionRef, runId: string, { signal }: CallOptions = {}): Promise<Run> {
    return this.http.json({ method: 'GET', path: sessionPath(session) + path('runs', runId), signal, retry: true });
  }

  /** The latest runs of a session, newest first; at most 100 by default. */
  listRuns(session: SessionRef, { pageSize, signal }: CallOptions & { pageSize?: number } = {}): Promise<Run[]> {
    return this.http.json({ method: 'GET', path: `${sessionPath(session)}/runs`, query: { pageSize }, signal, retry: true });
  }

  /** Cancels a run. */
  cancelRun(session: SessionRef, runId: string, { signal }: CallOptions = {}): Promise<Run> {
    return this.http.json({ method: 'POST', path: sessionPath(session) + path('runs', runId, 'cancel'), signal, retry: true });
  }

  /** Rates a run, or comments on it, in place of what the author said before. With neither, it removes that. */
  setFeedback(session: SessionRef, runId: string, feedback: Pick<Feedback, 'rating' | 'note'> & { author?: string }, { signal }: CallOptions = {}): Promise<Feedback> {
    return this.http.json({ method: 'POST', path: sessionPath(session) + path('runs', runId, 'feedback'), body: feedback, signal, retry: true });
  }

  /** The feedback to the runs of a session. */
  listFeedback(session: SessionRef, { signal }: CallOptions = {}): Promise<Feedback[]> {
    return this.http.json({ method: 'GET', path: `${sessionPath(session)}/feedback`, signal, retry: true });
  }

  /** The feedback to runs of all sessions of an application that the caller may read, the newest first. Pages are fetched as they are needed. */
  listAllFeedback(appName: string, { signal, hasNote, pageSize = 50, ...filter }: FeedbackFilter = {}): AsyncGenerator<GivenFeedback, void> {
    return this.pages({ method: 'GET', path: path('apps', appName, 'feedback'), query: { ...filter, hasNote: hasNote?.toString(), pageSize }, signal });
  }

  /** The names of the files of a session, and of its user. */
  listArtifacts(session: SessionRef, { signal }: CallOptions = {}): Promise<string[]> {
    return this.http.json({ method: 'GET', path: artifactPath(session), signal, retry: true });
  }

  /** Saves a new version of a file. `type` is its content type. */
  saveArtifact(session: SessionRef, name: string, content: string | Blob | ArrayBuffer | Uint8Array<ArrayBuffer>, type: string, { signal }: CallOptions = {}): Promise<ArtifactVersion> {
    return this.http.json({ method: 'PUT', path: artifactPath(session, name), body: content, headers: { 'Content-Type': type }, signal });
  }

  /** A version of a file, the latest by default. */
  getArtifact(session: SessionRef, name: string, { version, signal }: CallOptions & { version?: number } = {}): Promise<Blob> {
    const query = { alt: 'media', version };
    return this.http.send({ method: 'GET', path: artifactPath(session, name), query, signal, retry: true }, (response) => response.blob());
  }

  /** The versions of a file, oldest first. */
  listArtifactVersions(session: SessionRef, name: string, { signal }: CallOptions = {}): Promise<ArtifactVersion[]> {
    return this.http.json({ method: 'GET', path: `${artifactPath(session, name)}/versions/metadata`, signal, retry: true });
  }

  async deleteArtifact(session: SessionRef, name: string, { signal }: CallOptions = {}): Promise<void> {
    await this.http.json({ method: 'DELETE', path: artifactPath(session, name), signal, retry: true });
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

/** The key makes it safe to retry the start of a run. */
const starting = ({ idempotencyKey = newKey(), signal }: RunOptions) => ({
  headers: { 'Idempotency-Key': idempotencyKey } as Record<string, string>,
  signal,
  retry: true,
});

// crypto.randomUUID exists only on pages with https.
const newKey = () => Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, '0')).join('');
