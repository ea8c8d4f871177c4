import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useEffect, useRef } from 'react';

import { ask } from '../api/client';
import { count } from '../log/cost';
import { Link, to } from '../router';
import { Name } from '../ui/name';
import { Action, Status } from '../ui/parts';
import { say } from '../ui/toast';
import { evalCalls, toEvals, type Progress } from './api';
import { Verdict, whyText } from './parts';

/** How many of the cases that did not pass are listed while an evaluation runs. */
const mostFailed = 20;

export const progressKey = (app: string) => ['evaluation', app];

/** The latest evaluation of this server, while it is of interest. */
export function useProgress(app: string) {
  const progress = useQuery({
    queryKey: progressKey(app),
    queryFn: ({ signal }) => ask<Progress>(evalCalls.progress(app), signal),
    refetchInterval: (query) => (query.state.data?.status === 'running' ? 700 : false),
  });
  return progress.data?.status === 'none' ? undefined : progress.data;
}

/** How far an evaluation is. With table, its variants are shown elsewhere on the screen. */
export function RunningNow({ app, set, table }: { app: string; set?: string; table?: boolean }) {
  const client = useQueryClient();
  const now = useProgress(app);
  const was = useRef<string>(undefined);
  const status = now?.status;
  useEffect(() => {
    if (was.current === 'running' && status !== 'running') {
      void client.invalidateQueries({ queryKey: ['eval-history', app] });
      void client.invalidateQueries({ queryKey: ['eval-variants', app] });
      say(status === 'completed' ? 'The evaluation is over.' : `The evaluation is ${status}.`, status === 'failed' ? 'bad' : 'plain');
    }
    was.current = status;
  }, [status]);
  if (!now || (set && now.evalSetId !== set)) return null;
  const cancel = () =>
    void ask<Progress>(evalCalls.cancel(app))
      .then((over) => client.setQueryData(progressKey(app), over))
      .catch((error: Error) => say(error.message, 'bad'));
  const failed = now.cases.filter((c) => c.finalEvalStatus !== 1);
  return (
    <section aria-label="Evaluation" data-evaluation={now.status} className="mb-5 rounded-lg border border-line bg-sheet px-4 py-3">
      <div className="flex flex-wrap items-center gap-x-3 gap-y-1">
        <Status value={now.status} />
        <Link href={toEvals.set(app, now.evalSetId)} className="font-medium hover:underline">{now.evalSetId}</Link>
        <span className="text-soft" role="status">{count(now.cases.length)} of {count(now.total)} {now.total === 1 ? 'case' : 'cases'}, {count(failed.length)} failed{now.current ? `; ${now.current} is running` : ''}</span>
        <span className="flex-1" />
        {now.status === 'running' && <Action command="Cancel the evaluation" tone="danger" icon="stop" call={evalCalls.cancel(app)} onClick={cancel}>Cancel</Action>}
        {now.variantsId && !table && <Link href={toEvals.variants(app, now.evalSetId)} className="touch font-medium text-accent underline">Show the variants</Link>}
        {now.evalSetResultId && <Link href={toEvals.result(app, now.evalSetResultId)} className="touch font-medium text-accent underline">Show the result</Link>}
      </div>
      <div role="progressbar" aria-label="Cases that are done" aria-valuemin={0} aria-valuemax={now.total} aria-valuenow={now.cases.length} className="mt-2 h-1.5 overflow-hidden rounded-full bg-sunk"><div className="h-full bg-accent" style={{ width: `${(100 * now.cases.length) / Math.max(1, now.total)}%` }} /></div>
      {now.error && <p className="mt-1 text-bad">{now.error}</p>}
      {now.status === 'completed' && (now.variants ? now.variants.some((v) => !v.evalSetResultId) : !now.evalSetResultId) && <p className="mt-1 text-soft">The result could not be stored: the directory of the application cannot be written.</p>}
      {failed.length > 0 && !now.variants && (
        <ul className="mt-2 space-y-0.5">
          {failed.slice(0, mostFailed).map((c, i) => (
            <li key={i} className="flex flex-wrap items-center gap-x-2">
              <Verdict status={c.finalEvalStatus} />
              <b className="min-w-0 font-semibold [overflow-wrap:anywhere]"><Name of={c.evalId} /></b>
              <span className="min-w-0 text-soft [overflow-wrap:anywhere]">{whyText(c.why ?? '')}</span>
              {c.sessionId && <Link href={to.session({ app, user: c.userId ?? '', session: c.sessionId })} title={`The session of ${c.evalId}`} className="touch text-accent underline">Show the session</Link>}
            </li>
          ))}
          {failed.length > mostFailed && <li className="text-soft">and {count(failed.length - mostFailed)} more, which the result has.</li>}
        </ul>
      )}
    </section>
  );
}
