import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';

import { calls, type Call } from '../api/calls';
import { ask } from '../api/client';
import { checks, complete, requestOf, showsSecret, type Check, type Delivery, type Draft, type Trigger } from '../log/triggers';
import { Link, to } from '../router';
import { ScopePicker } from '../scopepicker';
import { Dialog } from '../ui/dialog';
import { Action, Button, CopyText, Empty, Field, Loading, Problem, Refusable, When } from '../ui/parts';
import { Screen } from '../ui/screen';
import { say } from '../ui/toast';

const empty = (): Draft => ({ name: '', check: 'secret', secret: '', audience: '', email: '', events: '', message: '', session: '' });
const input = 'h-8 w-full rounded-md border border-rule bg-sheet px-2 max-md:h-9';
const address = (trigger: Trigger) => location.origin + trigger.path;

export default function TriggersScreen({ app, user }: { app: string; user: string }) {
  const client = useQueryClient();
  const key = ['triggers', app];
  const [draft, setDraft] = useState<Draft>();
  const [problem, setProblem] = useState(''); // of the draft
  const edit = (now?: Draft) => (setProblem(''), setDraft(now));
  const [asked, setAsked] = useState<Trigger>();
  const [shown, setShown] = useState<Trigger>();
  const list = useQuery({ queryKey: key, queryFn: ({ signal }) => ask<Trigger[]>(calls.triggers(app), signal), refetchInterval: 10_000 });
  // A deleted one has no history to read again.
  const send = async (call: Call, done?: string) => {
    try {
      const made = await ask<Trigger | null>(call);
      if (done) say(done);
      if (made?.secret) setShown(made);
      edit();
      await client.invalidateQueries({ queryKey: key, exact: call.method === 'DELETE' });
    } catch (error) {
      if (draft) setProblem((error as Error).message);
      else say((error as Error).message, 'bad');
    }
  };
  return (
    <Screen
      wide
      scope={<ScopePicker />}
      title="Triggers"
      note={<>Other services start runs of <b className="font-semibold text-ink">{app}</b> with requests to these addresses.</>}
      call={calls.triggers(app)}
      actions={<Refusable asks="triggers" tone="primary" icon="plus" onClick={() => edit(empty())}>New trigger</Refusable>}
    >
      {list.isPending && <Loading what="the triggers" />}
      {list.error && <Problem error={list.error} what="The triggers could not be listed" retry={() => void list.refetch()} />}
      {list.data?.length === 0 && <Empty title="There are no triggers" action={<Refusable asks="triggers" tone="primary" onClick={() => edit(empty())}>New trigger</Refusable>}>A trigger starts a run when another service, such as GitHub or Slack, sends something.</Empty>}
      <ul className="space-y-2">
        {list.data?.map((one) => {
          const pause = calls.patchTrigger(app, one.name, { paused: !one.paused });
          const rotate = calls.patchTrigger(app, one.name, { secret: null });
          return (
            <li key={one.name} data-trigger={one.name} className="rounded-lg border border-line bg-sheet px-4 py-2.5">
              <div className="flex flex-wrap items-start gap-x-4 gap-y-2">
                <div className="min-w-0 flex-1 basis-64">
                  <p className="font-medium [overflow-wrap:anywhere]">{one.name}</p>
                  {one.description && <p className="text-soft">{one.description}</p>}
                  <p className="flex items-center gap-1 font-mono text-2xs leading-5 text-soft [overflow-wrap:anywhere]">{address(one)} <CopyText text={address(one)} label={`Copy the address of ${one.name}`} /></p>
                  <p className="line-clamp-2 text-soft [overflow-wrap:anywhere]">{one.message ?? 'sends the whole body'}</p>
                  <p className="text-xs text-faint [overflow-wrap:anywhere]">
                    {one.paused ? 'paused · ' : ''}checks {checks[one.check as Check]} · as {one.userId}
                    {one.sessionId ? ` · in the session ${one.sessionId}` : ' · a new session for each run'}
                    {one.events && ` · for ${one.events.join(', ')}`}
                    {one.source === 'file' && ' · in triggers.yaml'}
                  </p>
                  {one.problem && <p className="text-xs text-bad [overflow-wrap:anywhere]">{one.problem}</p>}
                </div>
                {one.source === 'api' && (
                  <div className="flex flex-wrap gap-1.5">
                    <Action call={pause} onClick={() => void send(pause, one.paused ? 'The trigger is resumed.' : 'The trigger is paused.')}>{one.paused ? 'Resume' : 'Pause'}</Action>
                    {one.check !== 'google' && !showsSecret(one.check as Check) && <Action call={rotate} onClick={() => void send(rotate)}>New secret</Action>}
                    <Action tone="danger" call={calls.deleteTrigger(app, one.name)} onClick={() => setAsked(one)}>Delete</Action>
                  </div>
                )}
              </div>
              <History app={app} name={one.name} />
            </li>
          );
        })}
      </ul>
      <Dialog open={draft !== undefined} onClose={() => edit()} title="New trigger" note={<>Texts may have placeholders such as <code className="font-mono text-xs">{'{{ body.issue.title }}'}</code>. Runs are those of {user}.</>} width="max-w-[560px]">
        {draft && <Form draft={draft} change={edit} />}
        {problem && <p role="alert" className="mt-3 text-bad [overflow-wrap:anywhere]">{problem}</p>}
        <div className="mt-4 flex justify-end gap-2">
          <Button onClick={() => edit()}>Cancel</Button>
          {draft && <Action tone="primary" disabled={!complete(draft)} call={calls.createTrigger(app, requestOf(draft, user))} onClick={() => void send(calls.createTrigger(app, requestOf(draft, user)), 'The trigger is created.')}>Create</Action>}
        </div>
      </Dialog>
      <Dialog open={shown !== undefined} onClose={() => setShown(undefined)} title={`The secret of ${shown?.name ?? ''}`} note="Give it to the sender. It is not shown again.">
        {shown && (
          <dl className="space-y-2">
            {[['Address', address(shown)], ['Secret', shown.secret ?? '']].map(([label, text]) => (
              <div key={label}>
                <dt className="label">{label}</dt>
                <dd className="flex items-center gap-2 font-mono text-xs [overflow-wrap:anywhere]">{text} <CopyText text={text!} label={`Copy: ${label}`} /></dd>
              </div>
            ))}
          </dl>
        )}
        <div className="mt-4 flex justify-end"><Button tone="primary" onClick={() => setShown(undefined)}>Done</Button></div>
      </Dialog>
      <Dialog open={asked !== undefined} onClose={() => setAsked(undefined)} title="Delete the trigger?" note={asked && <>Requests to {asked.path} are refused from then on. Its sessions stay.</>}>
        <div className="flex justify-end gap-2">
          <Button onClick={() => setAsked(undefined)}>Keep it</Button>
          {asked && <Action tone="danger" call={calls.deleteTrigger(app, asked.name)} onClick={() => (setAsked(undefined), void send(calls.deleteTrigger(app, asked.name), 'The trigger is deleted.'))}>Delete</Action>}
        </div>
      </Dialog>
    </Screen>
  );
}

/** The latest requests for a trigger, on demand. */
function History({ app, name }: { app: string; name: string }) {
  const [open, setOpen] = useState(false);
  const list = useQuery({ queryKey: ['triggers', app, name], queryFn: ({ signal }) => ask<Delivery[]>(calls.deliveries(app, name), signal), enabled: open, refetchInterval: 10_000 });
  return (
    <details onToggle={(e) => setOpen(e.currentTarget.open)} className="mt-1.5">
      <summary className="cursor-pointer text-xs text-soft hover:text-ink">Deliveries</summary>
      {list.isPending && open && <Loading what="the deliveries" />}
      {list.error && <Problem error={list.error} what="The deliveries could not be read" retry={() => void list.refetch()} />}
      {list.data?.length === 0 && <p className="py-1 text-xs text-faint">This server has got none since it was started.</p>}
      <ol className="mt-1 space-y-0.5 text-xs">
        {list.data?.map((d, i) => (
          <li key={`${d.time} ${i}`} className="flex flex-wrap gap-x-3">
            <span className="font-mono text-2xs leading-5 text-soft"><When time={Date.parse(d.time) / 1000} /></span>
            <span className={d.outcome === 'failed' || d.outcome === 'refused' ? 'text-bad' : d.outcome === 'ignored' ? 'text-wait' : ''}>{d.outcome}</span>
            {d.eventType && <span>{d.eventType}</span>}
            {d.userId && d.sessionId && d.runId && <Link className="underline" href={to.run({ app, user: d.userId, session: d.sessionId }, d.runId)}>run</Link>}
            {d.userId && d.sessionId && <Link className="underline" href={to.session({ app, user: d.userId, session: d.sessionId })}>session</Link>}
            {d.reason && <span className="text-soft [overflow-wrap:anywhere]">{d.reason}</span>}
          </li>
        ))}
      </ol>
    </details>
  );
}

function Form({ draft, change }: { draft: Draft; change: (draft: Draft) => void }) {
  const text = (name: Exclude<keyof Draft, 'check' | 'message'>) => ({
    value: draft[name], className: input, spellCheck: false, autoComplete: 'off',
    onChange: (e: { target: { value: string } }) => change({ ...draft, [name]: e.target.value }),
  });
  return (
    <div className="grid gap-3 sm:grid-cols-2">
      <Field label="Sender is known by">
        <select value={draft.check} onChange={(e) => change({ ...draft, check: e.target.value as Check })} className={input}>
          {Object.entries(checks).map(([check, label]) => <option key={check} value={check}>{label}</option>)}
        </select>
      </Field>
      {draft.check !== 'google' && <Field label="Secret"><input {...text('secret')} placeholder={showsSecret(draft.check) ? 'the signing secret that it shows' : 'made up'} /></Field>}
      {draft.check === 'google' && <Field label="Audience"><input {...text('audience')} /></Field>}
      {draft.check === 'google' && <Field label="Service account"><input {...text('email')} /></Field>}
      <div className="sm:col-span-2">
        <Field label="Message"><textarea value={draft.message} onChange={(e) => change({ ...draft, message: e.target.value })} rows={3} placeholder="the whole body" className="w-full rounded-md border border-rule bg-sheet px-2 py-1.5" /></Field>
      </div>
      <Field label="Events"><input {...text('events')} placeholder="all" /></Field>
      <Field label="Session"><input {...text('session')} placeholder="a new one for each run" /></Field>
      <Field label="Name"><input {...text('name')} placeholder="made up" /></Field>
    </div>
  );
}
