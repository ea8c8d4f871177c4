import { useMemo } from 'react';

import type { Event, Json, Key, ReplayReport } from '../../api/types';
import { replaySteps, type ReplayStep } from '../../log/replaying';
import { summary } from '../../log/rows';
import { seconds } from '../../log/timeline';
import { Link, to } from '../../router';
import { DiffValue } from '../../ui/difftext';
import { Author, Loading, Problem, Status } from '../../ui/parts';
import { Virtual, type Measured } from '../../ui/virtual';
import { useTurn } from './turns';

/** How a replay went, step by step. */
export function ReportView({ id, run, report }: { id: Key; run: string; report: ReplayReport }) {
  const before = useTurn(id, run);
  const after = useTurn({ ...id, session: report.session }, run);
  const events = useMemo(() => [...(before.turn?.events ?? []), ...(after.turn?.events ?? [])], [before.turn, after.turn]);
  const steps = useMemo(() => replaySteps(report, events), [report, events]);
  const first = steps.findIndex((s) => s.differs);
  const compare = to.compare(id.app, id.user, [{ session: id.session, run }, { session: report.session, run }]);
  return (
    <section aria-label="The replay" data-report={report.same ? 'same' : 'differs'}>
      <div role="status" className={`mb-3 rounded-lg border px-5 py-3 ${report.same ? 'border-good/40 bg-tint' : 'border-wait/50 bg-waittint'}`}>
        <p className={`font-semibold ${report.same ? 'text-good' : 'text-wait'}`}>{report.same ? 'The replay is the same.' : first >= 0 ? `The replay differs, first at step ${first + 1}.` : 'The replay differs.'}</p>
        <p className="text-soft">
          {report.calls.filter((c) => c.live).length === 0 ? 'No model and no tool was called.' : `Called: ${report.calls.filter((c) => c.live && c.kind === 'model').length} models, ${report.calls.filter((c) => c.live && c.kind === 'tool').length} tools.`}
          {report.calls.some((c) => c.repeats) && ` The run had also called ${[...new Set(report.calls.filter((c) => c.repeats).map((c) => c.name))].join(', ')}: what that does outside may have been done twice.`}
          {report.codeChanged && ' The code of the application has changed since.'}
          {report.fromLog && ' The run was not recorded, so requests to models were not compared.'}
          {(report.unused?.length ?? 0) > 0 && ` ${report.unused!.length === 1 ? `The recorded call ${report.unused![0]} was` : `The recorded calls ${report.unused!.join(', ')} were`} not made.`}
        </p>
        {report.failure && <p className="mt-1 text-bad">It ended: {report.failure.message}</p>}
        <p className="mt-2 flex flex-wrap items-center gap-x-4 gap-y-1">
          <Status value={report.status} />
          <Link href={to.session({ ...id, session: report.session })} className="touch font-medium text-accent underline">Open the replay</Link>
          <Link href={compare} className="touch font-medium text-accent underline">Compare side by side</Link>
        </p>
      </div>
      {after.error && <Problem error={after.error} what="The replay could not be read" retry={() => void after.refetch()} />}
      {after.isPending || before.isPending ? <Loading what="the replay" /> : (
        <ol className="overflow-hidden rounded-lg border bg-sheet" aria-label="Steps of the replay">
          <Virtual as="li" items={steps} keyOf={(_, i) => String(i)} height={57} draw={(step, measured) => <StepView step={step} measured={measured} first={measured['data-index'] === first} events={events} fromLog={Boolean(report.fromLog)} />} />
        </ol>
      )}
    </section>
  );
}

const how = (c: ReplayReport['calls'][number], fromLog: boolean) => (c.cancelled ? 'cancelled, as the run was' : c.missing ? 'no recorded answer, not called' : c.replaced ? 'your result' : c.live ? `called${c.repeats ? ' again' : ''}, ${seconds((c.ms ?? 0) / 1000)}` : fromLog ? 'from the log' : 'recorded');

function StepView({ step, measured, first, events, fromLog }: { step: ReplayStep; measured: Measured; first: boolean; events: Event[]; fromLog: boolean }) {
  const { event, calls } = step;
  const shown = events.findLast((e) => e.id === (event?.now || event?.recorded));
  return (
    <li {...measured} data-differs={step.differs} data-first={first || undefined} className={`border-t border-t-line px-4 py-2 data-[index=0]:border-t-0 ${step.differs ? 'bg-waittint/50 shadow-[inset_3px_0_0_var(--wait)]' : ''}`}>
      <div className="flex flex-wrap items-baseline gap-x-3">
        <span className="font-mono text-2xs text-faint">{measured['data-index'] + 1}</span>
        <Author name={event?.author ?? calls[0]?.agent ?? ''} />
        {calls.map((c) => (
          <span key={c.number} className="font-mono text-2xs text-soft">{c.kind} <b className="font-semibold">{c.name}</b> <span className={c.missing ? 'text-bad' : c.live || c.replaced ? 'text-wait' : 'text-faint'}>{how(c, fromLog)}</span></span>
        ))}
        {first && <span className="rounded-sm bg-wait px-1.5 font-mono text-2xs leading-5 font-semibold text-sheet">first difference</span>}
        {event && !event.now && <span className="label text-wait">not in the replay</span>}
        {event && !event.recorded && <span className="label text-wait">only in the replay</span>}
      </div>
      {shown && <p className="truncate text-soft">{summary(shown)}</p>}
      {calls.map((c) => <Differences key={c.number} title={c.kind === 'model' ? 'asked' : 'called with'} list={c.differences} />)}
      <Differences title="came of it" list={event?.differences} />
    </li>
  );
}

function Differences({ title, list }: { title: string; list: ReplayReport['events'][number]['differences'] }) {
  if (!list || list.length === 0) return null;
  return (
    <div className="mt-1">
      <p className="label">{title}</p>
      <ul className="space-y-1">
        {list.map((d, i) => (
          <li key={i}>
            <span className="font-mono text-2xs font-semibold [overflow-wrap:anywhere]">{d.path}</span>
            <div className="max-h-72 overflow-y-auto rounded-md bg-sheet px-2 py-1" tabIndex={0} role="group" aria-label={`Difference of ${d.path}`}><DiffValue before={d.recorded as Json | undefined} after={d.now as Json | undefined} /></div>
          </li>
        ))}
      </ul>
    </div>
  );
}
