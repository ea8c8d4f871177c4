import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';

import { calls } from '../api/calls';
import { ask } from '../api/client';
import { readMatch } from '../log/state';
import { checks, complete, draftOf, patchOf, requestOf, showsSecret, type Check, type Delivery, type Draft, type Trigger } from '../log/triggers';
import { Link, to } from '../router';
import { ScopePicker } from '../scopepicker';
import { Dialog, Footer } from '../ui/dialog';
import { Fold, useFolds } from '../ui/fold';
import { FormDialog, StateField, useSend } from '../ui/formdialog';
import { Name } from '../ui/name';
import { Action, Button, CopyText, Empty, Field, Loading, Problem, Refusable, When } from '../ui/parts';
import { Screen } from '../ui/screen';
import { say } from '../ui/toast';
import { Virtual } from '../ui/virtual';

const empty = (): Draft => ({ name: '', check: 'secret', secret: '', audience: '', email: '', events: '', message: '', session: '', user: '', state: '', match: '', delivery: '', description: '' });
const input = 'h-8 w-full rounded-md border border-rule bg-sheet px-2 max-md:h-9';
const address = (trigger: Trigger) => location.origin + trigger.path;

export default function TriggersScreen({ app, user }: { app: string; user: string }) {
  const client = useQueryClient();
  const key = ['triggers', app];
  const [draft, setDraft] = useState<Draft>();
  const [edited, setEdited] = useState<Trigger>(); // undefined for a new one
  const edit = (one?: Trigger) => (setEdited(one), setDraft(one ? draftOf(one) : empty()));
  const [asked, setAsked] = useState<Trigger>();
  const folds = useFolds();
  const [shown, setShown] = useState<Trigger>();
  const list = useQuery({ queryKey: key, queryFn: ({ signal }) => ask<Trigger[]>(calls.triggers(app), signal), refetchInterval: 10_000 });
  const took = (made: Trigger | null, done: string, exact = false) => {
    if (done) say(done);
    if (made?.secret) setShown(made);
    return client.invalidateQueries({ queryKey: key, exact });
  };
  // A deleted one has no history to read again.
  const send = useSend<Trigger | null>((made, call, done) => took(made, done, call.method === 'DELETE'));
  return (
    <Screen
      wide
      scope={<ScopePicker />}
      title="Triggers"
      note={<>Other services start runs of <b className="font-semibold text-ink">{app}</b> with requests to these addresses.</>}
      call={calls.triggers(app)}
      actions={<Refusable command asks="triggers" tone="primary" icon="plus" onClick={() => edit()}>New trigger</Refusable>}
    >
      {list.isPending && <Loading what="the triggers" />}
      {list.error && <Problem error={list.error} what="The triggers could not be listed" retry={() => void list.refetch()} />}
      {list.data?.length === 0 && <Empty title="There are no triggers" action={<Refusable asks="triggers" tone="primary" onClick={() => edit()}>New trigger</Refusable>}>A trigger starts a run when another service, such as GitHub or Slack, sends something.</Empty>}
      <ul>
        <Virtual as="li" items={list.data ?? []} keyOf={(one) => one.name} height={140} draw={(one, measured) => {
          const pause = calls.patchTrigger(app, one.name, { paused: !one.paused });
          const rotate = calls.patchTrigger(app, one.name, { secret: null });
          return (
            <li {...measured} data-trigger={one.name} className="pb-2">
              <div className="rounded-lg border border-line bg-sheet px-4 py-2.5">
                <div className="flex flex-wrap items-start gap-x-4 gap-y-2">
                  <div className="min-w-0 flex-1 basis-64">
                    <p className="font-medium [overflow-wrap:anywhere]"><Name of={one.name} /></p>
                    {one.description && <p className="text-soft">{one.description}</p>}
                    <p className="flex items-center gap-1 font-mono text-2xs leading-5 text-soft [overflow-wrap:anywhere]"><span className="min-w-0"><Name of={address(one)} /></span> <CopyText text={address(one)} label={`Copy the address of ${one.name}`} /></p>
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
                      <Action item={one.name} call={pause} onClick={() => send(pause, one.paused ? 'The trigger is resumed.' : 'The trigger is paused.')}>{one.paused ? 'Resume' : 'Pause'}</Action>
                      {one.check !== 'google' && !showsSecret(one.check as Check) && <Action item={one.name} call={rotate} onClick={() => send(rotate)}>New secret</Action>}
                      <Refusable item={one.name} asks="triggers" onClick={() => edit(one)}>Edit</Refusable>
                      <Action item={one.name} tone="danger" call={calls.deleteTrigger(app, one.name)} onClick={() => setAsked(one)}>Delete</Action>
                    </div>
                  )}
                </div>
                <Fold id={one.name} folds={folds} className="mt-1.5" summary={<summary className="cursor-pointer text-xs text-soft hover:text-ink">Deliveries</summary>}>
                  <History app={app} name={one.name} />
                </Fold>
              </div>
            </li>
          );
        }} />
      </ul>
      <FormDialog<Trigger>
        open={draft !== undefined}
        onClose={() => setDraft(undefined)}
        title={edited ? `Edit ${edited.name}` : 'New trigger'}
        note={<>Texts may have placeholders such as <code className="font-mono text-xs">{'{{ body.issue.title }}'}</code>.</>}
        call={edited ? calls.patchTrigger(app, edited.name, draft && patchOf(draft, edited)) : calls.createTrigger(app, draft && requestOf(draft, user))}
        complete={draft !== undefined && complete(draft, edited)}
        label={edited ? 'Save' : 'Create'}
        done={(made) => void took(made, edited ? 'The trigger is changed.' : 'The trigger is created.')}
      >
        {draft && <Form draft={draft} user={user} edited={edited} change={setDraft} />}
      </FormDialog>
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
        <Footer><Button tone="primary" onClick={() => setShown(undefined)}>Done</Button></Footer>
      </Dialog>
      <Dialog open={asked !== undefined} onClose={() => setAsked(undefined)} title="Delete the trigger?" note={asked && <>Requests to {asked.path} are refused from then on. Its sessions stay.</>}>
        <Footer>
          <Button onClick={() => setAsked(undefined)}>Cancel</Button>
          {asked && <Action tone="danger" call={calls.deleteTrigger(app, asked.name)} onClick={() => (setAsked(undefined), send(calls.deleteTrigger(app, asked.name), 'The trigger is deleted.'))}>Delete</Action>}
        </Footer>
      </Dialog>
    </Screen>
  );
}

/** The latest requests for a trigger, on demand. */
function History({ app, name }: { app: string; name: string }) {
  const list = useQuery({ queryKey: ['triggers', app, name], queryFn: ({ signal }) => ask<Delivery[]>(calls.deliveries(app, name), signal), refetchInterval: 10_000 });
  return (
    <>
      {list.isPending && <Loading what="the deliveries" />}
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
    </>
  );
}

function Form({ draft, user, edited, change }: { draft: Draft; user: string; edited: Trigger | undefined; change: (draft: Draft) => void }) {
  const text = (name: Exclude<keyof Draft, 'check' | 'message' | 'state' | 'match'>) => ({
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
      {draft.check !== 'google' && <Field label="Secret"><input {...text('secret')} placeholder={edited?.check === draft.check ? 'as it is' : showsSecret(draft.check) ? 'the signing secret that it shows' : 'generated'} /></Field>}
      {draft.check === 'google' && <Field label="Audience"><input {...text('audience')} /></Field>}
      {draft.check === 'google' && <Field label="Service account"><input {...text('email')} /></Field>}
      <div className="sm:col-span-2">
        <Field label="Message"><textarea value={draft.message} onChange={(e) => change({ ...draft, message: e.target.value })} rows={3} placeholder="the whole body" className="w-full rounded-md border border-rule bg-sheet px-2 py-1.5" /></Field>
      </div>
      <Field label="Events"><input {...text('events')} placeholder="all" /></Field>
      <Field label="Session"><input {...text('session')} placeholder="a new one for each run" /></Field>
      <Field label="User"><input {...text('user')} placeholder={user} /></Field>
      <Field label="Delivery ID" note="Requests with the same one start one run."><input {...text('delivery')} placeholder="that of the sender" /></Field>
      <div className="sm:col-span-2">
        <Field label="Only if" note={readMatch(draft.match) === undefined ? <span className="text-bad">Each line must have a path, = and a value.</span> : undefined}>
          <textarea value={draft.match} onChange={(e) => change({ ...draft, match: e.target.value })} rows={2} spellCheck={false} placeholder="body.ref=refs/heads/main" className="w-full rounded-md border border-rule bg-sheet px-2 py-1.5 font-mono text-xs" />
        </Field>
      </div>
      <div className="sm:col-span-2"><StateField text={draft.state} change={(state) => change({ ...draft, state })} /></div>
      {!edited && <Field label="Name"><input {...text('name')} placeholder="generated" /></Field>}
      <Field label="Description"><input {...text('description')} /></Field>
    </div>
  );
}
