import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';

import { ask } from '../api/client';
import type { Json, JsonObject } from '../api/types';
import { keepMetrics, keptMetrics } from '../kept';
import { count } from '../log/cost';
import { Dialog, Footer } from '../ui/dialog';
import { Name } from '../ui/name';
import { Action, Button, Field, Loading, Problem } from '../ui/parts';
import { say } from '../ui/toast';
import { evalCalls, type Criteria, type Metric, type MetricInfo, type Progress, type Variant } from './api';
import { metricName } from './parts';
import { progressKey } from './running';

interface Choice {
  on: boolean;
  threshold: string;
  /** The model that judges, and how often it is asked; for metrics that are judged. */
  judge?: string;
  samples?: string;
}

export interface Choices {
  metrics: Record<string, Choice>;
  match: string;
  rubrics: string;
  recorded: boolean;
  /** The criteria of the application, of which only what is edited changes. */
  stored?: Stored;
}

interface Stored {
  of: Record<string, JsonObject>;
  metrics: Record<string, Choice>;
  match: string;
  rubrics: string;
}

/** A metric that was not chosen yet. */
const off: Choice = { on: false, threshold: '1', judge: '', samples: '3' };

const standard: Choices = {
  metrics: { tool_trajectory_avg_score: { on: true, threshold: '1' }, response_match_score: { on: true, threshold: '0.8' } },
  match: 'EXACT', rubrics: '', recorded: false,
};

/** What was chosen last. There was one model for all metrics in earlier versions. */
export function choicesKept(kept: unknown): Choices {
  const { judge, samples, ...rest } = (kept ?? {}) as Partial<Choices> & { judge?: string; samples?: string };
  const choices = { ...standard, ...rest };
  if (judge === undefined && samples === undefined) return choices;
  const former = { ...(judge === undefined ? {} : { judge }), ...(samples === undefined ? {} : { samples }) };
  return { ...choices, metrics: Object.fromEntries(Object.entries(choices.metrics).map(([name, choice]) => [name, { ...former, ...choice }])) };
}

const last = (app: string): Choices => choicesKept(keptMetrics()[app]);

const matches = ['EXACT', 'IN_ORDER', 'ANY_ORDER'];

const matchOf = ({ matchType }: JsonObject) => (matchType === undefined ? undefined : typeof matchType === 'number' ? (matches[matchType] ?? 'EXACT') : String(matchType));
const judgeOf = (criterion: JsonObject) => (criterion['judgeModelOptions'] ?? {}) as { judgeModel?: string; numSamples?: number };
const rubricsOf = (criterion: JsonObject) => ((criterion['rubrics'] ?? []) as { rubricContent?: { textProperty?: string } }[]).map((r) => r.rubricContent?.textProperty ?? '');

/** What all of the texts are; empty if they differ. */
const common = (texts: string[]) => (new Set(texts).size === 1 ? texts[0]! : '');

/** What to choose for criteria. */
export function choicesOf(all: MetricInfo[], criteria: Metric[], recorded = false): Choices {
  const of = Object.fromEntries(criteria.map((m) => [m.metricName, m.criterion ?? {}]));
  const judged = new Set(all.filter((m) => m.judged).map((m) => m.metricName));
  const edited = {
    metrics: Object.fromEntries(criteria.map((m): [string, Choice] => {
      const { judgeModel = '', numSamples = '' } = judgeOf(m.criterion ?? {});
      return [m.metricName, { on: true, threshold: String(m.threshold), ...(judged.has(m.metricName) ? { judge: judgeModel, samples: String(numSamples) } : {}) }];
    })),
    match: matchOf(of['tool_trajectory_avg_score'] ?? {}) ?? 'EXACT',
    rubrics: common(Object.entries(of).filter(([name]) => name.startsWith('rubric_based')).map(([, c]) => rubricsOf(c).join('\n'))),
  };
  return { ...edited, recorded, stored: { of, ...edited } };
}

/** The metrics as the server wants them. */
export function metricsOf(all: MetricInfo[], choices: Choices): Metric[] {
  const { stored } = choices;
  return all.filter((m) => choices.metrics[m.metricName]?.on).map((m) => {
    const choice = choices.metrics[m.metricName]!;
    const threshold = Number(choice.threshold);
    const before = stored?.of[m.metricName];
    const kept = stored?.metrics[m.metricName];
    const criterion: NonNullable<Metric['criterion']> = { ...before, threshold };
    /** Whether a choice applies to the metric: it was edited, or nothing is stored. */
    const chosen = (name: 'match' | 'rubrics') => before === undefined || choices[name] !== stored![name];
    if (m.metricName === 'tool_trajectory_avg_score' && chosen('match') && (before || choices.match !== 'EXACT')) criterion['matchType'] = choices.match;
    if (m.judged) {
      const options: { [name: string]: Json | undefined } = { ...judgeOf(criterion) };
      if (choice.judge !== kept?.judge) options['judgeModel'] = choice.judge?.trim() || undefined;
      if (choice.samples !== kept?.samples) options['numSamples'] = Number(choice.samples) || undefined;
      const given = Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined));
      delete criterion['judgeModelOptions'];
      if (Object.keys(given).length > 0) criterion['judgeModelOptions'] = given as JsonObject;
    }
    if (m.metricName.startsWith('rubric_based') && chosen('rubrics')) {
      const lines = choices.rubrics.split('\n').map((l) => l.trim()).filter(Boolean);
      delete criterion['rubrics'];
      if (lines.length > 0) criterion['rubrics'] = lines.map((text, i) => ({ rubricId: `rubric_${i + 1}`, rubricContent: { textProperty: text } }));
    }
    return { metricName: m.metricName, threshold, ...(Object.keys(criterion).length > 1 ? { criterion } : {}) };
  });
}

/** Asks what is measured, and runs cases: with variants, with each of them. No ids means all of them. */
export function RunDialog({ app, set, ids, total, variants, onClose }: { app: string; set: string; ids: string[]; total: number; variants?: Variant[]; onClose: (begun?: Progress) => void }) {
  const client = useQueryClient();
  const [edited, setChoices] = useState<Choices>();
  const [keep, setKeep] = useState(false);
  const info = useQuery({ queryKey: ['metrics', app], queryFn: ({ signal }) => ask<{ metricsInfo: MetricInfo[] }>(evalCalls.metrics(app), signal) });
  const criteria = useQuery({ queryKey: ['criteria', app], retry: false, queryFn: ({ signal }) => ask<Criteria>(evalCalls.criteria(app), signal) });
  const all = info.data?.metricsInfo ?? [];
  const before = last(app);
  const stored = criteria.data?.stored ?? false;
  const choices = edited ?? (stored ? choicesOf(all, criteria.data!.evalMetrics, before.recorded) : before);
  const set1 = (change: Partial<Choices>) => setChoices({ ...choices, ...change });
  const metrics = metricsOf(all, choices);
  const judged = all.filter((m) => m.judged && choices.metrics[m.metricName]?.on);
  const bad = metrics.some((m) => !(m.threshold >= 0 && m.threshold <= 1));
  const call = evalCalls.run(app, set, ids, metrics, choices.recorded, variants);
  const run = () =>
    void (keep ? ask(evalCalls.putCriteria(app, metrics)) : Promise.resolve())
      .then(() => {
        if (keep) void client.invalidateQueries({ queryKey: ['criteria', app] });
        return ask<Progress>(call);
      })
      .then((progress) => {
        // Those of the application are read again.
        keepMetrics({ ...keptMetrics(), [app]: stored ? { ...before, recorded: choices.recorded } : choices });
        client.setQueryData(progressKey(app), progress);
        onClose(progress);
      })
      .catch((error: Error) => say(error.message, 'bad'));
  const cases = ids.length || total;
  return (
    <Dialog open onClose={() => onClose()} title={`Run ${count(cases)} ${cases === 1 ? 'case' : 'cases'} of ${set}${variants ? ` with ${variants.length} ${variants.length === 1 ? 'variant' : 'variants'}` : ''}`} width="max-w-[600px]" note="Every case gets a session of its own. Tools do what they do, unless their recorded results are used.">
      {(info.isPending || criteria.isPending) && <Loading what="the metrics" />}
      {criteria.error && <Problem error={criteria.error} what="The criteria of the application could not be read" retry={() => void criteria.refetch()} />}
      {stored && <p className="mb-2 text-xs text-soft" data-criteria>The criteria are those of <code className="font-mono">test_config.json</code> in the directory of the application, which <code className="font-mono">parley eval</code> uses too.</p>}
      {info.error && <Problem error={info.error} what="The metrics could not be listed" retry={() => void info.refetch()} />}
      {!criteria.isPending && <form noValidate onSubmit={(e) => (e.preventDefault(), run())} className="space-y-3">
        <ul className="space-y-2">
          {all.map((m) => {
            const choice = choices.metrics[m.metricName] ?? off;
            const change = (to: Partial<Choice>) => set1({ metrics: { ...choices.metrics, [m.metricName]: { ...choice, ...to } } });
            return (
              <li key={m.metricName} className="grid grid-cols-[auto_minmax(0,1fr)_auto] items-start gap-x-2">
                <input id={`m-${m.metricName}`} type="checkbox" className="mt-1" checked={choice.on} onChange={(e) => change({ on: e.target.checked })} />
                <label htmlFor={`m-${m.metricName}`} className="min-w-0"><b className="font-semibold">{metricName(m.metricName)}</b> <code className="font-mono text-2xs text-faint [overflow-wrap:anywhere]"><Name of={m.metricName} /></code><span className="block text-xs text-soft">{m.description}</span></label>
                <Field label="Needed score"><input type="number" min="0" max="1" step="any" aria-label={`Needed score of ${metricName(m.metricName)}`} className="field w-24" value={choice.threshold} disabled={!choice.on} onChange={(e) => change({ threshold: e.target.value })} /></Field>
                {m.judged && choice.on && (
                  <div data-judge={m.metricName} className="col-span-2 col-start-2 mt-1 grid grid-cols-[minmax(0,1fr)_96px] items-start gap-2">
                    <Field label={`Model that judges ${metricName(m.metricName)}`} note="Each opinion costs a call of it."><input className="field w-full" spellCheck={false} placeholder="gemini-2.5-flash" value={choice.judge ?? ''} onChange={(e) => change({ judge: e.target.value })} /></Field>
                    <Field label="Opinions"><input type="number" min="1" max="20" placeholder="5" aria-label={`Opinions about ${metricName(m.metricName)}`} className="field w-full" value={choice.samples ?? ''} onChange={(e) => change({ samples: e.target.value })} /></Field>
                  </div>
                )}
              </li>
            );
          })}
        </ul>
        {choices.metrics['tool_trajectory_avg_score']?.on && (
          <Field label="Tool calls match">
            <select className="field w-full" value={choices.match} onChange={(e) => set1({ match: e.target.value })}>
              <option value="EXACT">exactly: the same calls and no others</option>
              <option value="IN_ORDER">in order: others may be between</option>
              <option value="ANY_ORDER">in any order, and others may be between</option>
            </select>
          </Field>
        )}
        {judged.some((m) => m.metricName.startsWith('rubric_based')) && (
          <Field label="Rubrics, one on each line" note="In addition to those of the cases."><textarea rows={3} className="field w-full" value={choices.rubrics} onChange={(e) => set1({ rubrics: e.target.value })} placeholder="The answer has at most two sentences." /></Field>
        )}
        <label className="flex items-start gap-2"><input type="checkbox" className="mt-1" checked={choices.recorded} onChange={(e) => set1({ recorded: e.target.checked })} /><span>Use the recorded results of tools<span className="block text-xs text-soft">Tools are not called; a call that the case has no result for makes it fail. Toolsets are still listed, and code executors and remote agents are called.</span></span></label>
        <label className="flex items-start gap-2"><input type="checkbox" className="mt-1" checked={keep} onChange={(e) => setKeep(e.target.checked)} /><span>Use these metrics from now on<span className="block text-xs text-soft">They are written to <code className="font-mono">test_config.json</code> in the directory of the application: for this screen, and for <code className="font-mono">parley eval</code>.</span></span></label>
        {bad && <p className="text-bad">Needed scores are from 0 to 1.</p>}
        <Footer>
          <Button onClick={() => onClose()}>Cancel</Button>
          <Action tone="primary" type="submit" call={keep ? [evalCalls.putCriteria(app, metrics), call] : call} disabled={metrics.length === 0 || bad}>Run</Action>
        </Footer>
      </form>}
    </Dialog>
  );
}
