import { useQuery } from '@tanstack/react-query';

import { ask } from '../api/client';
import { count, sumCosts } from '../log/cost';
import { Link, to, useQuery as useAddressQuery } from '../router';
import { CostText } from '../ui/cost';
import { Fold, useFolds, type Folds } from '../ui/fold';
import { Name } from '../ui/name';
import { Download, Loading, Problem, When } from '../ui/parts';
import { Screen } from '../ui/screen';
import { variantName } from '../ui/variantform';
import { Virtual } from '../ui/virtual';
import { evalCalls, textOfContent, toEvals, toolsOfTurn, type CaseResult, type Invocation, type Result } from './api';
import { Calls, Card, changedExpectation, Crumbs, Failed, metricName, number, Passed, Scores, Verdict, Words } from './parts';

const useResult = (app: string, id: string | null) =>
  useQuery({ queryKey: ['eval-result', app, id], enabled: id !== null, staleTime: Infinity, queryFn: ({ signal }) => ask<Result>(evalCalls.result(app, id!), signal) });

/** A result, alone or beside another one of the same set. */
export default function ResultScreen({ app, id }: { app: string; id: string }) {
  const other = useAddressQuery().get('with');
  const [a, b] = [useResult(app, id), useResult(app, other)];
  const failed = a.error ?? b.error;
  const set = a.data?.evalSetId;
  return (
    <Screen
      wide
      title={<><Crumbs list={[['Evaluation', toEvals.sets(app)], ...(set ? [[set, toEvals.set(app, set)] as [string, string]] : [])]} />{other ? 'Two results' : 'Result'}</>}
      note={a.data && !other && <About result={a.data} />}
      {...(a.data && !other ? { actions: <><Download command="Download the result as JUnit" call={evalCalls.report(app, id, 'junit')}>JUnit</Download><Download command="Download the result as JSON" call={evalCalls.report(app, id, 'json')}>JSON</Download></> } : {})}
      call={other ? [evalCalls.result(app, id), evalCalls.result(app, other)] : evalCalls.result(app, id)}
    >
      {failed && <Problem error={failed} what="The result could not be read" retry={() => (void a.refetch(), void b.refetch())} />}
      {!failed && (a.isPending || (other && b.isPending)) && <Loading what="the result" />}
      {a.data && !other && <Outcomes app={app} list={a.data.evalCaseResults} />}
      {a.data && other && b.data && <Comparison a={a.data} b={b.data} />}
    </Screen>
  );
}

function About({ result }: { result: Result }) {
  const passed = result.evalCaseResults.filter((c) => c.finalEvalStatus === 1).length;
  return (
    <>
      <Passed of={passed} />, <Failed of={result.evalCaseResults.length - passed} />, <When time={result.creationTimestamp} />
      {result.code && <>, with version <code className="font-mono text-xs" title={result.code}>{result.code.slice(0, 8)}</code></>}{result.variant && <>, {variantName(result.variant)}</>}.
      <Judges list={result.evalCaseResults} />
    </>
  );
}

/** What the models that judge have used, which is in no other sum. */
function Judges({ list }: { list: CaseResult[] }) {
  const used = list.flatMap((c) => c.judgeUsage ?? []);
  const tokens = used.reduce((sum, one) => sum + one.totalTokens, 0);
  if (tokens === 0) return null;
  return <span data-judges={tokens} className="block">The models that judge have used {count(tokens)} tokens: <CostText cost={sumCosts(used)} />.</span>;
}

/** The cases of a result. Those that are not seen, and turns that are folded, are not compared. */
function Outcomes({ app, list }: { app: string; list: CaseResult[] }) {
  const folds = useFolds();
  return <Virtual items={list} keyOf={(_, i) => String(i)} height={220} draw={(c, measured) => <div {...measured} className="flow-root"><CaseOutcome app={app} one={c} folds={folds} /></div>} />;
}

function CaseOutcome({ app, one, folds }: { app: string; one: CaseResult; folds: Folds }) {
  return (
    <Card
      title={<span className="flex flex-wrap items-baseline gap-x-3"><Verdict status={one.finalEvalStatus} /><Link href={toEvals.case(app, one.evalSetId, one.evalId)} className="min-w-0 hover:underline [overflow-wrap:anywhere]"><Name of={one.evalId} /></Link></span>}
      aside={<Link href={to.session({ app, user: one.userId, session: one.sessionId })} className="touch text-sm text-accent underline">Show the session</Link>}
    >
      <div data-outcome-of={one.evalId} className="space-y-3">
        {one.errorMessage && <p role="alert" className="text-bad [overflow-wrap:anywhere]"><b className="font-semibold">error:</b> {one.errorMessage}</p>}
        <Scores list={one.overallEvalMetricResults} />
        {one.evalMetricResultPerInvocation.map((turn, i) => (
          <Fold
            key={i} id={JSON.stringify([one.evalId, i])} folds={folds} open={one.finalEvalStatus !== 1} className="border-t pt-2"
            summary={<summary className="cursor-pointer">Turn {i + 1}: <span className="text-soft">{textOfContent(turn.expectedInvocation.userContent).slice(0, 140)}</span></summary>}
          >
            <div className="mt-2 space-y-2">
              <Answer expected={textOfContent(turn.expectedInvocation.finalResponse)} actual={textOfContent(turn.actualInvocation.finalResponse)} />
              <p className="label">tool calls</p>
              <Calls expected={toolsOfTurn(turn.expectedInvocation)} actual={toolsOfTurn(turn.actualInvocation)} />
              {one.evalMetricResultPerInvocation.length > 1 && <Scores list={turn.evalMetricResults} />}
            </div>
          </Fold>
        ))}
      </div>
    </Card>
  );
}

/** The answer of a turn, with how it differs from the expected one. Where there is none, there is nothing to compare. */
function Answer({ expected, actual }: { expected: string; actual: string }) {
  if (expected && !actual) {
    return (
      <>
        <p className="label">no answer, expected:</p>
        <p data-words className="whitespace-pre-wrap [overflow-wrap:anywhere]">{expected}</p>
      </>
    );
  }
  return (
    <>
      <p className="label">answer, <del className="bg-badtint text-bad">expected</del> and <ins className="bg-tint text-accent no-underline">actual</ins></p>
      <Words expected={expected} actual={actual} />
    </>
  );
}

/** What a case expects of a turn, if that has changed: the scores of the two results do not mean the same then. */
function Expectation({ before, after }: { before: Invocation | undefined; after: Invocation | undefined }) {
  const changed = changedExpectation(before, after);
  if (!changed) return null;
  return (
    <div data-expectation className="space-y-2 rounded-md border border-wait/50 bg-waittint/50 px-3 py-2">
      <p className="text-wait">The case has changed: another {changed.answer && changed.calls ? 'answer and other tool calls are' : changed.answer ? 'answer is' : 'list of tool calls is'} expected.</p>
      {changed.answer && <><p className="label">expected answer</p><Words expected={textOfContent(before?.finalResponse)} actual={textOfContent(after?.finalResponse)} names={sides} /></>}
      {changed.calls && <><p className="label">expected tool calls</p><Calls expected={toolsOfTurn(before)} actual={toolsOfTurn(after)} names={sides} /></>}
    </div>
  );
}

const sides: [string, string] = ['before', 'after'];

/** Two results: the scores of each case, and how the answers differ. */
function Comparison({ a, b }: { a: Result; b: Result }) {
  // The older one first.
  const [first, second] = a.creationTimestamp <= b.creationTimestamp ? [a, b] : [b, a];
  const [before, after] = [first, second].map((result) => new Map(result.evalCaseResults.map((c) => [c.evalId, c]))) as [Map<string, CaseResult>, Map<string, CaseResult>];
  const ids = [...after.keys()].filter((id) => before.has(id));
  const alone = [[...before.keys()].filter((id) => !after.has(id)), [...after.keys()].filter((id) => !before.has(id))];
  return (
    <>
      <p className="mb-3 text-soft">Before: <About result={first} /> After: <About result={second} /></p>
      {first.evalSetId !== second.evalSetId && <p className="mb-3 text-wait">The results are of two sets, {first.evalSetId} and {second.evalSetId}.</p>}
      {alone.map((list, i) => list.length > 0 && <p key={i} className="mb-3 text-soft">Only {i === 0 ? 'before' : 'after'}: {list.join(', ')}.</p>)}
      {ids.length === 0 && <p className="text-soft">The results have no case in common.</p>}
      <Virtual items={ids} keyOf={(id) => id} height={220} draw={(id, measured) => {
        const [x, y] = [before.get(id), after.get(id)];
        const metrics = [...new Set([...(x?.overallEvalMetricResults ?? []), ...(y?.overallEvalMetricResults ?? [])].map((s) => s.metricName))];
        const turns = Math.max(x?.evalMetricResultPerInvocation.length ?? 0, y?.evalMetricResultPerInvocation.length ?? 0);
        return (
          <div {...measured} className="flow-root"><Card title={<span className="[overflow-wrap:anywhere]"><Name of={id} /></span>} aside={<span className="flex items-center gap-2"><Verdict status={x!.finalEvalStatus} /> <span aria-hidden="true">→</span> <Verdict status={y!.finalEvalStatus} /></span>}>
            <div data-compared={id} className="space-y-3">
              <ul className="flex flex-wrap gap-x-6">
                {metrics.map((m) => {
                  const [s, t] = [x, y].map((c) => c?.overallEvalMetricResults.find((one) => one.metricName === m)?.score);
                  const tone = s === undefined || t === undefined || s === t ? 'text-soft' : t > s ? 'text-good' : 'text-bad';
                  return <li key={m}><b className="font-semibold [overflow-wrap:anywhere]" title={m}><Name of={metricName(m)} /></b> <span className={`font-mono text-xs ${tone}`}>{number(s)} → {number(t)}</span></li>;
                })}
              </ul>
              {Array.from({ length: turns }, (_, i) => {
                const [was, is] = [x?.evalMetricResultPerInvocation[i], y?.evalMetricResultPerInvocation[i]];
                const [s, t] = [was?.actualInvocation, is?.actualInvocation];
                return (
                  <div key={i} className="space-y-2 border-t pt-2">
                    <p>Turn {i + 1}: <span className="text-soft">{textOfContent((s ?? t)?.userContent).slice(0, 140)}</span></p>
                    <Words expected={textOfContent(s?.finalResponse)} actual={textOfContent(t?.finalResponse)} names={sides} />
                    <Calls expected={toolsOfTurn(s)} actual={toolsOfTurn(t)} names={sides} />
                    <Expectation before={was?.expectedInvocation} after={is?.expectedInvocation} />
                  </div>
                );
              })}
            </div>
          </Card></div>
        );
      }} />
    </>
  );
}
