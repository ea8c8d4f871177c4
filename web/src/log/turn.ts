// A run as a list of steps that can be read in a moment, and put beside those of
// other runs.
import { partsOf, type Event, type Json, type JsonObject, type Key, type Run, type Session } from '../api/types';
import { costOf as costOfCall, sumCosts, type Cost, type Prices } from './cost';
import { equal } from './diff';
import { deltaOf } from './history';
import { metadataKey, titleOf } from './labels';
import { isRequest } from './pending';
import { paceWords } from './spans';
import { timelineOf, type Timeline } from './timeline';
import { commonOf } from './words';

export type StepKind = 'message' | 'thought' | 'text' | 'call' | 'file' | 'code' | 'transfer' | 'error';

export interface Step {
  kind: StepKind;
  author: string;
  event: Event;
  /** Of a call, the tool. */
  name: string;
  /** What was said, or the reason of an error. */
  text: string;
  /** Of a call. */
  id?: string;
  args?: Json;
  result?: Json;
  /** The event with the result. */
  answered?: Event;
  failed?: boolean;
}

export interface Tokens {
  input: number;
  output: number;
  total: number;
}

export interface Turn {
  key: Key;
  run: string;
  /** What the session is called. */
  title: string;
  /** The run that it repeats, if it is a replay. */
  replayOf?: string;
  events: Event[];
  steps: Step[];
  status: string;
  /** The last thing that was said. */
  answer: string;
  models: string[];
  modelCalls: number;
  toolCalls: number;
  tokens: Tokens;
  cost: Cost;
  /** In seconds. */
  took: number;
  /** What the run has changed in the state; null is a key that it has deleted. */
  state: JsonObject;
}

/** The run after an event of a session, or the first one. */
export function runAfter(events: Event[], event: string): string | undefined {
  return events[event ? events.findIndex((e) => e.id === event) + 1 : 0]?.invocationId;
}

export function turnOf(key: Key, session: Session, runs: Run[], run: string, prices?: Prices): Turn {
  const all = session.events as Event[];
  const events = all.filter((e) => e.invocationId === run);
  const record = runs.find((r) => r.id === run);
  const said = events.filter(isModelEvent);
  const steps = stepsOf(events);
  const line = timelineOf(all, record, run);
  const answer = steps.findLast((s) => s.kind === 'text' || s.kind === 'error')?.text ?? '';
  let state: JsonObject = {};
  for (const event of events) state = { ...state, ...deltaOf(event) };
  const { [metadataKey]: _, ...changed } = state;
  return {
    key, run, title: titleOf(session), events, steps, answer, models: [...new Set(said.flatMap((e) => e.modelVersion ?? []))],
    ...(session.forkedFrom?.replayOf === run ? { replayOf: run } : {}),
    status: record?.status ?? statusOf(events), modelCalls: said.length, toolCalls: steps.filter((s) => s.kind === 'call').length,
    tokens: tokensOf(events), cost: costOf(record, events, prices), took: (line.end ?? line.start) - line.start, state: changed,
  };
}

const isModelEvent = (e: Event) => e.author !== 'user' && !partsOf(e).some((p) => p.functionResponse || isRequest(p.functionCall?.name)) && (partsOf(e).length > 0 || Boolean(e.errorCode));

/** What a replay has ended with: the server keeps no record of its run. */
function statusOf(events: Event[]): string {
  const last = events.at(-1);
  if (!last) return '';
  if (last.errorCode) return 'failed';
  return (last.longRunningToolIds ?? []).length > 0 ? 'waiting' : 'completed';
}

export function tokensOf(events: Event[]): Tokens {
  const sum = { input: 0, output: 0, total: 0 };
  for (const { usageMetadata: u } of events) {
    sum.input += u?.promptTokenCount ?? 0;
    sum.output += (u?.candidatesTokenCount ?? 0) + (u?.thoughtsTokenCount ?? 0);
    sum.total += u?.totalTokenCount ?? 0;
  }
  return sum;
}

/**
 * What a run has cost: as the server has stored it, or with the prices of now if it has not, which
 * is so for runs in progress and for replays.
 */
export function costOf(run: Run | undefined, events: Event[], prices: Prices | undefined): Cost {
  if (run?.costUsd !== undefined || run?.unpricedTokens !== undefined) return sumCosts([run]);
  return sumCosts(events.map((e) => countedOf(e, prices)));
}

const countedOf = (e: Event, prices: Prices | undefined) => {
  if (!e.usageMetadata?.totalTokenCount) return {};
  const { usd, unpriced } = costOfCall(prices, e.modelVersion, e.usageMetadata);
  return { ...(usd === undefined ? {} : { costUsd: usd }), unpricedTokens: unpriced };
};

/** The steps of the events of a run. The result of a call belongs to the call. */
export function stepsOf(events: Event[]): Step[] {
  const steps: Step[] = [];
  for (const event of events) {
    const { author } = event;
    const add = (kind: StepKind, more: Partial<Step> = {}) => steps.push({ kind, author, event, name: '', text: '', ...more });
    for (const part of partsOf(event)) {
      const call = part.functionCall;
      const answer = part.functionResponse;
      if (call) add('call', { name: call.name ?? '', id: call.id ?? '', args: call.args ?? {} });
      else if (answer) {
        const asked = steps.findLast((s) => s.kind === 'call' && s.id === answer.id);
        const failed = answer.response?.['status'] === 'error' || answer.response?.['error'] !== undefined;
        if (asked) Object.assign(asked, { result: answer.response ?? null, answered: event, ...(failed ? { failed } : {}) });
        else add('message', { name: answer.name ?? '', result: answer.response ?? null });
      } else if (part.text !== undefined) {
        const kind = part.thought ? 'thought' : author === 'user' ? 'message' : 'text';
        const last = steps.at(-1);
        if (last?.event === event && last.kind === kind) last.text += /\s$/.test(last.text) || /^\s/.test(part.text) ? part.text : `\n${part.text}`; // the conversation shows each on a line of its own
        else if (part.text) add(kind, { text: part.text });
      } else if (part.executableCode) add('code', { name: part.executableCode.language ?? '', text: part.executableCode.code ?? '' });
      else if (part.codeExecutionResult) add('code', { name: part.codeExecutionResult.outcome ?? '', text: part.codeExecutionResult.output ?? '' });
      else if (part.inlineData) add('file', { text: part.inlineData.displayName ?? part.inlineData.mimeType ?? 'a file' });
      else if (part.fileData) add('file', { text: part.fileData.displayName ?? part.fileData.fileUri ?? 'a file' });
    }
    const to = (event.actions as { transferToAgent?: string } | undefined)?.transferToAgent;
    if (to) add('transfer', { name: to });
    if (event.errorCode) add('error', { name: event.errorCode, text: event.errorMessage ?? '', failed: true });
  }
  return steps;
}

const hidden = (step: Step) => step.kind === 'call' && isRequest(step.name);

/** Steps of several runs side by side. */
export interface Aligned {
  /** One for each run; undefined where a run has no such step. */
  steps: (Step | undefined)[];
  /** Whether they differ from those of the first run. */
  differs: boolean;
}

export function align(turns: { steps: Step[] }[]): Aligned[] {
  let rows: (Step | undefined)[][] = (turns[0]?.steps ?? []).map((s) => [s]);
  for (const [n, turn] of turns.entries()) {
    if (n === 0) continue;
    const merged: (Step | undefined)[][] = [];
    const blank = (): undefined[] => Array.from({ length: n }, () => undefined);
    let i = 0;
    let j = 0;
    for (const [x, y] of commonOf(rows, turn.steps, (row, step) => row.some((other) => other && alike(other, step)))) {
      while (i < x) merged.push([...rows[i++]!, undefined]);
      while (j < y) merged.push([...blank(), turn.steps[j++]!]);
      merged.push([...rows[i++]!, turn.steps[j++]!]);
    }
    while (i < rows.length) merged.push([...rows[i++]!, undefined]);
    while (j < turn.steps.length) merged.push([...blank(), turn.steps[j++]!]);
    rows = merged;
  }
  return rows.map((steps) => ({ steps, differs: steps.some((s) => !same(steps[0], s)) }));
}

/** Whether two steps are of one kind, so that they are compared. */
const alike = (a: Step, b: Step) => a.kind === b.kind && a.author === b.author && (a.kind !== 'call' || a.name === b.name);

const same = (a: Step | undefined, b: Step | undefined): boolean =>
  a === b || (a !== undefined && b !== undefined && a.text === b.text && a.name === b.name && equal(a.args, b.args) && equal(a.result, b.result));

/** The keys of the state that any of the runs has changed, and their values. */
export function statesOf(turns: Turn[]): { name: string; values: (Json | undefined)[]; differs: boolean }[] {
  const names = [...new Set(turns.flatMap((t) => Object.keys(t.state)))].sort();
  return names.map((name) => {
    const values = turns.map((t) => t.state[name]);
    return { name, values, differs: values.some((v) => !equal(v, values[0])) };
  });
}

/** JSON with the members of objects in order, so that texts can be compared. */
export function sortedJson(value: Json | undefined): string {
  const sorted = (v: Json): Json => (Array.isArray(v) ? v.map(sorted) : typeof v === 'object' && v !== null ? Object.fromEntries(Object.keys(v).sort().map((k) => [k, sorted(v[k]!)])) : v);
  return value === undefined ? '' : JSON.stringify(sorted(value), null, 2);
}

/** A line of a turn in short. */
export interface Line {
  key: string;
  step: Step;
  /** In seconds, and where it is known. */
  took?: number;
  tokens: number;
  /** With the prices of now. */
  cost: Cost;
  /** How the call of the model went, in words. */
  pace: string[];
}

/** Which steps are lines of their own: all but questions to the user, which are shown as what they are about. */
export function linesOfTurn(events: Event[], timeline: Timeline, prices?: Prices): Line[] {
  const counted = new Set<Event>();
  return stepsOf(events).filter((s) => !hidden(s)).map((step, i) => {
    const first = !counted.has(step.event);
    counted.add(step.event);
    const { bars } = timeline;
    const bar = step.kind === 'call'
      ? bars.find((b) => b.kind !== 'agent' && b.kind !== 'model' && (b.key === `tool-${step.id}` || (b.event === step.answered?.id && b.label === step.name)))
      : bars.find((b) => b.kind === 'model' && b.event === step.event.id);
    const took = bar?.end === undefined ? undefined : bar.end - bar.start;
    const cost = sumCosts(first ? [countedOf(step.event, prices)] : []);
    return { key: `${step.event.id}-${i}`, step, tokens: first ? (step.event.usageMetadata?.totalTokenCount ?? 0) : 0, cost, ...(took === undefined ? {} : { took }), pace: bar ? paceWords(bar) : [] };
  });
}

