// The requests of the evaluation screens, and what they answer.
import type { Call } from '../api/calls';
import { sessionPath } from '../api/calls';
import { partsOf, type Event, type Json, type JsonObject, type Key, type Part } from '../api/types';

export interface ToolCall {
  id?: string;
  name: string;
  args?: JsonObject;
}

interface Content {
  role?: string;
  parts?: Part[];
}

export interface Invocation {
  invocationId?: string;
  userContent: Content;
  finalResponse?: Content;
  creationTimestamp?: number;
  intermediateData?: { toolUses?: ToolCall[] } & JsonObject;
}

export interface Case {
  evalId: string;
  conversation?: Invocation[];
  sessionInput?: { appName?: string; userId?: string; state?: JsonObject };
  creationTimestamp?: number;
}

export interface Set {
  evalSetId: string;
  evalCases: Case[];
}

export interface Score {
  metricName: string;
  threshold: number;
  score?: number;
  evalStatus: number;
  details?: { rubricScores?: { rubricId: string; rationale?: string; score?: number }[] };
}

export interface Usage {
  totalTokens: number;
  costUsd?: number;
  unpricedTokens?: number;
  seconds: number;
}

export interface CaseResult {
  evalSetId: string;
  evalId: string;
  finalEvalStatus: number;
  overallEvalMetricResults: Score[];
  evalMetricResultPerInvocation: { actualInvocation: Invocation; expectedInvocation: Invocation; evalMetricResults: Score[] }[];
  sessionId: string;
  userId: string;
  errorMessage?: string;
  /** What the models that judge have used. */
  judgeUsage?: Usage;
}

export interface Result {
  evalSetResultId: string;
  evalSetId: string;
  creationTimestamp: number;
  code?: string;
  variant?: Variant;
  evalCaseResults: CaseResult[];
}

/** What is different for models while a set is run. */
export interface Variant {
  model?: string;
  temperature?: number;
  instructions?: Record<string, string>;
}

export interface Outcome {
  evalSetResultId: string;
  evalSetId: string;
  creationTimestamp: number;
  code?: string;
  passed: number;
  failed: number;
  scores: Record<string, number>;
  usage?: Usage;
  variant?: Variant;
  variantsId?: string;
  cases?: { evalId: string; finalEvalStatus: number; sessionId: string; userId: string }[];
  status?: 'queued' | 'running' | 'completed' | 'cancelled';
}

export interface Progress {
  status: 'none' | 'running' | 'completed' | 'cancelled' | 'failed';
  evalSetId: string;
  startTime: number;
  total: number;
  current?: string;
  cases: { evalId: string; finalEvalStatus: number; why?: string; sessionId?: string; userId?: string }[];
  error?: string;
  evalSetResultId?: string;
  variantsId?: string;
  variants?: Outcome[];
}

export interface MetricInfo {
  metricName: string;
  description: string;
  judged?: boolean;
}

/** What evaluations of an application measure unless they say otherwise. */
export interface Criteria {
  evalMetrics: Metric[];
  /** A file in the directory of the application says so. */
  stored: boolean;
}

export interface Metric {
  metricName: string;
  threshold: number;
  criterion?: JsonObject;
}

export interface Feedback {
  runId: string;
  author: string;
  rating?: 'up' | 'down';
  note?: string;
  timestamp: number;
}

/** Feedback in the list of all sessions. */
export interface GivenFeedback extends Feedback {
  userId: string;
  sessionId: string;
  eventId?: string;
  message?: string;
  answer?: string;
}

export interface FeedbackFilter {
  rating: string;
  hasNote: string;
  userId: string;
}

const enc = encodeURIComponent;
const base = (app: string) => `/dev/apps/${enc(app)}`;
const setPath = (app: string, set: string) => `${base(app)}/eval_sets/${enc(set)}`;

export const evalCalls = {
  sets: (app: string): Call => ({ method: 'GET', path: `${base(app)}/eval_sets` }),
  set: (app: string, set: string): Call => ({ method: 'GET', path: setPath(app, set) }),
  createSet: (app: string, set: string): Call => ({ method: 'POST', path: setPath(app, set) }),
  deleteSet: (app: string, set: string): Call => ({ method: 'DELETE', path: setPath(app, set) }),
  addSession: (app: string, set: string, evalId: string, key: Key, runId?: string): Call => ({
    method: 'POST',
    path: `${setPath(app, set)}/add_session`,
    body: { evalId, userId: key.user, sessionId: key.session, ...(runId ? { runId } : {}) },
  }),
  criteria: (app: string): Call => ({ method: 'GET', path: `${base(app)}/eval_criteria` }),
  putCriteria: (app: string, evalMetrics: Metric[]): Call => ({ method: 'PUT', path: `${base(app)}/eval_criteria`, body: { evalMetrics } }),
  addCase: (app: string, set: string, body: Case): Call => ({ method: 'POST', path: `${setPath(app, set)}/evals`, body }),
  putCase: (app: string, set: string, body: Case): Call => ({ method: 'PUT', path: `${setPath(app, set)}/evals/${enc(body.evalId)}`, body }),
  deleteCase: (app: string, set: string, id: string): Call => ({ method: 'DELETE', path: `${setPath(app, set)}/evals/${enc(id)}` }),
  run: (app: string, set: string, evalIds: string[], evalMetrics: Metric[], recordedTools: boolean, variants?: Variant[]): Call => ({
    method: 'POST',
    path: `${setPath(app, set)}/run_eval`,
    body: { evalIds, evalMetrics, background: true, ...(recordedTools ? { recordedTools } : {}), ...(variants ? { variants } : {}) },
  }),
  progress: (app: string): Call => ({ method: 'GET', path: `${base(app)}/evaluation` }),
  cancel: (app: string): Call => ({ method: 'DELETE', path: `${base(app)}/evaluation` }),
  history: (app: string, set?: string): Call => ({ method: 'GET', path: `${base(app)}/eval_history${set ? `?evalSetId=${enc(set)}` : ''}` }),
  variants: (app: string, id: string): Call => ({ method: 'GET', path: `${base(app)}/eval_history?variantsId=${enc(id)}` }),
  result: (app: string, id: string): Call => ({ method: 'GET', path: `${base(app)}/eval_results/${enc(id)}` }),
  /** A result as "parley eval" writes it. */
  report: (app: string, id: string, format: 'junit' | 'json'): Call => ({ method: 'GET', path: `${base(app)}/eval_results/${enc(id)}?format=${format}` }),
  metrics: (app: string): Call => ({ method: 'GET', path: `${base(app)}/metrics-info` }),
  allFeedback: (app: string, filter: FeedbackFilter): Call => {
    const query = new URLSearchParams(Object.entries(filter).filter(([, value]) => value));
    return { method: 'GET', path: `/apps/${enc(app)}/feedback${query.size > 0 ? `?${query}` : ''}` };
  },
  feedback: (key: Key, run: string, body: { rating?: 'up' | 'down'; note?: string }): Call => ({
    method: 'POST',
    path: `${sessionPath(key)}/runs/${enc(run)}/feedback`,
    body,
  }),
};

/** The addresses of the screens. */
export const toEvals = {
  sets: (app: string) => `/ui/apps/${enc(app)}/evals`,
  set: (app: string, set: string) => `/ui/apps/${enc(app)}/evals/${enc(set)}`,
  case: (app: string, set: string, id: string) => `/ui/apps/${enc(app)}/evals/${enc(set)}/${enc(id)}`,
  newCase: (app: string, set: string) => `/ui/apps/${enc(app)}/newcase/${enc(set)}`,
  variants: (app: string, set: string, of?: string) => `/ui/apps/${enc(app)}/variants/${enc(set)}${of ? `?of=${enc(of)}` : ''}`,
  feedback: (app: string) => `/ui/apps/${enc(app)}/feedback`,
  result: (app: string, id: string, other?: string) => `/ui/apps/${enc(app)}/results/${enc(id)}${other ? `?with=${enc(other)}` : ''}`,
};

export const textOfContent = (content: Content | undefined) => (content?.parts ?? []).map((p) => (p.thought ? '' : (p.text ?? ''))).join('');

export const toolsOfTurn = (turn: Invocation | undefined): ToolCall[] => turn?.intermediateData?.toolUses ?? [];

/** The feedback in an event, if it is one with nothing else. */
export function feedbackIn(event: Event): Feedback | undefined {
  const doc = (event.customMetadata as { feedback?: Json } | undefined)?.feedback as Feedback | undefined;
  return doc?.runId && partsOf(event).length === 0 && event.invocationId.startsWith('p-') ? doc : undefined;
}

/** What holds of the feedback in a log: the latest of each author to each run. */
export function feedbackOf(events: Event[]): Feedback[] {
  const latest = new Map<string, Feedback>();
  for (const event of events) {
    const one = feedbackIn(event);
    if (one) latest.set(JSON.stringify([one.runId, one.author]), one);
  }
  return [...latest.values()].filter((f) => f.rating || f.note);
}

/** Changes the text of a content, and keeps what else is in it. */
export function withText(content: Content | undefined, role: string, text: string): Content {
  const rest = (content?.parts ?? []).filter((p) => p.text === undefined || p.thought);
  return { ...content, role: content?.role ?? role, parts: [...(text ? [{ text }] : []), ...rest] };
}

/** A name for a case, of what a user has said. */
export function caseName(text: string, taken: string[]): string {
  const words = text.toLowerCase().match(/[\p{L}\p{N}]+/gu)?.slice(0, 6).join('_').slice(0, 60) || 'case';
  let name = words;
  for (let n = 2; taken.includes(name); n++) name = `${words}_${n}`;
  return name;
}
