import { useState } from 'react';

import type { ReplayPlan } from '../api/types';
import { variantsOf } from '../log/replaying';
import { setQuery, useQuery } from '../router';
import { Button, Field } from './parts';

/** How many variants can be tried at once. */
const most = 24;

const lines = (text: string) => [...new Set(text.split(/[\n,]/).map((s) => s.trim()).filter(Boolean))];

/** Asks for models, instructions and temperatures. Models and temperatures are in the address. agents are those that have instructions, with them. */
export function useVariantForm(known: string[], agents: Map<string, string>) {
  const query = useQuery();
  const [picked, setPicked] = useState('');
  const [texts, setTexts] = useState<string[]>([]);
  const agent = agents.has(picked) ? picked : ([...agents.keys()][0] ?? '');
  const models = query.get('models') ?? '';
  const temperatures = query.get('temperatures') ?? '';
  const others = known.filter((m) => !lines(models).includes(m));
  let plans: ReplayPlan[] = [];
  let problem = '';
  try {
    const own = texts.some((t) => t.trim()) ? ['', ...texts.filter((t) => t.trim())] : []; // beside that of the agent
    plans = variantsOf(lines(models), own, lines(temperatures), agent);
    if (plans.length > most) problem = `These are ${plans.length} variants; at most ${most} can be tried at once.`;
  } catch (error) {
    problem = (error as Error).message;
  }
  const form = (
    <div className="grid gap-4 md:grid-cols-2">
      <Field label="models, one per line" note={others.length > 0 ? <span className="flex flex-wrap gap-1">{others.map((m) => <button key={m} type="button" onClick={() => setQuery({ models: [...lines(models), m].join('\n') })} className="touch rounded-sm bg-tint px-1.5 font-mono text-2xs leading-5 text-accent hover:underline">+ {m}</button>)}</span> : undefined}>
        <textarea rows={4} spellCheck={false} placeholder="as they are" className="field w-full font-mono text-xs" value={models} onChange={(e) => setQuery({ models: e.target.value })} />
      </Field>
      <div className="space-y-3">
        <Field label="temperatures, separated by commas"><input className="field w-full font-mono text-xs" placeholder="as they are, or 0, 0.7" value={temperatures} onChange={(e) => setQuery({ temperatures: e.target.value })} /></Field>
        <fieldset>
          <legend className="label mb-0.5">instructions other than the agent’s</legend>
          {agents.size > 1 && <select aria-label="Agent" className="field mb-2 w-full" value={agent} onChange={(e) => setPicked(e.target.value)}>{[...agents.keys()].map((name) => <option key={name}>{name}</option>)}</select>}
          {texts.map((text, i) => (
            <div key={i} className="mb-2 flex gap-1">
              <textarea rows={2} aria-label={`Instruction ${i + 1} for ${agent}`} className="field w-full" value={text} onChange={(e) => setTexts(texts.with(i, e.target.value))} />
              <Button tone="quiet" icon="close" bare onClick={() => setTexts(texts.toSpliced(i, 1))}>{`Remove instruction ${i + 1}`}</Button>
            </div>
          ))}
          <Button icon="plus" onClick={() => setTexts([...texts, agents.get(agent) ?? ''])}>Add an instruction</Button>
        </fieldset>
      </div>
    </div>
  );
  return { form, plans, problem };
}

/** What is different in a variant. */
export function variantName(plan: Pick<ReplayPlan, 'model' | 'temperature' | 'instructions'>): string {
  const text = Object.values(plan.instructions ?? {})[0];
  return [plan.model, plan.temperature === undefined ? '' : `temperature ${plan.temperature}`, text ? `“${text.slice(0, 60)}${text.length > 60 ? '…' : ''}”` : ''].filter(Boolean).join(' · ') || 'as it is now';
}
