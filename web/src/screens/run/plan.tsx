import type { AppInfo, RecordedStep, Recording, ReplayPlan } from '../../api/types';
import { isLive, resultOf, type Choice, type Mode } from '../../log/replaying';
import { seconds } from '../../log/timeline';
import { Fold, useFolds } from '../../ui/fold';
import { Icon } from '../../ui/icons';
import { JsonView } from '../../ui/json';
import { Author, Field } from '../../ui/parts';
import { Virtual } from '../../ui/virtual';

export const modeNames: Record<Mode, [string, string]> = {
  exact: ['Exact', 'Does today’s code still do the same? Nothing is called.'],
  model: ['Another model', 'Models are called; tools answer as they did.'],
  instruction: ['Another instruction', 'One agent gets another text; models are asked.'],
  result: ['Another tool result', 'A tool answers something else; models are asked from there on.'],
  live: ['Live from a step on', 'As it was until a call; models are asked from there on.'],
  calls: ['Chosen calls', 'These are made again; the others answer as they did.'],
};

type Effects = Map<string, string>;

/** The tools of an application, with what their calls do outside. */
export function effectsOf(info: AppInfo | undefined): Effects {
  const found: Effects = new Map();
  for (const agent of Object.values(info?.agents ?? {})) {
    for (const { functionDeclarations } of agent.tools) for (const one of functionDeclarations) found.set(one.name, one.effect ?? 'once');
  }
  return found;
}

export const modelsOf = (info: AppInfo | undefined, recording: Recording | undefined): string[] =>
  [...new Set([...Object.values(info?.agents ?? {}).flatMap((a) => a.model ?? []), ...(recording?.steps ?? []).filter((s) => s.kind === 'model').map((s) => s.name)])].filter(Boolean).sort();

const meanings: Record<string, string> = {
  pure: 'only reads or computes', idempotent: 'recognizes a repetition', once: 'must not run twice', ask: 'must not run twice: a person has to determine what it did',
};

/** What a call of a tool does outside, in words. */
export function Effect({ of }: { of: string | undefined }) {
  const effect = of ?? 'once';
  const safe = effect === 'pure' || effect === 'idempotent';
  return <span title={meanings[effect]} className={`rounded-sm px-1.5 font-mono text-2xs leading-5 ${safe ? 'bg-tint text-accent' : 'bg-waittint text-wait'}`}>{effect}</span>;
}

/** The tools that a plan may call, before it does. */
export function ToolWarning({ recording, plan, effects }: { recording: Recording; plan: ReplayPlan | undefined; effects: Effects }) {
  const called = [...new Set(recording.steps.filter((s, i) => s.kind === 'tool' && plan && isLive(plan, s, i + 1)).map((s) => s.name))];
  const others = plan?.liveTools ? [...effects.keys()].filter((name) => !called.includes(name)) : [];
  const list = (names: string[]) => (
    <ul className="my-1 space-y-0.5">{names.map((name) => <li key={name} className="flex flex-wrap items-baseline gap-x-2"><b className="font-mono text-xs">{name}</b><Effect of={effects.get(name)} /><span className="text-soft">{meanings[effects.get(name) ?? 'once']}</span></li>)}</ul>
  );
  return (
    <div className="space-y-2">
      {called.length > 0 && <div><p>These tools are called again:</p>{list(called)}</div>}
      {others.length > 0 && <details><summary className="text-soft">Models may also call {others.length} {others.length === 1 ? 'other tool' : 'other tools'}</summary>{list(others)}</details>}
    </div>
  );
}

interface Props {
  choice: Choice;
  set: (change: Partial<Choice>) => void;
  recording: Recording;
  instructions: Map<string, string>;
  models: string[];
}

/** The fields of a choice. */
export function PlanFields({ choice, set, recording, instructions, models }: Props) {
  const { mode } = choice;
  const model = (
    <div className="grid gap-3 sm:grid-cols-[minmax(0,1fr)_180px]">
      <Field label={mode === 'model' ? 'model' : 'model (optional)'}>
        <input className="field w-full font-mono" list="models" value={choice.model} placeholder={mode === 'model' ? 'gemini-2.5-pro' : 'as it is'} onChange={(e) => set({ model: e.target.value })} />
      </Field>
      <Field label="temperature (optional)"><input className="field w-full font-mono" inputMode="decimal" placeholder="as it is" value={choice.temperature} onChange={(e) => set({ temperature: e.target.value })} /></Field>
      <datalist id="models">{models.map((m) => <option key={m} value={m} />)}</datalist>
    </div>
  );
  switch (mode) {
    case 'exact': return null;
    case 'model': return model;
    case 'instruction':
      return (
        <div className="space-y-3">
          <Field label="agent">
            <select className="field w-full" value={choice.agent} onChange={(e) => set({ agent: e.target.value, instruction: instructions.get(e.target.value) ?? '' })}>
              {[...instructions.keys()].map((name) => <option key={name}>{name}</option>)}
            </select>
          </Field>
          <Field label="instruction" note="The model gets it as a whole, in place of what the agent would say."><textarea rows={6} className="field w-full" value={choice.instruction} onChange={(e) => set({ instruction: e.target.value })} /></Field>
          {model}
        </div>
      );
    case 'result': {
      const step = recording.steps[choice.step - 1];
      if (!recording.steps.some((s) => s.kind === 'tool')) return <p className="text-soft">The run has called no tool.</p>;
      return step ? (
        <Field label={`result of call ${choice.step}, ${step.name}`} note="JSON, as the tool would return it."><textarea rows={6} spellCheck={false} className="field w-full font-mono text-xs" value={choice.result} onChange={(e) => set({ result: e.target.value })} /></Field>
      ) : <p className="text-soft">Choose a call of a tool below.</p>;
    }
    case 'calls':
      return (
        <div className="space-y-3">
          {choice.calls.length === 0 && <p className="text-soft">Choose the calls below. The answer of a model that is asked again may lead to calls that were not recorded, which end the replay.</p>}
          {choice.calls.some((n) => recording.steps[n - 1]?.kind === 'model') && model}
        </div>
      );
    case 'live':
      return <div className="space-y-3">{!choice.step && <p className="text-soft">Choose the call below from which on models are asked.</p>}{model}</div>;
  }
}

/** The calls of the run, and how each is answered. Where one has to be chosen, that is done here. */
export function CallList({ recording, plan, choice, set, effects }: { recording: Recording; plan: ReplayPlan | undefined; choice: Choice; set: (change: Partial<Choice>) => void; effects: Effects }) {
  const folds = useFolds();
  const choosing = (step: RecordedStep) => (choice.mode === 'result' && step.kind === 'tool') || choice.mode === 'live';
  return (
    <ol className="overflow-hidden rounded-lg border bg-sheet" aria-label="Calls of the run" data-calls>
      <Virtual as="li" items={recording.steps} keyOf={(_, i) => String(i)} height={33} draw={(step, measured) => {
        const i = measured['data-index'];
        const live = plan ? isLive(plan, step, i + 1) : false;
        const replaced = plan?.results?.[i + 1] !== undefined;
        const repeats = live && step.kind === 'tool' && effects.get(step.name) !== 'pure';
        return (
          <li {...measured} className="border-t border-t-line data-[index=0]:border-t-0" data-answer={replaced ? 'replaced' : live ? 'live' : 'recorded'}>
            <div className="flex items-center">
              {choosing(step) && (
                <label className="flex h-full items-center pl-3">
                  <input type="radio" name="step" checked={choice.step === i + 1} onChange={() => set({ step: i + 1, ...(choice.mode === 'result' ? { result: JSON.stringify(resultOf(step), null, 2) } : {}) })} className="size-4 accent-(--accent)" />
                  <span className="sr-only">Call {i + 1}, {step.name || step.kind}</span>
                </label>
              )}
              {choice.mode === 'result' && step.kind !== 'tool' && <span aria-hidden="true" className="w-7 shrink-0" />}
              {choice.mode === 'calls' && (
                <label className="flex h-full items-center pl-3">
                  <input type="checkbox" checked={choice.calls.includes(i + 1)} onChange={(e) => set({ calls: e.target.checked ? [...choice.calls, i + 1].sort((a, b) => a - b) : choice.calls.filter((n) => n !== i + 1) })} className="size-4 accent-(--accent)" />
                  <span className="sr-only">Make call {i + 1} again, {step.name || step.kind}</span>
                </label>
              )}
              <Fold id={String(i)} folds={folds} className="group min-w-0 flex-1" summary={(
                <summary className="flex flex-wrap items-baseline gap-x-3 px-3 py-1.5 hover:bg-paper max-md:py-2.5">
                  <span aria-hidden="true" className="translate-y-0.5 text-faint group-open:rotate-90"><Icon name="right" size={11} /></span>
                  <span className="font-mono text-2xs text-faint">{i + 1}</span>
                  <Author name={step.agent ?? ''} />
                  <span className="label">{step.kind}</span>
                  <b className="min-w-0 truncate font-mono text-xs font-semibold">{step.name || 'model'}</b>
                  {step.kind === 'tool' && <Effect of={effects.get(step.name)} />}
                  {repeats && <span data-repeats className="text-2xs font-semibold text-bad">repeats its effect</span>}
                  <span className="ml-auto flex items-baseline gap-3 max-sm:ml-0 max-sm:basis-full max-sm:flex-row-reverse max-sm:justify-end max-sm:pl-[23px]">
                    {step.ms > 0 && <span className="font-mono text-2xs text-faint">{seconds(step.ms / 1000)}</span>}
                    <span className={`min-w-[12ch] font-mono text-2xs ${replaced ? 'text-accent' : live ? 'font-semibold text-wait' : 'text-faint'}`}>{replaced ? 'your result' : live ? (step.kind === 'tool' ? 'called again' : 'asked again') : recording.fromLog ? 'from the log' : 'recorded'}</span>
                  </span>
                </summary>
              )}>
                <div className="space-y-2 border-t bg-paper px-4 py-3">
                  {step.args !== undefined && <div><p className="label">arguments</p><JsonView value={step.args} label="the arguments" /></div>}
                  {step.request !== undefined && <div><p className="label">request</p><JsonView value={step.request} label="the request" /></div>}
                  {step.error && <p className="text-bad">{step.error}</p>}
                  {step.output !== undefined && <div><p className="label">{step.kind === 'tool' ? 'result' : 'answer'}</p><JsonView value={step.kind === 'tool' ? resultOf(step) : step.output} label="the answer" /></div>}
                </div>
              </Fold>
            </div>
          </li>
        );
      }} />
    </ol>
  );
}
