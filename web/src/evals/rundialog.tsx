import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';

import { ask } from '../api/client';
import { Dialog } from '../ui/dialog';
import { Action, Button, Field, Loading, Problem } from '../ui/parts';
import { say } from '../ui/toast';
import { evalCalls, type Metric, type MetricInfo, type Progress, type Variant } from './api';
import { metricName } from './parts';
import { progressKey } from './running';

interface Choice {
  on: boolean;
  threshold: string;
}

interface Choices {
  metrics: Record<string, Choice>;
  match: string;
  judge: string;
  samples: string;
  rubrics: string;
  recorded: boolean;
}

const kept = 'parley.metrics';
const standard: Choices = {
  metrics: { tool_trajectory_avg_score: { on: true, threshold: '1' }, response_match_score: { on: true, threshold: '0.8' } },
  match: 'EXACT', judge: '', samples: '3', rubrics: '', recorded: false,
};

function last(): Choices {
  try {
    return { ...standard, ...(JSON.parse(localStorage.getItem(kept) ?? '{}') as Partial<Choices>) };
  } catch {
    return standard;
  }
}

/** The metrics as the server wants them. */
export function metricsOf(all: MetricInfo[], choices: Choices): Metric[] {
  return all.filter((m) => choices.metrics[m.metricName]?.on).map((m) => {
    const threshold = Number(choices.metrics[m.metricName]!.threshold);
    const criterion: NonNullable<Metric['criterion']> = { threshold };
    if (m.metricName === 'tool_trajectory_avg_score' && choices.match !== 'EXACT') criterion['matchType'] = choices.match;
    if (m.judged) criterion['judgeModelOptions'] = { ...(choices.judge.trim() ? { judgeModel: choices.judge.trim() } : {}), numSamples: Number(choices.samples) || 1 };
    const lines = choices.rubrics.split('\n').map((l) => l.trim()).filter(Boolean);
    if (m.metricName.startsWith('rubric_based') && lines.length > 0) criterion['rubrics'] = lines.map((text, i) => ({ rubricId: `rubric_${i + 1}`, rubricContent: { textProperty: text } }));
    return { metricName: m.metricName, threshold, ...(Object.keys(criterion).length > 1 ? { criterion } : {}) };
  });
}

/** Asks what is measured, and runs cases: with variants, with each of them. No ids means all of them. */
export function RunDialog({ app, set, ids, total, variants, onClose }: { app: string; set: string; ids: string[]; total: number; variants?: Variant[]; onClose: (begun?: Progress) => void }) {
  const client = useQueryClient();
  const [choices, setChoices] = useState(last);
  const info = useQuery({ queryKey: ['metrics', app], queryFn: ({ signal }) => ask<{ metricsInfo: MetricInfo[] }>(evalCalls.metrics(app), signal) });
  const all = info.data?.metricsInfo ?? [];
  const set1 = (change: Partial<Choices>) => setChoices({ ...choices, ...change });
  const metrics = metricsOf(all, choices);
  const judged = all.filter((m) => m.judged && choices.metrics[m.metricName]?.on);
  const bad = metrics.some((m) => !(m.threshold >= 0 && m.threshold <= 1));
  const call = evalCalls.run(app, set, ids, metrics, choices.recorded, variants);
  const run = () =>
    void ask<Progress>(call)
      .then((progress) => {
        localStorage.setItem(kept, JSON.stringify(choices));
        client.setQueryData(progressKey(app), progress);
        onClose(progress);
      })
      .catch((error: Error) => say(error.message, 'bad'));
  const count = ids.length || total;
  return (
    <Dialog open onClose={() => onClose()} title={`Run ${count} ${count === 1 ? 'case' : 'cases'} of ${set}${variants ? ` with ${variants.length} ${variants.length === 1 ? 'variant' : 'variants'}` : ''}`} width="max-w-[600px]" note="Every case gets a session of its own. Tools do what they do, unless their recorded results are used.">
      {info.isPending && <Loading what="the metrics" />}
      {info.error && <Problem error={info.error} what="The metrics could not be listed" retry={() => void info.refetch()} />}
      <form onSubmit={(e) => (e.preventDefault(), metrics.length > 0 && !bad && run())} className="space-y-3">
        <ul className="space-y-2">
          {all.map((m) => {
            const choice = choices.metrics[m.metricName] ?? { on: false, threshold: '1' };
            const change = (to: Partial<Choice>) => set1({ metrics: { ...choices.metrics, [m.metricName]: { ...choice, ...to } } });
            return (
              <li key={m.metricName} className="grid grid-cols-[auto_minmax(0,1fr)_auto] items-start gap-x-2">
                <input id={`m-${m.metricName}`} type="checkbox" className="mt-1" checked={choice.on} onChange={(e) => change({ on: e.target.checked })} />
                <label htmlFor={`m-${m.metricName}`} className="min-w-0"><b className="font-semibold">{metricName(m.metricName)}</b> <code className="font-mono text-2xs text-faint [overflow-wrap:anywhere]">{m.metricName}</code><span className="block text-xs text-soft">{m.description}</span></label>
                <input type="number" min="0" max="1" step="any" aria-label={`Threshold of ${metricName(m.metricName)}`} className="field w-20" value={choice.threshold} disabled={!choice.on} onChange={(e) => change({ threshold: e.target.value })} />
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
        {judged.length > 0 && (
          <div className="grid grid-cols-[minmax(0,1fr)_96px] gap-3">
            <Field label="Model that judges" note="Each opinion costs a call of it."><input className="field w-full" placeholder="gemini-2.5-flash" value={choices.judge} onChange={(e) => set1({ judge: e.target.value })} /></Field>
            <Field label="Opinions"><input type="number" min="1" max="20" className="field w-full" value={choices.samples} onChange={(e) => set1({ samples: e.target.value })} /></Field>
          </div>
        )}
        {judged.some((m) => m.metricName.startsWith('rubric_based')) && (
          <Field label="Rubrics, one on each line" note="In addition to those of the cases."><textarea rows={3} className="field w-full" value={choices.rubrics} onChange={(e) => set1({ rubrics: e.target.value })} placeholder="The answer has at most two sentences." /></Field>
        )}
        <label className="flex items-start gap-2"><input type="checkbox" className="mt-1" checked={choices.recorded} onChange={(e) => set1({ recorded: e.target.checked })} /><span>Use the recorded results of tools<span className="block text-xs text-soft">No tool is called. A call that the case has no result for makes it fail.</span></span></label>
        {bad && <p className="text-bad">Thresholds are from 0 to 1.</p>}
        <div className="flex justify-end gap-2">
          <Button onClick={() => onClose()}>Close</Button>
          <Action tone="primary" call={call} disabled={metrics.length === 0 || bad} onClick={run}>Run</Action>
        </div>
      </form>
    </Dialog>
  );
}
