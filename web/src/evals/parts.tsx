// What the evaluation screens share.
import { Fragment, type ReactNode } from 'react';

import { count } from '../log/cost';
import { equal } from '../log/diff';
import { Link } from '../router';
import { DiffText } from '../ui/difftext';
import { Long } from '../ui/more';
import { Name } from '../ui/name';
import { textOfContent, toolsOfTurn, type Invocation, type Score, type ToolCall } from './api';

const statuses: Record<number, [string, string]> = { 1: ['passed', 'text-good'], 2: ['failed', 'text-bad'], 3: ['not evaluated', 'text-wait'] };

export function Verdict({ status }: { status: number }) {
  const [name, tone] = statuses[status] ?? statuses[3]!;
  return (
    <span data-verdict={name} className={`inline-flex items-center gap-1.5 font-mono text-2xs whitespace-nowrap ${tone}`}>
      <span className="size-1.5 rounded-full bg-current" aria-hidden="true" />
      {name}
    </span>
  );
}

/** How many cases have passed. None is not good. */
export const Passed = ({ of }: { of: number }) => <span data-passed={of} className={of > 0 ? 'text-good' : 'text-soft'}>{count(of)} passed</span>;

/** How many cases have failed. */
export const Failed = ({ of, className = '' }: { of: number; className?: string }) => <span data-failed={of} className={`${of > 0 ? 'text-bad' : ''} ${className}`}>{count(of)} failed</span>;

/** A score; none where there is none. With as many digits as the server and the command write in what they say of scores. */
export const number = (value: number | undefined) => (value === undefined ? 'none' : String(Number(value.toPrecision(4))));

/** The best score of each metric as it is shown, where not all have the same. */
export function bestScores(list: { scores: Record<string, number> }[]): Record<string, string> {
  const best: Record<string, string> = {};
  for (const metric of new Set(list.flatMap((one) => Object.keys(one.scores)))) {
    const scores = list.flatMap((one) => one.scores[metric] ?? []);
    if (new Set(scores.map(number)).size > 1) best[metric] = number(Math.max(...scores));
  }
  return best;
}

/** Scores in a row, where there is no room for columns. */
export function ScoreRow({ metrics, scores }: { metrics: string[]; scores: Record<string, number> }) {
  return <span className="[overflow-wrap:anywhere]">{metrics.map((m, i) => <Fragment key={m}>{i > 0 && ', '}<Name of={metricName(m)} /> {number(scores[m])}</Fragment>)}</span>;
}

const short: Record<string, string> = {
  tool_trajectory_avg_score: 'tools', response_match_score: 'words', final_response_match_v2: 'meaning', rubric_based_final_response_quality_v1: 'rubrics',
};

/** A metric in one word. */
export const metricName = (name: string) => short[name] ?? name;

/** Why a case has not passed, with metrics in one word. */
export const whyText = (why: string) => why.replaceAll(/(^|; )(\w+)(?= (is|could not be) )/g, (_, before: string, name: string) => before + metricName(name));

/** The scores of a case or of a turn, each with what explains it. */
export function Scores({ list }: { list: Score[] }) {
  return (
    <ul className="space-y-1">
      {list.map((score) => (
        <li key={score.metricName} data-score={score.metricName} className="grid grid-cols-[auto_minmax(0,1fr)] items-baseline gap-x-3">
          <Verdict status={score.evalStatus} />
          <span className="min-w-0">
            <b className="font-semibold" title={score.metricName}><Name of={metricName(score.metricName)} /></b>{' '}
            <span className="font-mono text-xs">{number(score.score)}</span>, <span className="text-faint">at least {number(score.threshold)} needed</span>
            {score.details?.rubricScores?.map((why, i) => (
              <span key={i} className="block text-soft [overflow-wrap:anywhere]">
                {why.rubricId !== score.metricName && <b className="font-mono text-2xs font-semibold">{why.rubricId} {why.score === undefined ? '' : why.score >= 1 ? 'met ' : 'not met '}</b>}
                {why.rationale}
              </span>
            ))}
          </span>
        </li>
      ))}
    </ul>
  );
}

const both: [string, string] = ['expected', 'actual'];

/** Two texts as one, with what is different. */
export function Words({ expected, actual, names = both }: { expected: string; actual: string; names?: [string, string] }) {
  return <p data-words>{expected || actual ? <DiffText before={expected} after={actual} names={names} /> : <span className="text-faint">nothing</span>}</p>;
}

/** What a case expects of a turn in two results, if it has changed between them. */
export function changedExpectation(before: Invocation | undefined, after: Invocation | undefined): { answer: boolean; calls: boolean } | undefined {
  if (!before || !after) return undefined;
  const [a, b] = [toolsOfTurn(before), toolsOfTurn(after)];
  const changed = { answer: textOfContent(before.finalResponse) !== textOfContent(after.finalResponse), calls: a.length !== b.length || a.some((call, i) => !sameCall(call, b[i])) };
  return changed.answer || changed.calls ? changed : undefined;
}

const sameCall = (a: ToolCall | undefined, b: ToolCall | undefined) => a?.name === b?.name && equal(a?.args ?? {}, b?.args ?? {});

/** Two lists of calls side by side, in their order. */
export function Calls({ expected, actual, names = both }: { expected: ToolCall[]; actual: ToolCall[]; names?: [string, string] }) {
  if (expected.length === 0 && actual.length === 0) return <p className="text-faint">No tool calls.</p>;
  const rows = Array.from({ length: Math.max(expected.length, actual.length) }, (_, i) => i);
  const cell = (call: ToolCall | undefined, same: boolean, tone: string) => (
    <td className={`w-1/2 px-2 py-1 align-top font-mono text-xs [overflow-wrap:anywhere] ${same || !call ? '' : tone}`}>
      {call ? <><b className="font-semibold">{call.name}</b> <span className="text-soft"><Long text={JSON.stringify(call.args ?? {})} most={400} /></span></> : <span className="text-faint">none</span>}
    </td>
  );
  return (
    <table className="w-full table-fixed border-collapse rounded-md border border-line">
      <thead><tr className="label text-left">{names.map((name) => <th key={name} className="px-2 font-normal">{name}</th>)}</tr></thead>
      <tbody>
        {rows.map((i) => {
          const same = sameCall(expected[i], actual[i]);
          return <tr key={i} data-same={same} className="border-t">{cell(expected[i], same, 'bg-badtint')}{cell(actual[i], same, 'bg-tint')}</tr>;
        })}
      </tbody>
    </table>
  );
}

/** Where a screen is. */
export function Crumbs({ list }: { list: [label: string, href: string][] }) {
  return (
    <nav aria-label="Above" className="label mb-2 flex flex-wrap gap-x-1.5">
      {list.map(([label, href], i) => <span key={href} className="flex items-center gap-x-1.5">{i > 0 && <span aria-hidden="true">/</span>}<Link href={href} className="touch hover:underline">{label}</Link></span>)}
    </nav>
  );
}

export function Card({ title, children, aside }: { title: ReactNode; children: ReactNode; aside?: ReactNode }) {
  return (
    <section className="mb-4 rounded-lg border border-line bg-sheet px-4 py-3">
      <div className="mb-2 flex flex-wrap items-center gap-x-3"><h2 className="min-w-0 flex-1">{title}</h2>{aside}</div>
      {children}
    </section>
  );
}
