import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';

import { calls, type Call } from '../api/calls';
import { ask } from '../api/client';
import { clock, complete, requestOf, textOf, times, type Draft, type Firing, type Schedule } from '../log/schedules';
import { Link, to } from '../router';
import { ScopePicker } from '../scopepicker';
import { Dialog } from '../ui/dialog';
import { Action, Button, Empty, Field, Loading, Problem, Refusable, When } from '../ui/parts';
import { Screen } from '../ui/screen';
import { say } from '../ui/toast';

const empty = (): Draft => ({ id: '', kind: 'cron', cron: '0 9 * * MON-FRI', timeZone: Intl.DateTimeFormat().resolvedOptions().timeZone, minutes: '60', at: '', message: '', session: '', missed: 'skip' });
const input = 'h-8 w-full rounded-md border border-rule bg-sheet px-2 max-md:h-9';

export default function SchedulesScreen({ app, user }: { app: string; user: string }) {
  const client = useQueryClient();
  const key = ['schedules', app, user];
  const [draft, setDraft] = useState<Draft>();
  const [asked, setAsked] = useState<Schedule>();
  const list = useQuery({ queryKey: key, queryFn: ({ signal }) => ask<Schedule[]>(calls.schedules(app, user), signal), refetchInterval: 10_000 });
  // A deleted one has no history to read again.
  const send = (call: Call, done: string) =>
    ask(call)
      .then(() => (say(done), client.invalidateQueries({ queryKey: key, exact: call.method === 'DELETE' })))
      .catch((error: Error) => say(error.message, 'bad'));
  const create = async (made: Draft) => {
    try {
      await ask(calls.createSchedule(app, user, requestOf(made)));
      setDraft(undefined);
      say('The schedule is created.');
      await client.invalidateQueries({ queryKey: key });
    } catch (error) {
      say((error as Error).message, 'bad');
    }
  };
  return (
    <Screen
      wide
      scope={<ScopePicker />}
      title="Schedules"
      note={<>Messages that are sent to <b className="font-semibold text-ink">{app}</b> as <b className="font-semibold text-ink">{user}</b>, at certain times.</>}
      call={calls.schedules(app, user)}
      actions={<Refusable asks="schedules" tone="primary" icon="plus" onClick={() => setDraft(empty())}>New schedule</Refusable>}
    >
      {list.isPending && <Loading what="the schedules" />}
      {list.error && <Problem error={list.error} what="The schedules could not be listed" retry={() => void list.refetch()} />}
      {list.data?.length === 0 && <Empty title="There are no schedules" action={<Refusable asks="schedules" tone="primary" onClick={() => setDraft(empty())}>New schedule</Refusable>}>A schedule starts a run every morning, every hour, or once.</Empty>}
      <ul className="space-y-2">
        {list.data?.map((one) => (
          <li key={one.id} data-schedule={one.id} className="rounded-lg border border-line bg-sheet px-4 py-2.5">
            <div className="flex flex-wrap items-start gap-x-4 gap-y-2">
              <div className="min-w-0 flex-1 basis-64">
                <p className="font-medium [overflow-wrap:anywhere]">{one.id} <span className="font-mono text-2xs leading-5 text-soft">{times(one)}</span></p>
                {one.description && <p className="text-soft">{one.description}</p>}
                <p className="line-clamp-2 text-soft [overflow-wrap:anywhere]">{textOf(one) || 'changes the state'}</p>
                <p className="text-xs text-faint">
                  {one.paused ? 'paused' : one.nextAt ? <>next <time dateTime={one.nextAt} title={one.upcoming.map(clock).join('\n')}>{clock(one.nextAt)}</time></> : 'not due any more'}
                  {one.sessionId ? <> · in <Link className="underline" href={to.session({ app, user, session: one.sessionId })}>one session</Link></> : ' · a new session for each run'}
                </p>
              </div>
              <div className="flex flex-wrap gap-1.5">
                <Action call={calls.runSchedule(app, user, one.id)} onClick={() => void send(calls.runSchedule(app, user, one.id), 'The run is started.')}>Run now</Action>
                <Action call={calls.patchSchedule(app, user, one.id, { paused: !one.paused })} onClick={() => void send(calls.patchSchedule(app, user, one.id, { paused: !one.paused }), one.paused ? 'The schedule is resumed.' : 'The schedule is paused.')}>
                  {one.paused ? 'Resume' : 'Pause'}
                </Action>
                <Action tone="danger" call={calls.deleteSchedule(app, user, one.id)} onClick={() => setAsked(one)}>Delete</Action>
              </div>
            </div>
            <History app={app} user={user} id={one.id} />
          </li>
        ))}
      </ul>
      <Dialog open={draft !== undefined} onClose={() => setDraft(undefined)} title="New schedule" note="What is sent, and when." width="max-w-[560px]">
        {draft && <Form draft={draft} change={setDraft} />}
        <div className="mt-4 flex justify-end gap-2">
          <Button onClick={() => setDraft(undefined)}>Cancel</Button>
          {draft && <Action tone="primary" disabled={!complete(draft)} call={calls.createSchedule(app, user, requestOf(draft))} onClick={() => void create(draft)}>Create</Action>}
        </div>
      </Dialog>
      <Dialog open={asked !== undefined} onClose={() => setAsked(undefined)} title="Delete the schedule?" note={asked && <>{asked.id} starts no more runs. Its sessions stay.</>}>
        <div className="flex justify-end gap-2">
          <Button onClick={() => setAsked(undefined)}>Keep it</Button>
          {asked && <Action tone="danger" call={calls.deleteSchedule(app, user, asked.id)} onClick={() => (setAsked(undefined), void send(calls.deleteSchedule(app, user, asked.id), 'The schedule is deleted.'))}>Delete</Action>}
        </div>
      </Dialog>
    </Screen>
  );
}

/** The latest times at which a schedule was due, on demand. */
function History({ app, user, id }: { app: string; user: string; id: string }) {
  const [open, setOpen] = useState(false);
  const list = useQuery({ queryKey: ['schedules', app, user, id], queryFn: ({ signal }) => ask<Firing[]>(calls.firings(app, user, id), signal), enabled: open, refetchInterval: 10_000 });
  return (
    <details onToggle={(e) => setOpen(e.currentTarget.open)} className="mt-1.5">
      <summary className="cursor-pointer text-xs text-soft hover:text-ink">History</summary>
      {list.isPending && open && <Loading what="the history" />}
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
    </details>
  );
}

function Form({ draft, change }: { draft: Draft; change: (draft: Draft) => void }) {
  const text = (name: 'id' | 'cron' | 'timeZone' | 'minutes' | 'at' | 'session') => ({
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
      {draft.kind === 'cron' && <Field label="Cron expression"><input {...text('cron')} /></Field>}
      {draft.kind === 'cron' && <Field label="Time zone"><input {...text('timeZone')} placeholder="UTC" /></Field>}
      {draft.kind === 'interval' && <Field label="Minutes"><input type="number" min="0.1" step="any" {...text('minutes')} /></Field>}
      {draft.kind === 'at' && <Field label="Time"><input type="datetime-local" {...text('at')} /></Field>}
      <Field label="Missed times">
        <select value={draft.missed} onChange={(e) => change({ ...draft, missed: e.target.value as Draft['missed'] })} className={input}>
          <option value="skip">are skipped</option>
          <option value="once">start one run</option>
          <option value="all">start one run each</option>
        </select>
      </Field>
      <Field label="Session"><input {...text('session')} placeholder="a new one for each run" /></Field>
      <Field label="Name"><input {...text('id')} placeholder="made up" /></Field>
    </div>
  );
}
