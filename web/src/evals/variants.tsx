import { useQuery } from '@tanstack/react-query';
import { useMemo, useState } from 'react';

import { calls } from '../api/calls';
import { ask } from '../api/client';
import type { AppInfo } from '../api/types';
import { count } from '../log/cost';
import { exactMoment } from '../log/dates';
import { seconds } from '../log/timeline';
import { Link, navigate, setQuery, to, useQuery as useAddressQuery } from '../router';
import { CostText } from '../ui/cost';
import { Name } from '../ui/name';
import { Button, Empty, Field, Loading, Problem, Status } from '../ui/parts';
import { Screen } from '../ui/screen';
import { Scroll } from '../ui/scroll';
import { Table, type Column } from '../ui/table';
import { useVariantForm, variantName } from '../ui/variantform';
import { Virtual } from '../ui/virtual';
import { evalCalls, toEvals, type Outcome, type Set as EvalSet, type Variant } from './api';
import { historyKey } from './history';
import { bestScores, Crumbs, Failed, metricName, number, Passed, ScoreRow, Verdict } from './parts';
import { RunDialog } from './rundialog';
import { RunningNow, useProgress } from './running';
import { setKey } from './set';

/** A set with several models, instructions and temperatures, in a table. */
export default function VariantsScreen({ app, set }: { app: string; set: string }) {
  const of = useAddressQuery().get('of');
  const [asking, setAsking] = useState<Variant[]>();
  const one = useQuery({ queryKey: setKey(app, set), queryFn: ({ signal }) => ask<EvalSet>(evalCalls.set(app, set), signal) });
  const info = useQuery({ queryKey: ['app-info', app], retry: false, queryFn: ({ signal }) => ask<AppInfo>(calls.appInfo(app), signal) });
  const history = useQuery({ queryKey: historyKey(app, set), queryFn: ({ signal }) => ask<Outcome[]>(evalCalls.history(app, set), signal) });
  const now = useProgress(app);
  const busy = now?.status === 'running';
  const known = useMemo(() => [...new Set(Object.values(info.data?.agents ?? {}).flatMap((a) => a.model ?? []))].sort(), [info.data]);
  const agents = useMemo(() => new Map(Object.entries(info.data?.agents ?? {}).flatMap(([name, a]): [string, string][] => (a.model ? [[name, a.instruction ?? '']] : []))), [info.data]);
  const { form, plans, problem } = useVariantForm(known, agents);
  const groups = [...new Map((history.data ?? []).flatMap((o): [string, number][] => (o.variantsId ? [[o.variantsId, o.creationTimestamp]] : [])).reverse())].reverse();
  const live = now?.variantsId && now.evalSetId === set ? now.variantsId : undefined;
  const shown = of ?? live ?? groups[0]?.[0];
  const stored = useQuery({ queryKey: ['eval-variants', app, shown], enabled: shown !== undefined && shown !== live, queryFn: ({ signal }) => ask<Outcome[]>(evalCalls.variants(app, shown!), signal) });
  // In one order, which is not that in which they are over.
  const list = [...(shown !== undefined && shown === live ? now!.variants! : (stored.data ?? []))].sort((a, b) => variantName(a.variant ?? {}).localeCompare(variantName(b.variant ?? {}), 'en', { numeric: true }));
  const variants = plans.map(({ liveModels: _, ...variant }): Variant => variant);
  const empty = one.data && one.data.evalCases.length === 0;
  return (
    <Screen
      wide
      title={<><Crumbs list={[['Evaluation', toEvals.sets(app)], [set, toEvals.set(app, set)]]} />Variants</>}
      note="The cases are run with each model, instruction and temperature, three variants at a time. Each has a result of its own."
      call={shown ? evalCalls.variants(app, shown) : evalCalls.set(app, set)}
    >
      {one.isPending && <Loading what="the set" />}
      {one.error && <Problem error={one.error} what="The evaluation set could not be read" retry={() => void one.refetch()} />}
      {empty && <Empty title="This set has no cases yet" action={<Button onClick={() => navigate(toEvals.set(app, set))}>Show the set</Button>} />}
      {one.data && !empty && (
        <div className="mb-6 space-y-4">
          {form}
          <div className="flex flex-wrap items-center gap-3">
            <Button command tone="primary" icon="runs" disabled={busy || variants.length === 0 || problem !== ''} onClick={() => setAsking(variants)}>{`Try ${variants.length} ${variants.length === 1 ? 'variant' : 'variants'}…`}</Button>
            <span className={problem ? 'text-bad' : 'text-soft'}>{problem || 'Models are called, which uses tokens. The page can be left: the evaluation runs on the server.'}</span>
          </div>
        </div>
      )}
      {live !== undefined && shown === live ? <RunningNow app={app} set={set} table /> : busy && <RunningNow app={app} />}
      {groups.length > (live === groups[0]?.[0] ? 1 : 0) && (
        <div className="mb-3 max-w-[320px]">
          <Field label="variants of"><select className="field w-full" value={shown ?? ''} onChange={(e) => setQuery({ of: e.target.value })}>
            {live && !groups.some(([id]) => id === live) && <option value={live}>now</option>}
            {shown && shown !== live && !groups.some(([id]) => id === shown) && <option value={shown}>earlier</option>}
            {groups.map(([id, time]) => <option key={id} value={id}>{exactMoment(time)}</option>)}
          </select></Field>
        </div>
      )}
      {stored.isLoading && <Loading what="the variants" />}
      {stored.error && <Problem error={stored.error} what="The variants could not be listed" retry={() => void stored.refetch()} />}
      {stored.data?.length === 0 && shown !== live && <Empty title="These variants are not stored any more">Only the latest 100 results of an application are looked at.</Empty>}
      {list.length > 0 && <VariantTable app={app} list={list} />}
      {list.length > 0 && <CaseTable app={app} list={list} />}
      {asking && <RunDialog app={app} set={set} ids={[]} total={one.data?.evalCases.length ?? 0} variants={asking} onClose={(begun) => (setAsking(undefined), begun && setQuery({ of: undefined }))} />}
    </Screen>
  );
}

/** What each variant scored, and what it took. */
function VariantTable({ app, list }: { app: string; list: Outcome[] }) {
  const metrics = [...new Set(list.flatMap((one) => Object.keys(one.scores)))].sort();
  const best = bestScores(list);
  const columns: Column[] = [{ name: 'variant' }, { name: 'cases' }, ...metrics.map((m): Column => ({ name: metricName(m), from: 'sm', end: true })), { name: 'tokens', from: 'md', end: true }, { name: 'cost', from: 'sm', end: true }, { name: 'took', from: 'md', end: true }];
  const cell = 'px-2 py-1.5 font-mono text-xs leading-5 whitespace-nowrap';
  return (
    <>
      <Table columns={columns}>
        {list.map((one, i) => {
          const done = one.passed + one.failed > 0;
          const cost = one.usage && { usd: one.usage.costUsd, unpriced: one.usage.unpricedTokens ?? 0 };
          const costText = !done || !one.usage ? '' : cost!.usd === undefined ? 'unknown' : <CostText cost={cost!} />;
          return (
            <tr key={i} data-variant={i + 1} className="border-t align-top hover:bg-paper">
              <td className="w-full max-w-0 min-w-[130px] px-4 py-1.5">
                <p className="font-mono text-xs font-semibold [overflow-wrap:anywhere]">{variantName(one.variant ?? {})}</p>
                {one.status && one.status !== 'completed' && <Status value={one.status} />}
                {done && <p className="text-xs text-soft sm:hidden"><ScoreRow metrics={metrics} scores={one.scores} /></p>}
                {done && one.usage && <p className="text-xs text-soft md:hidden">{count(one.usage.totalTokens)} tokens, {seconds(one.usage.seconds)}<span className="sm:hidden">, {cost!.usd === undefined ? 'cost unknown' : costText}</span></p>}
              </td>
              <td className={cell}>{done && <><Passed of={one.passed} />{one.failed > 0 && <Failed of={one.failed} className="block" />}</>}</td>
              {metrics.map((m) => {
                const score = number(one.scores[m]);
                return <td key={m} className={`${cell} text-right max-sm:hidden ${one.scores[m] === undefined ? 'text-faint' : 'text-soft'}`}>{!done ? '' : score === best[m] ? <b data-best={m} title="The best score of the variants" className="font-semibold text-ink">{score}<span className="sr-only">, the best</span></b> : score}</td>;
              })}
              <td className={`${cell} text-right text-soft max-md:hidden`}>{done && one.usage ? count(one.usage.totalTokens) : ''}</td>
              <td className={`${cell} text-right text-soft max-sm:hidden`}>{costText}</td>
              <td className={`${cell} text-right text-soft max-md:hidden`}>{done && one.usage ? seconds(one.usage.seconds) : ''}</td>
              <td className="py-1.5 pr-4 pl-2 text-right whitespace-nowrap">{one.evalSetResultId && <Link href={toEvals.result(app, one.evalSetResultId)} aria-label={`Show the result of variant ${i + 1}`} className="text-accent hover:underline">Result</Link>}</td>
            </tr>
          );
        })}
      </Table>
      {Object.keys(best).length > 0 && <p className="mt-1 text-xs text-faint max-sm:hidden">Bold: the best score.</p>}
    </>
  );
}

/** How each case went with each variant. A cell leads to the session of the case, with its trace. */
function CaseTable({ app, list }: { app: string; list: Outcome[] }) {
  const ids = [...new Set(list.flatMap((one) => (one.cases ?? []).map((c) => c.evalId)))];
  if (ids.length === 0) return null;
  return (
    <section className="mt-6">
      <h2 className="mb-2">Cases</h2>
      <Scroll label="Cases with each variant" className="rounded-lg border border-line bg-sheet">
        <table className="w-full border-collapse" aria-rowcount={ids.length + 1}>
          <thead><tr className="label text-left"><th className="px-4 py-1.5 font-normal">case</th>{list.map((one, i) => <th key={i} className="max-w-[180px] min-w-[110px] px-2 py-1.5 font-normal normal-case"><span className="line-clamp-4" title={variantName(one.variant ?? {})}>{variantName(one.variant ?? {})}</span></th>)}</tr></thead>
          <tbody>
            <Virtual as="tr" items={ids} keyOf={(id) => id} height={33} draw={(id, measured) => (
              <tr {...measured} data-case={id} className="border-t hover:bg-paper">
                <th scope="row" className="min-w-[130px] px-4 py-1.5 text-left font-medium [overflow-wrap:anywhere]"><Name of={id} /></th>
                {list.map((one, i) => {
                  const c = one.cases?.find((c) => c.evalId === id);
                  return <td key={i} className="px-2 py-1.5">{c && (one.evalSetResultId ? <Link href={to.session({ app, user: c.userId, session: c.sessionId })} title="Show the session" className="hover:underline"><Verdict status={c.finalEvalStatus} /></Link> : <Verdict status={c.finalEvalStatus} />)}</td>;
                })}
              </tr>
            )} />
          </tbody>
        </table>
      </Scroll>
    </section>
  );
}
