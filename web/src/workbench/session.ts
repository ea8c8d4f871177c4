import { RunError } from '@parley-run/client';

import { calls, sessionPath, type Call } from '../api/calls';
import { ask, ConnectionError, parley } from '../api/client';
import { connection } from '../api/connection';
import type { Event, JsonObject, Key, Part, Run, Session } from '../api/types';
import { apply, deltaOf } from '../log/history';
import { titledBy } from '../log/labels';
import { addPiece, isLocal, queuedFrom, type Live } from '../log/rows';
import { nodeOf, scopeOf } from '../log/workflow';

export interface Snapshot {
  phase: 'loading' | 'ready' | 'failed';
  error?: Error;
  state: JsonObject;
  updated: number;
  events: Event[];
  /** Text that is being written. */
  live: Live[];
  /** Attempts of nodes that have begun, by the scope of the node. */
  attempts: { [scope: string]: number };
  runs: Run[];
  /** Where the session was forked from. */
  origin?: Session['forkedFrom'];
  /** This session and all that it shares its beginning with, the newest first. */
  family: Session[];
  /** The run that is running or queued, and followed. */
  active?: Run;
  /** A run that was active when the screen opened, or whose stream broke. */
  rejoined?: { run: string; why: 'open' | 'reconnect'; at: number };
  /** Why the last action was refused. */
  refused?: string;
  /** How many messages were sent from here. */
  sent: number;
  /** The server does not answer; the run continues. */
  broken: boolean;
}

/** Runs that were begun here, for a screen that is about to open. */
const begun = new Set<string>();

/** How often a session that nothing runs in is looked at, in milliseconds. */
const lookAgain = 2000;

const over = (run: Run) => run.status !== 'running' && run.status !== 'queued';

/**
 * One session as the workbench sees it: read once, then kept up to date by the
 * streams of its runs.
 */
export class SessionModel {
  private listeners = new Set<() => void>();
  private closed = new AbortController();
  private following: string | undefined;
  private snapshot: Snapshot = { phase: 'loading', state: {}, updated: 0, events: [], live: [], attempts: {}, runs: [], family: [], broken: false, sent: 0 };

  constructor(readonly key: Key) {}

  /** The session of an evaluation, which is a part of a result: it has no runs, and cannot be continued. */
  get evaluated() {
    return this.key.session.startsWith('___eval___session___');
  }

  /** Begins to work; what it returns ends that. */
  open = () => {
    this.closed = new AbortController();
    void this.load('open');
    const unsubscribe = connection.subscribe(() => {
      // What could not be done because the server was away is out of date when it is back.
      this.set({ broken: connection.isLost(), ...(connection.isLost() ? {} : { refused: undefined }) });
      if (!connection.isLost() && !this.following) void this.load('reconnect');
    });
    const onFocus = () => {
      if (!this.following && this.snapshot.phase === 'ready') void this.load('reconnect');
    };
    window.addEventListener('focus', onFocus);
    const watch = setInterval(() => void this.look(), lookAgain);
    return () => {
      clearInterval(watch);
      this.closed.abort();
      this.following = undefined;
      unsubscribe();
      window.removeEventListener('focus', onFocus);
    };
  };

  subscribe = (listener: () => void) => {
    this.listeners.add(listener);
    return () => void this.listeners.delete(listener);
  };

  get = () => this.snapshot;

  private set(change: Partial<Snapshot>) {
    if (this.closed.signal.aborted) return;
    this.snapshot = { ...this.snapshot, ...change };
    for (const listener of this.listeners) listener();
  }

  load = async (why: 'open' | 'reconnect' | 'end') => {
    const signal = this.closed.signal;
    try {
      // In this order: of a run that is over, the session has all events; one that is not is followed.
      const runs = this.evaluated ? [] : await ask<Run[]>(calls.runs(this.key), signal);
      const session = await ask<Session>(calls.session(this.key), signal);
      this.set({
        phase: 'ready', error: undefined, events: this.withQueued(session.events as Event[], runs), state: session.state as JsonObject,
        updated: session.lastUpdateTime, runs, origin: session.forkedFrom, broken: false, ...(this.following ? {} : { live: [], active: undefined }),
      });
      void this.loadFamily(session);
      const next = [...runs].reverse().find((run) => !over(run));
      if (next && !this.following) {
        if (why !== 'end' && !begun.delete(next.id)) this.set({ rejoined: { run: next.id, why, at: session.events.length } });
        void this.follow(next);
      }
    } catch (error) {
      if (signal.aborted) return;
      if (this.snapshot.phase === 'ready' && error instanceof ConnectionError) this.set({ broken: true });
      else this.set({ phase: 'failed', error: error as Error });
    }
  };

  /** The events that the server has, and the messages that wait for their run to begin. */
  private withQueued(events: Event[], runs: Run[]): Event[] {
    const open = new Set(runs.filter((run) => !over(run)).map((run) => run.id));
    for (const event of events) open.delete(event.invocationId);
    return [...events, ...this.snapshot.events.filter((e) => isLocal(e) && open.has(e.invocationId))];
  }

  /** Looks whether another client has sent something, or has changed the state. */
  private async look() {
    const { phase, runs, origin } = this.snapshot;
    if (this.following || this.evaluated || phase !== 'ready' || connection.isLost() || document.visibilityState === 'hidden') return;
    try {
      const [newest] = await ask<Run[]>(calls.runs(this.key, 1), this.closed.signal);
      if (newest && !this.following && !runs.some((run) => run.id === newest.id && run.status === newest.status)) return await this.load('end');
      const family = await ask<Session[]>(calls.branches(this.key, origin?.rootId ?? this.key.session), this.closed.signal);
      const self = family.find((one) => one.id === this.key.session);
      if (self && !this.following && self.lastUpdateTime > this.snapshot.updated) await this.load('end');
      else if (!this.following && family.length !== this.snapshot.family.length) this.set({ family });
    } catch {
      // What is there stays; the next look may work.
    }
  }

  private async loadFamily(session: Session) {
    try {
      this.set({ family: await ask<Session[]>(calls.branches(this.key, session.forkedFrom?.rootId ?? session.id), this.closed.signal) });
    } catch {
      // The conversation can be read without its branches; the next load asks again.
    }
  }

  private ref = () => ({ appName: this.key.app, userId: this.key.user, id: this.key.session });

  private async follow(run: Run) {
    const signal = this.closed.signal;
    this.following = run.id;
    this.set({ active: run, attempts: {} });
    const seen = this.snapshot.events.filter((e) => e.invocationId === run.id && e.author !== 'user').at(-1);
    try {
      const events = parley.followRun(this.ref(), run.id, {
        ...(seen ? { after: seen.id } : {}),
        signal,
        onReconnect: () => this.set({ broken: false, rejoined: { run: run.id, why: 'reconnect', at: this.snapshot.events.length } }),
      });
      let next = await events.next();
      for (; !next.done; next = await events.next()) this.add(next.value);
      const ended = next.value;
      this.set({ active: undefined, live: [], runs: [ended, ...this.snapshot.runs.filter((r) => r.id !== ended.id)] });
    } catch (error) {
      // What a run has failed with is in the list of runs, which is read next.
      this.set({ ...(error instanceof RunError ? {} : { refused: (error as Error).message }), active: undefined, live: [] });
    }
    if (signal.aborted) return;
    this.following = undefined;
    await this.load('end');
  }

  private add(event: Event) {
    const node = nodeOf(event);
    if (event.partial && node?.attemptCount) this.set({ attempts: { ...this.snapshot.attempts, [scopeOf(node)]: node.attemptCount } });
    if (event.partial) {
      if (event.content) this.set({ live: addPiece(this.snapshot.live, event), ...this.begun() });
      return;
    }
    if (this.snapshot.events.some((e) => e.id === event.id)) return;
    const { events } = this.snapshot;
    this.set({
      events: events.toSpliced(queuedFrom(events, event.invocationId), 0, event),
      live: this.snapshot.live.filter((l) => l.author !== event.author),
      state: apply(this.snapshot.state, deltaOf(event)),
      ...this.begun(),
    });
  }

  /** A run that sends events is no longer queued. */
  private begun(): Partial<Snapshot> {
    const active = this.snapshot.active;
    return active?.status === 'queued' ? { active: { ...active, status: 'running' } } : {};
  }

  startCall = (parts: Part[]): Call => calls.startRun(this.key, parts, titledBy(parts, this.snapshot.state, this.snapshot.events));

  /** A message has been sent, and the server has not answered yet. */
  sending = false;

  /** Sends a message. It is false when the server refuses it, and while another message is being sent. */
  send = async (parts: Part[]): Promise<boolean> => {
    if (this.sending) return false;
    this.sending = true;
    this.set({ refused: undefined, rejoined: undefined });
    try {
      const run = await ask<Run>(this.startCall(parts), this.closed.signal);
      const said: Event = {
        id: `local-${run.id}`, invocationId: run.id, author: 'user', timestamp: run.createTime,
        content: { role: 'user', parts: parts as never }, actions: { stateDelta: {}, artifactDelta: {}, requestedAuthConfigs: {} },
      };
      this.set({ events: [...this.snapshot.events, said], runs: [run, ...this.snapshot.runs], sent: this.snapshot.sent + 1 });
      if (!this.following) void this.follow(run);
      return true;
    } catch (error) {
      this.set({ refused: (error as Error).message });
      return false;
    } finally {
      this.sending = false;
    }
  };

  /** Does something to the session, and shows what came of it. */
  act = async <T>(call: Call): Promise<T | undefined> => {
    this.set({ refused: undefined });
    try {
      return await ask<T>(call, this.closed.signal);
    } catch (error) {
      this.set({ refused: (error as Error).message });
      return undefined;
    }
  };

  stop = () => this.snapshot.active && this.act<Run>(calls.cancelRun(this.key, this.snapshot.active.id));

  /** Ends a run that has not begun, and takes its message back. */
  withdraw = async (run: string) => {
    const ended = await this.act<Run>(calls.cancelRun(this.key, run));
    if (ended) this.set({ events: this.snapshot.events.filter((e) => !isLocal(e) || e.invocationId !== run), runs: this.snapshot.runs.map((r) => (r.id === run ? ended : r)) });
  };

  patch = async (delta: JsonObject) => {
    const done = await this.act<Session>(calls.patchState(this.key, delta));
    if (done && !this.following) await this.load('end');
    else if (done) this.set({ state: done.state as JsonObject });
    return done !== undefined;
  };

  /** A name for a branch: that of the session from which all come, and a few letters. */
  private branchId = () => `${(this.snapshot.origin?.rootId ?? this.key.session).slice(0, 200)}-${crypto.randomUUID().slice(0, 6)}`;

  /** What again asks the server for. */
  againCalls = (invocation: string, parts: Part[]): Call[] => {
    const session = this.branchId();
    return [calls.branch(this.key, invocation, session), calls.startRun({ ...this.key, session }, parts)];
  };

  /** Sends a message in place of a run, in a new branch, and returns the branch. This session stays as it is. */
  again = async (invocation: string, parts: Part[]): Promise<Key | undefined> => {
    if (this.sending) return undefined;
    this.sending = true;
    try {
      const branch = { ...this.key, session: this.branchId() };
      if (!(await this.act<Session>(calls.branch(this.key, invocation, branch.session)))) return undefined;
      const run = await this.act<Run>(calls.startRun(branch, parts));
      if (run) begun.add(run.id);
      else void ask(calls.deleteSession(branch)).catch(() => undefined); // nothing was said in it
      return run && branch;
    } finally {
      this.sending = false;
    }
  };

  dismiss = () => this.set({ refused: undefined, rejoined: undefined });

  path = () => sessionPath(this.key);
}
