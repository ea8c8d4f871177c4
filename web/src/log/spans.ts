// What the server has measured: a span each for runs, agents, model calls and
// tools. It keeps the latest ones only of what it worked on itself; others are rebuilt from recordings.
import type { Event, Json, JsonObject, Run } from '../api/types';
import { seconds as duration, timelineOf, type Bar, type Timeline } from './timeline';

export interface Span {
  name: string;
  span_id: string;
  parent_span_id?: string | null;
  /** Nanoseconds since 1970. */
  start_time: number;
  end_time: number;
  attributes?: Record<string, unknown>;
}

const kinds: Record<string, Bar['kind']> = { invoke_agent: 'agent', generate_content: 'model', execute_tool: 'tool' };
const names: Record<string, string> = { agent: 'gen_ai.agent.name', model: 'gen_ai.request.model', tool: 'gen_ai.tool.name' };

const read = (span: Span, name: string) => span.attributes?.[name];
const text = (span: Span, name: string): string => {
  const value = read(span, name);
  return typeof value === 'string' ? value : '';
};
const kindOf = (span: Span) => kinds[text(span, 'gen_ai.operation.name')];
const seconds = (nanoseconds: number) => nanoseconds / 1e9;

/**
 * The timeline of a run: agents, model calls and tools as they were measured,
 * waits from the log. undefined if there is not enough to tell all of it.
 */
export function measured(spans: Span[], all: Event[], run: Run | undefined, id: string): Timeline | undefined {
  const own = spans.filter((s) => text(s, 'gcp.vertex.agent.invocation_id') === id);
  // A run that changed hands has one span on each server. The oldest are forgotten first.
  const attempts = new Set(own.filter((s) => s.name === 'invocation').map((s) => Number(read(s, 'parley.run.attempt') ?? 1)));
  if (attempts.size === 0 || attempts.size < Math.max(...attempts)) return undefined;

  const shown = own.filter(kindOf);
  const byId = new Map(own.map((s) => [s.span_id, s]));
  const parentOf = (span: Span): Span | undefined => {
    const parent = byId.get(span.parent_span_id ?? '');
    return parent && !kindOf(parent) ? parentOf(parent) : parent;
  };
  const children = new Map<Span | undefined, Span[]>();
  for (const span of [...shown].sort((a, b) => a.start_time - b.start_time)) children.set(parentOf(span), [...(children.get(parentOf(span)) ?? []), span]);

  const line = timelineOf(all, run, id);
  const waits = line.bars.filter((b) => b.kind === 'wait');
  const bars: Bar[] = [];
  const eventOf = (span: Span): string => text(span, 'gcp.vertex.agent.event_id') || (children.get(span) ?? []).map(eventOf).find(Boolean) || '';
  const walk = (parent: Span | undefined, depth: number) => {
    for (const span of children.get(parent) ?? []) {
      const kind = kindOf(span)!;
      const event = eventOf(span);
      bars.push({
        key: span.span_id, kind, label: text(span, names[kind]!) || span.name, start: seconds(span.start_time), depth,
        ...(read(span, 'parley.open') ? {} : { end: seconds(span.end_time) }),
        ...(['', 'cancelled'].includes(text(span, 'error.type')) ? {} : { failed: true }),
        ...(event ? { event } : {}),
        ...pace(span),
      });
      walk(span, depth + 1);
      // A wait begins with the event that a step has led to.
      for (const wait of waits.filter((w) => w.event === text(span, 'gcp.vertex.agent.event_id'))) bars.push({ ...wait, depth });
    }
  };
  walk(undefined, 0);
  for (const wait of waits) if (!bars.some((b) => b.key === wait.key)) bars.push(wait);
  const start = Math.min(line.start, ...shown.map((s) => seconds(s.start_time)));
  const end = line.end === undefined ? undefined : Math.max(line.end, ...bars.map((b) => (b.kind === 'wait' ? 0 : (b.end ?? 0))));
  return { start, ...(end === undefined ? {} : { end }), bars };
}

/** When the first piece of an answer came, and how often the call was repeated, as far as it is known. */
function pace(span: Span): { first?: number; retries?: number } {
  const first = read(span, 'parley.model.first_token_seconds');
  const retries = read(span, 'parley.model.retries');
  return {
    ...(typeof first === 'number' ? { first: seconds(span.start_time) + first } : {}),
    ...(typeof retries === 'number' && retries > 0 ? { retries } : {}),
  };
}

/** How a call of a model went, in words. */
export const paceWords = ({ start, first, retries }: { start: number; first?: number; retries?: number }): string[] => [
  ...(first === undefined ? [] : [`first token after ${duration(first - start)}`]),
  ...(retries ? [`${retries} ${retries === 1 ? 'retry' : 'retries'}`] : []),
];

/** A part of a request to a model, and where it comes from. */
export interface Piece {
  path: string;
  value: Json;
  origin: string;
  /** The event that it was made of. */
  event?: string;
  /** The places of a template in it that were filled in, in order. */
  values?: FilledPlace[];
}

/** A part of a text that came from the state, a file, or another node. */
export interface FilledPlace {
  from: number;
  to: number;
  key: string;
  /** Such as "user state". */
  source: string;
  /** As it is in the template. */
  written: string;
}

/** A text in pieces: as it is, and what was filled in. */
export function piecesOf(text: string, values: FilledPlace[]): (string | { text: string; place: FilledPlace })[] {
  const list: (string | { text: string; place: FilledPlace })[] = [];
  let at = 0;
  for (const place of values) {
    if (place.from < at || place.to < place.from || place.to > text.length) return [text]; // it was changed since
    list.push(text.slice(at, place.from), { text: text.slice(place.from, place.to), place });
    at = place.to;
  }
  return [...list, text.slice(at)].filter((one) => one !== '');
}

export interface ModelCall {
  model: string;
  agent: string;
  took: number;
  /** When the first piece came, and how often the call was repeated, in words. */
  pace: string[];
  open: boolean;
  error: string;
  finish: string;
  tokens: { input?: number; output?: number; cached?: number };
  instruction: Piece[];
  contents: Piece[];
  tools: Piece[];
  /** What else was asked for. */
  settings: JsonObject;
  request: JsonObject | undefined;
  response: Json | undefined;
}

/** The call of a model that led to an event. said is what is known of the span beyond the list. */
export function modelCallOf(spans: Span[], event: string, said: Record<string, unknown> = {}): ModelCall | undefined {
  const listed = spans.find((s) => kindOf(s) === 'model' && text(s, 'gcp.vertex.agent.event_id') === event);
  if (!listed) return undefined;
  const span = { ...listed, attributes: { ...listed.attributes, ...said } };
  const request = parse(text(span, 'gcp.vertex.agent.llm_request'));
  const asked = isObject(request) ? request : undefined;
  const config = isObject(asked?.['config']) ? asked['config'] : {};
  const { systemInstruction, tools, ...settings } = config;
  const told = parse(text(span, 'parley.request_origins'));
  const origins = new Map((Array.isArray(told) ? told.filter(isObject) : []).map((o) => [String(o['path']), o]));
  const pieces = (path: string, list: Json | undefined): Piece[] =>
    (list === undefined ? [] : Array.isArray(list) ? list : [list]).map((value, i) => {
      const at = `${path}[${i}]`;
      const from = origins.get(at);
      const made = from?.['event'];
      return { path: at, value, origin: String(from?.['origin'] ?? ''), ...(typeof made === 'string' && made ? { event: made } : {}), ...(Array.isArray(from?.['values']) ? { values: from['values'] as unknown as FilledPlace[] } : {}) };
    });
  const count = (name: string, attribute: string) => {
    const value = read(span, attribute);
    return typeof value === 'number' ? { [name]: value } : {};
  };
  const finish = read(span, 'gen_ai.response.finish_reasons');
  return {
    model: text(span, 'gen_ai.response.model') || text(span, 'gen_ai.request.model'),
    agent: text(span, 'gen_ai.agent.name'),
    took: seconds(span.end_time - span.start_time),
    pace: paceWords({ start: seconds(span.start_time), ...pace(span) }),
    open: Boolean(read(span, 'parley.open')),
    error: text(span, 'parley.error') || text(span, 'error.type'),
    finish: Array.isArray(finish) ? finish.join(', ') : '',
    tokens: { ...count('input', 'gen_ai.usage.input_tokens'), ...count('output', 'gen_ai.usage.output_tokens'), ...count('cached', 'gen_ai.usage.cache_read.input_tokens') },
    instruction: pieces('config.systemInstruction', systemInstruction),
    contents: pieces('contents', asked?.['contents']),
    tools: pieces('config.tools', tools),
    settings,
    request: asked,
    response: parse(text(span, 'gcp.vertex.agent.llm_response')),
  };
}

const isObject = (value: Json | undefined): value is JsonObject => typeof value === 'object' && value !== null && !Array.isArray(value);

function parse(doc: string): Json | undefined {
  try {
    return doc ? (JSON.parse(doc) as Json) : undefined;
  } catch {
    return undefined;
  }
}
