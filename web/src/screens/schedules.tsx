import { useQuery, useQueryClient } from '@tanstack/react-query';
import { Fragment, useState } from 'react';

import { calls } from '../api/calls';
import { ask } from '../api/client';
import { clock, complete, draftOf, patchOf, requestOf, textOf, times, type Draft, type Firing, type Schedule } from '../log/schedules';
import { Link, to } from '../router';
import { ScopePicker } from '../scopepicker';
import { Dialog, Footer } from '../ui/dialog';
import { Fold, useFolds } from '../ui/fold';
import { FormDialog, StateField, useSend } from '../ui/formdialog';
import { Name } from '../ui/name';
import { Action, Button, Empty, Field, Loading, Problem, Refusable, When } from '../ui/parts';
import { Screen } from '../ui/screen';
import { say } from '../ui/toast';
import { Virtual } from '../ui/virtual';

const empty = (): Draft => ({ id: '', kind: 'cron', cron: '0 9 * * MON-FRI', timeZone: Intl.DateTimeFormat().resolvedOptions().timeZone, minutes: '60', at: '', startAt: '', endAt: '', message: '', state: '', session: '', concurrency: '', missed: 'skip', missedMinutes: '' });
const input = 'h-8 w-full rounded-md border border-rule bg-sheet px-2 max-md:h-9';

export default function SchedulesScreen({ app, user }: { app: string; user: string }) {
  const client = useQueryClient();
  const key = ['schedules', app, user];
  const [draft, setDraft] = useState<Draft>();
  const [edited, setEdited] = useState<Schedule>(); // undefined for a new one
  const edit = (one?: Schedule) => (setEdited(one), setDraft(one ? draftOf(one, empty()) : empty()));
  const [asked, setAsked] = useState<Schedule>();
  const folds = useFolds();
  const list = useQuery({ queryKey: key, queryFn: ({ signal }) => ask<Schedule[]>(calls.schedules(app, user), signal), refetchInterval: 10_000 });
  const took = (done: string, exact = false) => (say(done), client.invalidateQueries({ queryKey: key, exact }));
  // A deleted one has no history to read again.
  const send = useSend((_, call, done) => took(done, call.method === 'DELETE'));
  const saving = (of?: Draft) => (edited ? calls.patchSchedule(app, user, edited.id, of && patchOf(of, edited)) : calls.createSchedule(app, user, of && requestOf(of)));
  return (
    <Screen
      wide
      scope={<ScopePicker />}
      title="Schedules"
      note={<>Messages that are sent to <b className="font-semibold text-ink">{app}</b> as <b className="font-semibold text-ink">{user}</b>, at certain times.</>}
      call={calls.schedules(app, user)}
      actions={<Refusable command asks="schedules" tone="primary" icon="plus" onClick={() => edit()}>New schedule</Refusable>}
    >
      {list.isPending && <Loading what="the schedules" />}
      {list.error && <Problem error={list.error} what="The schedules could not be listed" retry={() => void list.refetch()} />}
      {list.data?.length === 0 && <Empty title="There are no schedules" action={<Refusable asks="schedules" tone="primary" onClick={() => edit()}>New schedule</Refusable>}>A schedule starts a run every morning, every hour, or once.</Empty>}
      <ul>
        <Virtual as="li" items={list.data ?? []} keyOf={(one) => one.id} height={112} draw={(one, measured) => (
          <li {...measured} data-schedule={one.id} className="pb-2">
            <div className="rounded-lg border border-line bg-sheet px-4 py-2.5">
              <div className="flex flex-wrap items-start gap-x-4 gap-y-2">
                <div className="min-w-0 flex-1 basis-64">
                  <p className="font-medium [overflow-wrap:anywhere]"><Name of={one.id} /> <span className="ml-1.5 font-mono text-2xs leading-5 text-soft">{times(one)}</span></p>
                  {one.description && <p className="text-soft">{one.description}</p>}
                  <p className="line-clamp-2 text-soft [overflow-wrap:anywhere]">{textOf(one) || 'changes the state'}</p>
                  <p className="text-xs text-faint">
                    {one.paused ? 'paused' : one.nextAt ? <>next {one.upcoming.map((time, i) => <Fragment key={time}>{i > 0 && ', then '}<time dateTime={time} className="whitespace-nowrap">{clock(time, one.timeZone)}</time></Fragment>)}</> : 'not due any more'}
                    {one.endAt && <> · until <time dateTime={one.endAt}>{clock(one.endAt, one.timeZone)}</time></>}
                    {one.sessionId ? <> · in <Link className="whitespace-nowrap underline" href={to.session({ app, user, session: one.sessionId })}>one session</Link></> : ' · a new session for each run'}
                  </p>
                </div>
                <div className="flex flex-wrap gap-1.5">
                  <Action item={one.id} call={calls.runSchedule(app, user, one.id)} onClick={() => send(calls.runSchedule(app, user, one.id), 'The run is started.')}>Run now</Action>
                  <Action item={one.id} call={calls.patchSchedule(app, user, one.id, { paused: !one.paused })} onClick={() => send(calls.patchSchedule(app, user, one.id, { paused: !one.paused }), one.paused ? 'The schedule is resumed.' : 'The schedule is paused.')}>
                    {one.paused ? 'Resume' : 'Pause'}
                  </Action>
                  <Refusable item={one.id} asks="schedules" onClick={() => edit(one)}>Edit</Refusable>
                  <Action item={one.id} tone="danger" call={calls.deleteSchedule(app, user, one.id)} onClick={() => setAsked(one)}>Delete</Action>
                </div>
              </div>
              <Fold id={one.id} folds={folds} className="mt-1.5" summary={<summary className="cursor-pointer text-xs text-soft hover:text-ink">History</summary>}>
                <History app={app} user={user} id={one.id} />
              </Fold>
            </div>
          </li>
        )} />
      </ul>
      <FormDialog
        open={draft !== undefined}
        onClose={() => setDraft(undefined)}
        title={edited ? `Edit ${edited.id}` : 'New schedule'}
        note="What is sent, and when."
        call={saving(draft)}
        complete={draft !== undefined && complete(draft, edited)}
        label={edited ? 'Save' : 'Create'}
        done={() => void took(edited ? 'The schedule is changed.' : 'The schedule is created.')}
      >
        {draft && <Form draft={draft} named={edited !== undefined} change={setDraft} />}
      </FormDialog>
      <Dialog open={asked !== undefined} onClose={() => setAsked(undefined)} title="Delete the schedule?" note={asked && <>{asked.id} starts no more runs. Its sessions stay.</>}>
        <Footer>
          <Button onClick={() => setAsked(undefined)}>Cancel</Button>
          {asked && <Action tone="danger" call={calls.deleteSchedule(app, user, asked.id)} onClick={() => (setAsked(undefined), send(calls.deleteSchedule(app, user, asked.id), 'The schedule is deleted.'))}>Delete</Action>}
        </Footer>
      </Dialog>
    </Screen>
  );
}

/** The latest times at which a schedule was due, on demand. */
function History({ app, user, id }: { app: string; user: string; id: string }) {
  const list = useQuery({ queryKey: ['schedules', app, user, id], queryFn: ({ signal }) => ask<Firing[]>(calls.firings(app, user, id), signal), refetchInterval: 10_000 });
  return (
    <>
      {list.isPending && <Loading what="the history" />}
      {list.error && <Problem error={list.error} what="The history could not be read" retry={() => void list.refetch()} />}
      {list.data?.length === 0 && <p className="py-1 text-xs text-faint">It was not due yet.</p>}
      <ol className="mt-1 space-y-0.5 text-xs">
        {list.data?.slice(0, 20).map((f) => (
          <li key={f.time} className="flex flex-wrap gap-x-3">
            <span className="font-mono text-2xs leading-5 text-soft"><When time={Date.parse(f.time) / 1000} /></span>
            <span className={f.outcome === 'failed' ? 'text-bad' : f.outcome === 'missed' ? 'text-wait' : ''}>{f.outcome}{f.manual ? ' by hand' : ''}</span>
            {f.sessionId && f.runId && <Link className="underline" href={to.run({ app, user, session: f.sessionId }, f.runId)}>run</Link>}
            {f.sessionId && <Link className="underline" href={to.session({ app, user, session: f.sessionId })}>session</Link>}
            {f.error && <span className="text-bad [overflow-wrap:anywhere]">{f.error}</span>}
          </li>
        ))}
      </ol>
    </>
  );
}

function Form({ draft, named, change }: { draft: Draft; named: boolean; change: (draft: Draft) => void }) {
  const text = (name: 'id' | 'cron' | 'timeZone' | 'minutes' | 'at' | 'startAt' | 'endAt' | 'session' | 'missedMinutes') => ({
    value: draft[name], className: input, spellCheck: false,
    onChange: (e: { target: { value: string } }) => change({ ...draft, [name]: e.target.value }),
  });
  return (
    <div className="grid gap-3 sm:grid-cols-2">
      <div className="sm:col-span-2">
        <Field label="Message"><textarea value={draft.message} onChange={(e) => change({ ...draft, message: e.target.value })} rows={3} className="w-full rounded-md border border-rule bg-sheet px-2 py-1.5" /></Field>
      </div>
      <Field label="When">
        <select value={draft.kind} onChange={(e) => change({ ...draft, kind: e.target.value as Draft['kind'] })} className={input}>
          <option value="cron">at the times of a cron expression</option>
          <option value="interval">at intervals</option>
          <option value="at">once</option>
        </select>
      </Field>
      {draft.kind === 'cron' && <Field label="Cron expression"><input {...text('cron')} className={`${input} font-mono text-xs`} /></Field>}
      {draft.kind === 'cron' && <Field label="Time zone"><input {...text('timeZone')} placeholder="UTC" /></Field>}
      {draft.kind === 'interval' && <Field label="Minutes"><input type="number" min="0.1" step="any" {...text('minutes')} /></Field>}
      {draft.kind === 'at' && <Field label="Time"><input type="datetime-local" {...text('at')} /></Field>}
      {draft.kind !== 'at' && <Field label="Not before"><input type="datetime-local" {...text('startAt')} /></Field>}
      {draft.kind !== 'at' && <Field label="Until"><input type="datetime-local" {...text('endAt')} /></Field>}
      <Field label="Missed times">
        <select value={draft.missed} onChange={(e) => change({ ...draft, missed: e.target.value as Draft['missed'] })} className={input}>
          <option value="skip">are skipped</option>
          <option value="once">start one run</option>
          <option value="all">start one run each</option>
        </select>
      </Field>
      <Field label="Missed when later than, in minutes"><input type="number" min="0.1" step="any" {...text('missedMinutes')} placeholder="10" /></Field>
      <Field label="Session"><input {...text('session')} placeholder="a new one for each run" /></Field>
      {draft.session.trim() !== '' && (
        <Field label="If the session is busy">
          <select value={draft.concurrency} onChange={(e) => change({ ...draft, concurrency: e.target.value as Draft['concurrency'] })} className={input}>
            <option value="">as the server does by default</option>
            <option value="enqueue">the message is queued</option>
            <option value="reject">it is not sent</option>
            <option value="interrupt">the other run is stopped</option>
            <option value="rollback">the other run is undone</option>
          </select>
        </Field>
      )}
      <div className="sm:col-span-2"><StateField text={draft.state} change={(state) => change({ ...draft, state })} /></div>
      {!named && <Field label="Name"><input {...text('id')} placeholder="generated" /></Field>}
    </div>
  );
}
