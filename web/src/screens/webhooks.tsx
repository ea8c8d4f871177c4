import { useInfiniteQuery, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';

import { calls, type Call } from '../api/calls';
import { ask } from '../api/client';
import { refused } from '../api/usepages';
import { clock } from '../log/schedules';
import { complete, draftOf, events, patchOf, requestOf, wants, whose, type DeliveryPage, type Draft, type EventType, type FailedPage, type Webhook } from '../log/webhooks';
import { Link, to } from '../router';
import { ScopePicker } from '../scopepicker';
import { Dialog, Footer } from '../ui/dialog';
import { FormDialog, useSend } from '../ui/formdialog';
import { Name } from '../ui/name';
import { Action, Button, CopyText, Empty, Field, Loading, Problem, Refusable, When } from '../ui/parts';
import { Screen } from '../ui/screen';
import { say } from '../ui/toast';
import { Virtual } from '../ui/virtual';

const types = Object.keys(events) as EventType[];
const empty = (): Draft => ({ id: '', url: '', description: '', events: types });
const input = 'h-8 w-full rounded-md border border-rule bg-sheet px-2 max-md:h-9';

export default function WebhooksScreen({ app }: { app: string; user: string }) {
  const client = useQueryClient();
  const key = ['webhooks', app];
  const [draft, setDraft] = useState<Draft>();
  const [edited, setEdited] = useState<Webhook>(); // undefined for a new one
  const edit = (one?: Webhook) => (setEdited(one), setDraft(one ? draftOf(one) : empty()));
  const [asked, setAsked] = useState<Webhook>();
  const [shown, setShown] = useState<Webhook>();
  const list = useQuery({ queryKey: key, queryFn: ({ signal }) => ask<Webhook[]>(calls.webhooks(app), signal), refetchInterval: 10_000 });
  const took = (made: Webhook | null, done: string, exact = false) => {
    if (done) say(done);
    if (made?.secret) setShown(made);
    return client.invalidateQueries({ queryKey: key, exact });
  };
  // A deleted one has no deliveries to read again.
  const send = useSend<Webhook | null>((made, call, done) => took(made, done, call.method === 'DELETE'));
  const add = <Refusable command asks="run" tone="primary" icon="plus" onClick={() => edit()}>New webhook</Refusable>;
  return (
    <Screen
      wide
      scope={<ScopePicker />}
      title="Webhooks"
      note={<>Servers that are notified of the runs of <b className="font-semibold text-ink">{app}</b>, those of all users.</>}
      call={calls.webhooks(app)}
      actions={add}
    >
      {list.isPending && <Loading what="the webhooks" />}
      {list.error && <Problem error={list.error} what="The webhooks could not be listed" retry={() => void list.refetch()} />}
      {list.data?.length === 0 && <Empty title="There are no webhooks" action={add}>A webhook gets a request when a run waits or ends.</Empty>}
      <ul className="space-y-2">
        {list.data?.map((one) => (
          <li key={one.id} data-webhook={one.id} className="rounded-lg border border-line bg-sheet px-4 py-2.5">
            <div className="flex flex-wrap items-start gap-x-4 gap-y-2">
              <div className="min-w-0 flex-1 basis-64">
                <p className="font-medium [overflow-wrap:anywhere]"><Name of={one.id} /></p>
                {one.description && <p className="text-soft">{one.description}</p>}
                <p className="font-mono text-2xs leading-5 text-soft [overflow-wrap:anywhere]"><Name of={one.url} /></p>
                <p className="text-xs text-faint [overflow-wrap:anywhere]">
                  {wants(one)}
                  {one.previousSecretUntil && <> · the old secret also signs until <time dateTime={one.previousSecretUntil}>{clock(one.previousSecretUntil)}</time></>}
                </p>
              </div>
              <div className="flex flex-wrap gap-1.5">
                <Action item={one.id} call={calls.testWebhook(app, one.id)} onClick={() => send(calls.testWebhook(app, one.id), 'A test will be sent.')}>Send a test</Action>
                <Action item={one.id} call={calls.rotateWebhook(app, one.id)} onClick={() => send(calls.rotateWebhook(app, one.id))}>New secret</Action>
                <Refusable item={one.id} onClick={() => edit(one)}>Edit</Refusable>
                <Action item={one.id} tone="danger" call={calls.deleteWebhook(app, one.id)} onClick={() => setAsked(one)}>Delete</Action>
              </div>
            </div>
            <Deliveries app={app} id={one.id} send={send} />
          </li>
        ))}
      </ul>
      <GivenUp app={app} send={send} />
      <FormDialog<Webhook>
        open={draft !== undefined}
        onClose={() => setDraft(undefined)}
        title={edited ? `Edit ${edited.id}` : 'New webhook'}
        note="Where requests are sent, and for what."
        call={edited ? calls.patchWebhook(app, edited.id, draft && patchOf(draft)) : calls.createWebhook(app, draft && requestOf(draft))}
        complete={draft !== undefined && complete(draft)}
        label={edited ? 'Save' : 'Create'}
        done={(made) => void took(made, edited ? 'The webhook is changed.' : 'The webhook is created.')}
      >
        {draft && <Form draft={draft} named={edited !== undefined} change={setDraft} />}
      </FormDialog>
      <Dialog open={shown !== undefined} onClose={() => setShown(undefined)} title={`The secret of ${shown?.id ?? ''}`} note="The receiver verifies the signatures with it. It is not shown again.">
        {shown && <p className="flex items-center gap-2 font-mono text-xs [overflow-wrap:anywhere]" data-secret>{shown.secret} <CopyText text={shown.secret ?? ''} label="Copy the secret" /></p>}
        <Footer><Button tone="primary" onClick={() => setShown(undefined)}>Done</Button></Footer>
      </Dialog>
      <Dialog open={asked !== undefined} onClose={() => setAsked(undefined)} title="Delete the webhook?" note={asked && <>Nothing more is sent to {asked.id}, and what was not accepted is lost.</>}>
        <Footer>
          <Button onClick={() => setAsked(undefined)}>Cancel</Button>
          {asked && <Action tone="danger" call={calls.deleteWebhook(app, asked.id)} onClick={() => (setAsked(undefined), send(calls.deleteWebhook(app, asked.id), 'The webhook is deleted.'))}>Delete</Action>}
        </Footer>
      </Dialog>
    </Screen>
  );
}

/** What was given up, for all kinds of receivers. Most of the time there is nothing, and nothing is shown. */
function GivenUp({ app, send }: { app: string; send: (call: Call, done: string) => void }) {
  const list = useInfiniteQuery({
    queryKey: ['webhooks', app, '', 'failed'],
    queryFn: ({ pageParam, signal }) => ask<FailedPage>(calls.failedDeliveries(app, pageParam), signal),
    initialPageParam: '',
    getNextPageParam: (last) => last.nextPageToken,
    refetchInterval: (query) => (refused(query) ? false : 10_000),
  });
  const all = list.data?.pages.flatMap((page) => page.deliveries) ?? [];
  if (list.error && !list.data) return <Problem error={list.error} what="What was given up could not be listed" retry={() => void list.refetch()} />;
  if (all.length === 0) return null;
  return (
    <section aria-labelledby="given-up" className="mt-6">
      <h2 id="given-up" className="font-semibold">Given up</h2>
      <p className="text-xs text-soft">Deliveries that a receiver refused, or did not accept within a day: of webhooks, of single requests, and of A2A. They are deleted after a week.</p>
      <ol className="mt-1 text-xs">
        <Virtual as="li" items={all} keyOf={(d) => d.id} height={28} draw={(d, measured) => (
          <li {...measured} data-failed={d.id} className="pb-1 flex flex-wrap items-center gap-x-3 gap-y-1">
            <span className="font-mono text-2xs leading-5 text-soft"><When time={Date.parse(d.createdAt) / 1000} /></span>
            <span>{d.type}</span>
            <span className="[overflow-wrap:anywhere]">{whose(d)}</span>
            {d.receiver && <span className="font-mono text-2xs leading-5 text-soft [overflow-wrap:anywhere]"><Name of={d.receiver} /></span>}
            {d.userId && d.sessionId && d.runId && <Link className="underline" href={to.run({ app, user: d.userId, session: d.sessionId }, d.runId)}>run</Link>}
            {d.error && <span className="min-w-0 text-bad [overflow-wrap:anywhere]">{d.error}</span>}
            <Action call={calls.replayFailed(app, d.id)} onClick={() => send(calls.replayFailed(app, d.id), 'It will be sent again.')}>Send again</Action>
          </li>
        )} />
      </ol>
      {list.hasNextPage && <div className="mt-2"><Button disabled={list.isFetchingNextPage} onClick={() => void list.fetchNextPage()}>Show more</Button></div>}
    </section>
  );
}

/** What a receiver has not accepted, on demand. */
function Deliveries({ app, id, send }: { app: string; id: string; send: (call: Call, done: string) => void }) {
  const [open, setOpen] = useState(false);
  const page = useQuery({ queryKey: ['webhooks', app, id], queryFn: ({ signal }) => ask<DeliveryPage>(calls.webhookDeliveries(app, id), signal), enabled: open, refetchInterval: 5000 });
  return (
    <details onToggle={(e) => setOpen(e.currentTarget.open)} className="mt-1.5">
      <summary className="cursor-pointer text-xs text-soft hover:text-ink">Not accepted</summary>
      {page.isPending && open && <Loading what="the deliveries" />}
      {page.error && <Problem error={page.error} what="The deliveries could not be read" retry={() => void page.refetch()} />}
      {page.data?.deliveries.length === 0 && <p className="py-1 text-xs text-faint">The receiver has accepted everything.</p>}
      <ol className="mt-1 text-xs">
        <Virtual as="li" items={page.data?.deliveries ?? []} keyOf={(d) => d.id} height={28} draw={(d, measured) => (
          <li {...measured} className="flex flex-wrap items-center gap-x-3 gap-y-1 pb-1">
            <span className="font-mono text-2xs leading-5 text-soft"><When time={Date.parse(d.createdAt) / 1000} /></span>
            <span>{d.type}</span>
            <span className={d.status === 'failed' ? 'text-bad' : 'text-wait'}>{d.status === 'failed' ? 'given up' : 'pending'} after {d.attempts} {d.attempts === 1 ? 'attempt' : 'attempts'}</span>
            {d.userId && d.sessionId && d.runId && <Link className="underline" href={to.run({ app, user: d.userId, session: d.sessionId }, d.runId)}>run</Link>}
            {d.error && <span className="min-w-0 text-soft [overflow-wrap:anywhere]">{d.error}</span>}
            <Action call={calls.replayDelivery(app, id, d.id)} onClick={() => send(calls.replayDelivery(app, id, d.id), 'It will be sent again.')}>Send again</Action>
          </li>
        )} />
      </ol>
      {page.data?.nextPageToken && <p className="py-1 text-xs text-faint">These are the oldest 100.</p>}
    </details>
  );
}

function Form({ draft, named, change }: { draft: Draft; named: boolean; change: (draft: Draft) => void }) {
  const text = (name: 'id' | 'url' | 'description') => ({
    value: draft[name], className: input, spellCheck: false, autoComplete: 'off',
    onChange: (e: { target: { value: string } }) => change({ ...draft, [name]: e.target.value }),
  });
  const toggle = (type: EventType) => change({ ...draft, events: types.filter((t) => draft.events.includes(t) !== (t === type)) });
  return (
    <div className="grid gap-3 sm:grid-cols-2">
      <div className="sm:col-span-2"><Field label="URL"><input {...text('url')} placeholder="https://example.com/hook" /></Field></div>
      {!named && <Field label="Name"><input {...text('id')} placeholder="generated" /></Field>}
      <Field label="Description"><input {...text('description')} /></Field>
      <fieldset className="sm:col-span-2">
        <legend className="label">When</legend>
        <div className="grid gap-x-4 sm:grid-cols-2">
          {types.map((type) => (
            <label key={type} className="flex items-center gap-2 py-1">
              <input type="checkbox" checked={draft.events.includes(type)} onChange={() => toggle(type)} />
              {events[type]}
            </label>
          ))}
        </div>
      </fieldset>
    </div>
  );
}
