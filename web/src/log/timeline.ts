// Bars of what a run did when, from the times of its events: a model call lasts
// from the event before it to its answer, a tool from its call to its response.
import { partsOf, type Event, type Run } from '../api/types';
import { isRequest } from './pending';

export interface Bar {
  key: string;
  kind: 'agent' | 'model' | 'tool' | 'wait';
  label: string;
  start: number;
  /** Not there while it continues. */
  end?: number;
  depth: number;
  failed?: boolean;
  /** When the first piece of a model's answer came. */
  first?: number;
  /** How often the call of a model was repeated. */
  retries?: number;
  /** The event that the bar ends with, or began with while it continues. */
  event?: string;
}

export interface Timeline {
  start: number;
  end?: number;
  bars: Bar[];
}

/** The error code of the event with which a run ends that could not finish. */
export const abortedCode = 'INVOCATION_ABORTED';

/** The events are those of the run, or of the whole session. */
export function timelineOf(all: Event[], run: Run | undefined, id: string): Timeline {
  const events = all.filter((e) => e.invocationId === id);
  const over = !run || (run.status !== 'running' && run.status !== 'queued');
  const start = run?.createTime ?? events[0]?.timestamp ?? 0;
  const last = events.at(-1)?.timestamp ?? start;
  const end = over ? Math.max(run?.endTime ?? last, last) : undefined;

  const bars: Bar[] = [];
  const agents = new Map<string, Bar>();
  const tools = new Map<string, Bar>();
  let since = start; // when the model that answers next was asked
  for (const event of events) {
    if (event.author === 'user' && !partsOf(event).some((p) => p.functionResponse)) {
      since = Math.max(since, event.timestamp);
      continue;
    }
    const name = event.branch || event.author;
    let agent = agents.get(name);
    if (!agent && event.author !== 'user') {
      agent = { key: `agent-${name}`, kind: 'agent', label: event.author, start: since, depth: depthOf(event), event: event.id };
      agents.set(name, agent);
      bars.push(agent);
    }
    const depth = (agent?.depth ?? 0) + 1;
    const parts = partsOf(event);
    const answers = parts.filter((p) => p.functionResponse);
    const calls = parts.filter((p) => p.functionCall && !isRequest(p.functionCall.name));
    const waits = parts.filter((p) => p.functionCall && isRequest(p.functionCall.name));
    if (answers.length === 0 && waits.length === 0 && event.author !== 'user') {
      bars.push({
        key: `model-${event.id}`, kind: 'model', label: 'model', start: Math.min(since, event.timestamp), end: event.timestamp, depth,
        event: event.id, ...(event.errorCode && !(run?.status === 'cancelled' && event.errorCode === abortedCode) ? { failed: true } : {}),
      });
    }
    for (const { functionCall: call } of calls) {
      const long = (event.longRunningToolIds ?? []).includes(call!.id ?? '');
      const bar: Bar = { key: `tool-${call!.id}`, kind: long ? 'wait' : 'tool', label: call!.name ?? '', start: event.timestamp, depth, event: event.id };
      tools.set(call!.id ?? '', bar);
      bars.push(bar);
    }
    for (const { functionCall: call } of waits) {
      bars.push({ key: `wait-${call!.id}`, kind: 'wait', label: waitLabel(call!.name), start: event.timestamp, depth, event: event.id });
      tools.set(call!.id ?? '', bars.at(-1)!);
    }
    for (const { functionResponse: response } of answers) {
      const bar = tools.get(response!.id ?? '');
      if (bar && bar.kind === 'tool') {
        bar.end = event.timestamp;
        bar.event = event.id;
        if (response!.response?.['status'] === 'error' || response!.response?.['error']) bar.failed = true;
      }
    }
    since = event.timestamp;
    if (agent) agent.end = event.timestamp;
  }
  // A wait ends with an answer that another run has brought.
  for (const event of all) {
    for (const part of partsOf(event)) {
      const bar = event.author === 'user' ? tools.get(part.functionResponse?.id ?? '') : undefined;
      if (bar?.kind === 'wait') bar.end = event.timestamp;
    }
  }
  if (end === undefined) {
    for (const agent of agents.values()) delete agent.end;
    const open = bars.some((b) => b.kind === 'tool' && b.end === undefined);
    if (!open) bars.push({ key: 'model-now', kind: 'model', label: 'model', start: since, depth: 1 });
  } else {
    for (const bar of bars) if (bar.end === undefined && bar.kind !== 'wait') bar.end = end;
    if (run?.status === 'failed' || run?.status === 'cancelled') {
      bars.push({ key: 'end', kind: 'model', label: run.status, start: Math.min(since, end), end, depth: 1, failed: run.status === 'failed' });
    }
  }
  return { start, ...(end !== undefined ? { end } : {}), bars };
}

const depthOf = (event: Event) => (event.branch ? event.branch.split('.').length - 1 : 0);

function waitLabel(name: string | undefined) {
  if (name?.endsWith('_request_credential')) return 'login';
  return name === 'adk_request_confirmation' ? 'confirmation' : 'input';
}

export function seconds(s: number): string {
  if (s < 0.001) return '<1 ms';
  if (s < 1) return `${Math.round(s * 1000)} ms`;
  if (s < 60) return `${s.toFixed(s < 10 ? 2 : 1)} s`;
  const minutes = Math.floor(s / 60);
  return minutes < 60 ? `${minutes} m ${Math.round(s % 60)} s` : `${Math.floor(minutes / 60)} h ${minutes % 60} m`;
}
