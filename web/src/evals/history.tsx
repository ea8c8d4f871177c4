import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';

import { ask } from '../api/client';
import { exactMoment } from '../log/dates';
import { Link, navigate } from '../router';
import { Name } from '../ui/name';
import { Button, Loading, Problem, When } from '../ui/parts';
import { Table, type Column } from '../ui/table';
import { Virtual } from '../ui/virtual';
import { evalCalls, toEvals, type Outcome } from './api';
import { Failed, metricName, number, Passed, ScoreRow } from './parts';
import { variantName } from '../ui/variantform';

export const historyKey = (app: string, set?: string) => ['eval-history', app, set ?? ''];

/** The latest results: how the scores have changed, and with which version of the code. */
export function History({ app, set }: { app: string; set?: string }) {
  const [chosen, setChosen] = useState<string[]>([]);
  const history = useQuery({ queryKey: historyKey(app, set), queryFn: ({ signal }) => ask<Outcome[]>(evalCalls.history(app, set), signal) });
  if (history.isPending) return <Loading what="the results" />;
  if (history.error) return <Problem error={history.error} what="The results could not be listed" retry={() => void history.refetch()} />;
  const list = history.data;
  if (list.length === 0) return <p className="text-soft">There are no results yet. They are kept in <code className="font-mono text-xs">.adk/eval_history</code> of the application.</p>;
  const metrics = [...new Set(list.flatMap((one) => Object.keys(one.scores)))].sort();
  const columns: Column[] = [{ name: 'compare' }, { name: 'result' }, ...(set ? [] : [{ name: 'set' }]), { name: 'version', from: 'sm' }, ...metrics.map((m): Column => ({ name: metricName(m), from: 'sm', end: true }))];
  const toggle = (id: string) => setChosen(chosen.includes(id) ? chosen.filter((c) => c !== id) : [...chosen, id].slice(-2));
  return (
    <>
      <Trend list={list.filter((one) => !isVariant(one))} metrics={metrics} variants={list.filter(isVariant).length} />
      <div className="mb-2 flex items-center gap-2">
        <Button command disabled={chosen.length !== 2} onClick={() => navigate(toEvals.result(app, chosen[0]!, chosen[1]))}>Compare two results</Button>
        {chosen.length !== 2 && <span className="text-xs text-faint">Choose two.</span>}
      </div>
      <Table columns={columns} rows={list.length}>
        <Virtual as="tr" items={list} keyOf={(one) => one.evalSetResultId} height={33} draw={(one, measured) => (
          <tr {...measured} data-result={one.evalSetResultId} className="border-t hover:bg-paper">
            <td className="px-4 py-1.5"><label className="block max-md:-m-3 max-md:p-3"><input type="checkbox" className="mt-0.5 block" checked={chosen.includes(one.evalSetResultId)} onChange={() => toggle(one.evalSetResultId)} aria-label={`Compare the result of ${exactMoment(one.creationTimestamp)}`} /></label></td>
            <td className="w-full px-2 py-1.5 whitespace-nowrap">
              <Link href={toEvals.result(app, one.evalSetResultId)} className="font-medium hover:underline">
                <Passed of={one.passed} />{one.failed > 0 && <>, <Failed of={one.failed} /></>}
              </Link>{' '}
              <When time={one.creationTimestamp} />
              {metrics.length > 0 && <span className="block text-xs whitespace-normal text-soft sm:hidden"><ScoreRow metrics={metrics} scores={one.scores} /></span>}
              {one.variantsId && <Link href={toEvals.variants(app, one.evalSetId, one.variantsId)} className="block max-w-[260px] truncate font-mono text-2xs leading-5 text-soft hover:underline max-sm:max-w-[200px]">{variantName(one.variant ?? {})}</Link>}
            </td>
            {!set && <td className="px-2 py-1.5">{one.evalSetId}</td>}
            <td className="px-2 py-1.5 font-mono text-xs text-soft max-sm:hidden" title={one.code}>{one.code ? one.code.slice(0, 8) : 'unknown'}</td>
            {metrics.map((m) => <td key={m} data-score={m} className={`px-2 py-1.5 text-right font-mono text-xs max-sm:hidden ${one.scores[m] === undefined ? 'text-faint' : ''}`}>{number(one.scores[m])}</td>)}
            <td className="pr-2" />
          </tr>
        )} />
      </Table>
    </>
  );
}

/** Whether a result is of something else than the agents as they are. */
const isVariant = (one: Outcome) => variantName(one.variant ?? {}) !== variantName({});

/** The most results that the lines have. */
const mostShown = 40;

/** The scores over time, oldest first, of the agents as they are. A line shows where the code has changed. */
function Trend({ list, metrics, variants }: { list: Outcome[]; metrics: string[]; variants: number }) {
  const shown = [...list].reverse().slice(-mostShown);
  if (shown.length < 2 || metrics.length === 0) return null;
  const [width, height, pad] = [640, 96, 6];
  const x = (i: number) => pad + (i * (width - 2 * pad)) / (shown.length - 1);
  const y = (score: number) => pad + (1 - score) * (height - 2 * pad);
  const changed = (i: number) => i > 0 && shown[i]!.code !== shown[i - 1]!.code;
  const strokes = ['var(--accent)', 'var(--busy)', 'var(--wait)', 'var(--bad)'];
  return (
    <figure className="mb-3 overflow-hidden rounded-lg border border-line bg-sheet p-3">
      <div className="flex gap-2">
        <span aria-hidden="true" className="flex h-24 flex-col justify-between text-right font-mono text-2xs leading-3 text-faint">{[1, 0.5, 0].map((s) => <span key={s}>{s}</span>)}</span>
        <svg role="img" aria-label={`Scores of the latest ${shown.length} results. ${metrics.map((m) => `${metricName(m)}: ${number(shown.at(-1)!.scores[m])} now`).join(', ')}.`} viewBox={`0 0 ${width} ${height}`} className="h-24 min-w-0 flex-1" preserveAspectRatio="none">
          {[0, 0.5, 1].map((s) => <line key={s} x1={0} x2={width} y1={y(s)} y2={y(s)} stroke="var(--line)" strokeWidth="1" vectorEffect="non-scaling-stroke" />)}
          {shown.map((one, i) => changed(i) && <line key={one.evalSetResultId} x1={(x(i) + x(i - 1)) / 2} x2={(x(i) + x(i - 1)) / 2} y1={0} y2={height} stroke="var(--rule)" strokeDasharray="3 3" vectorEffect="non-scaling-stroke" />)}
          {metrics.map((m, n) => {
            const points = shown.flatMap((one, i) => (one.scores[m] === undefined ? [] : [`${x(i)},${y(one.scores[m]!)}`]));
            return <polyline key={m} points={points.join(' ')} fill="none" stroke={strokes[n % strokes.length]} strokeWidth="2" vectorEffect="non-scaling-stroke" />;
          })}
        </svg>
      </div>
      <figcaption className="mt-1 flex flex-wrap gap-x-4 text-xs text-soft">
        {metrics.map((m, n) => <span key={m} className="inline-flex items-center gap-1.5"><span className="h-0.5 w-4" style={{ background: strokes[n % strokes.length] }} aria-hidden="true" /><span className="min-w-0 [overflow-wrap:anywhere]"><Name of={metricName(m)} /></span></span>)}
        {list.length > shown.length && <span className="text-faint">These are the latest {shown.length} results.</span>}
        {variants > 0 && <span data-left-out={variants} className="text-faint">{variants === 1 ? '1 result of a variant is' : `${variants} results of variants are`} only in the list, not in the lines.</span>}
        {shown.some((_, i) => changed(i)) && <span className="text-faint">A dashed line: the code of the agent has changed.</span>}
      </figcaption>
    </figure>
  );
}
