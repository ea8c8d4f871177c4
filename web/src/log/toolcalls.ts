// A call of one tool by itself: what the server offers, and what came of a call.
import { partsOf, type Event, type Json, type JsonObject } from '../api/types';
import { isAsking } from './pending';

export interface OfferedTool {
  name: string;
  description?: string;
  parameters?: JsonObject;
  effect: 'pure' | 'idempotent' | 'once' | 'ask';
  longRunning?: boolean;
  needsLogin?: boolean;
  asksFirst?: boolean;
  toolset?: string;
}

export interface AgentTools {
  agent: string;
  tools: OfferedTool[];
  problems?: string[];
}

export interface Outcome {
  /** The result, when it is there. */
  response?: JsonObject;
  failed: boolean;
  /** In seconds, from the call to the result. Waits count. */
  took?: number;
  state: JsonObject;
  artifacts: [name: string, version: number][];
  /** Why the run has failed. */
  error?: string;
}

/** What an effect means for a person who is about to call the tool. */
export const effects: Record<OfferedTool['effect'], { name: string; note: string; safe: boolean }> = {
  pure: { name: 'only reads', note: 'A call changes nothing outside of the session.', safe: true },
  idempotent: { name: 'changes something', note: 'A call takes effect. If the server dies in the middle, the call is repeated, and the tool recognizes that.', safe: false },
  once: { name: 'changes something, at most once', note: 'The server never repeats a call.', safe: false },
  ask: { name: 'changes something, at most once', note: 'A call takes effect. If the server dies in the middle, a person is asked for the outcome.', safe: false },
};

/** What became of the last call of a tool in a session. */
export function outcomeOf(events: Event[]): Outcome {
  const from = events.findLastIndex((e) => Boolean((e.actions as JsonObject | undefined)?.['skipSummarization']) && partsOf(e).some((p) => p.functionCall));
  const call = from < 0 ? undefined : partsOf(events[from]!).find((p) => p.functionCall)?.functionCall;
  const out: Outcome = { failed: false, state: {}, artifacts: [] };
  const saved = new Map<string, number>();
  for (const event of from < 0 ? [] : events.slice(from)) {
    const { stateDelta, artifactDelta } = (event.actions ?? {}) as { stateDelta?: JsonObject; artifactDelta?: Record<string, number> };
    Object.assign(out.state, stateDelta);
    for (const [name, version] of Object.entries(artifactDelta ?? {})) saved.set(name, version);
    if (event.errorMessage || event.errorCode) out.error = event.errorMessage || event.errorCode!;
    for (const part of partsOf(event)) {
      const answer = part.functionResponse;
      if (!answer || answer.id !== call?.id || isAsking(event, answer)) continue;
      out.response = answer.response ?? {};
      out.took = event.timestamp - events[from]!.timestamp;
    }
  }
  out.artifacts = [...saved];
  out.failed = isFailure(out.response);
  return out;
}

const isFailure = (response: JsonObject | undefined) => response !== undefined && (response['status'] === 'error' || (typeof response['error'] === 'string' && Object.keys(response).length === 1));

/** The result as a person wants to see it: a single value without the object around it. */
export function resultOf(response: JsonObject): Json {
  const names = Object.keys(response);
  return names.length === 1 && names[0] === 'result' ? response['result']! : response;
}

/** The tools that have a text in their names or descriptions. */
export function matching(agents: AgentTools[], text: string): AgentTools[] {
  const wanted = text.trim().toLowerCase();
  if (!wanted) return agents;
  return agents
    .map((a) => ({ ...a, tools: a.tools.filter((t) => `${t.name} ${t.description ?? ''} ${a.agent}`.toLowerCase().includes(wanted)) }))
    .filter((a) => a.tools.length > 0);
}
