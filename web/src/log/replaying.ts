// What a replay of a run is asked for, and how it went.
import { partsOf, type Event, type Json, type Recording, type RecordedStep, type ReplayPlan, type ReplayReport } from '../api/types';
import { moment } from './dates';

export const modes = ['exact', 'model', 'instruction', 'result', 'live', 'calls'] as const;
export type Mode = (typeof modes)[number];

/** What a user has chosen. */
export interface Choice {
  mode: Mode;
  model: string;
  temperature: string;
  agent: string;
  instruction: string;
  /** The number of the call whose result is replaced, or from which on models are called. */
  step: number;
  result: string;
  liveTools: boolean;
  /** The numbers of the calls that are made, where they are chosen one by one. */
  calls: number[];
}

/** The plan for a choice. It throws an Error that says what is missing. */
export function planOf(choice: Choice, steps: RecordedStep[] = []): ReplayPlan {
  const { mode, model, agent, instruction, step, result } = choice;
  if (mode === 'exact') return {};
  const temperature = temperatureOf(choice.temperature);
  const asked = { ...(model.trim() ? { model: model.trim() } : {}), ...(temperature === undefined ? {} : { temperature }) };
  if (mode === 'calls') {
    if (choice.calls.length === 0) throw new Error('Choose the calls that are made again.');
    return { live: choice.calls, ...(choice.calls.some((n) => steps[n - 1]?.kind === 'model') ? asked : {}) };
  }
  const plan: ReplayPlan = choice.liveTools ? { liveTools: true } : {};
  if (mode === 'result') {
    if (!step) throw new Error('Choose the call whose result is to be another one.');
    return { ...plan, results: { [step]: parse(result) } };
  }
  if (mode === 'model' && !model.trim()) throw new Error('Name the model that is to be asked.');
  if (mode === 'instruction' && !agent) throw new Error('Choose the agent that gets the instruction.');
  if (mode === 'live' && !step) throw new Error('Choose the call from which on models are asked.');
  return {
    ...plan,
    ...(mode === 'live' ? { from: step } : { liveModels: true }),
    ...asked,
    ...(mode === 'instruction' ? { instructions: { [agent]: instruction } } : {}),
  };
}

export function temperatureOf(text: string): number | undefined {
  if (!text.trim()) return undefined;
  const value = Number(text);
  if (!Number.isFinite(value) || value < 0) throw new Error(`“${text}” is not a temperature: it is a number such as 0.7.`);
  return value;
}

function parse(text: string): Json {
  try {
    return JSON.parse(text) as Json;
  } catch (error) {
    throw new Error(`The result is not JSON: ${(error as Error).message}`);
  }
}

/** Whether a plan makes a call of the recording, and does not answer it with what was recorded. */
export function isLive(plan: ReplayPlan, step: RecordedStep, number: number): boolean {
  if (plan.live?.includes(number)) return true;
  const replaced = Object.keys(plan.results ?? {}).map(Number);
  const on = ((plan.from ?? 0) > 0 && number >= plan.from!) || replaced.some((n) => number > n);
  if (step.kind === 'model') return Boolean(plan.liveModels) || on;
  if (replaced.includes(number)) return false;
  return Boolean(plan.liveTools) && (on || (!plan.from && (Boolean(plan.liveModels) || replaced.length === 0)));
}

/** Whether a plan may call a tool. */
export const callsTools = (plan: ReplayPlan, steps: RecordedStep[]): boolean => Boolean(plan.liveTools) || (plan.live ?? []).some((n) => steps[n - 1]?.kind === 'tool');

/** The result of a recorded call of a tool, as it is edited. */
export function resultOf(step: RecordedStep): Json {
  const output = step.output as Event | undefined;
  const found = output ? partsOf(output).find((p) => p.functionResponse)?.functionResponse?.response : undefined;
  return (found ?? {}) as Json;
}

/** The instructions that agents had, from what was recorded. */
export function instructionsOf(recording: Recording): Map<string, string> {
  const found = new Map<string, string>();
  for (const step of recording.steps) {
    if (step.kind !== 'model' || !step.agent || found.has(step.agent)) continue;
    found.set(step.agent, (step.request as { instruction?: string } | undefined)?.instruction ?? '');
  }
  return found;
}

type Call = ReplayReport['calls'][number];
type Compared = ReplayReport['events'][number];

/** A step of a replay: calls, and the event that they have led to. */
export interface ReplayStep {
  calls: Call[];
  event?: Compared;
  differs: boolean;
}

/** The steps of a replay, in order. events are those of both runs. */
export function replaySteps(report: ReplayReport, events: Event[]): ReplayStep[] {
  const byId = new Map(events.map((e) => [e.id, e]));
  const left = [...report.calls];
  const take = (kind: string, event: Compared, count: number): Call[] => {
    const taken: Call[] = [];
    while (taken.length < count) {
      const at = left.findIndex((c) => c.kind === kind && (c.agent ?? '') === event.author && (c.branch ?? '') === (event.branch ?? ''));
      if (at < 0) break;
      taken.push(...left.splice(at, 1));
    }
    return taken;
  };
  const steps = report.events.map((event): ReplayStep => {
    const one = byId.get(event.now ?? '');
    const results = one ? partsOf(one).filter((p) => p.functionResponse).length : 0;
    const calls = !one || one.author === 'user' ? [] : results > 0 ? take('tool', event, results) : take('model', event, 1);
    return { calls, event, differs: differs(event) || calls.some(callDiffers) };
  });
  // What was called last may have led to nothing.
  return [...steps, ...left.map((call): ReplayStep => ({ calls: [call], differs: callDiffers(call) }))];
}

const differs = (of: { differences?: unknown[] }) => (of.differences?.length ?? 0) > 0;
const callDiffers = (call: Call) => differs(call) || Boolean(call.missing) || Boolean(call.replaced);

/** Variants of a run: each model with each instruction and each temperature. An empty text is what the agent has. */
export function variantsOf(models: string[], instructions: string[], temperatures: string[], agent: string): ReplayPlan[] {
  const or = (list: string[]) => (list.length > 0 ? list : ['']);
  return or(models).flatMap((model) =>
    or(instructions).flatMap((instruction) =>
      or(temperatures).map((text): ReplayPlan => {
        const temperature = temperatureOf(text);
        return { liveModels: true, ...(model ? { model } : {}), ...(instruction ? { instructions: { [agent]: instruction } } : {}), ...(temperature === undefined ? {} : { temperature }) };
      }),
    ),
  );
}

/** What a replay is called among others of its run. The server keeps no plan of it: what tells it from them is when it was made. */
export const replayName = (time: number, number?: number) => `Replay${number === undefined ? '' : ` ${number}`}, ${moment(time)}`;
