import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';

import { calls } from '../api/calls';
import { ask } from '../api/client';
import { usePages } from '../api/usepages';
import type { JsonObject, Part } from '../api/types';
import { useCommands } from '../commands';
import { exactMoment, moment } from '../log/dates';
import { left, pendingIn, whoMay, type Entry, type InboxLink } from '../log/inbox';
import { Link, navigate, setQuery, to, useQuery } from '../router';
import { useApps } from '../scope';
import { Dialog, Footer } from '../ui/dialog';
import { AppFilter, filterClass, TextFilter, UserFilter } from '../ui/filters';
import { JsonView } from '../ui/json';
import { More } from '../ui/more';
import { Name } from '../ui/name';
import { Action, Button, copy, Empty, Field, Loading, Problem, When } from '../ui/parts';
import { Screen } from '../ui/screen';
import { say } from '../ui/toast';
import { Virtual } from '../ui/virtual';
import { RequestCard } from '../workbench/requests';
import { SavedFilters } from './savedsearches';

const kinds = [['', 'everything'], ['confirmation', 'confirmations'], ['input', 'questions'], ['login', 'logins'], ['result', 'results']] as const;

/** All that waits for people, in the sessions that the caller may see. */
export default function InboxScreen() {
  const client = useQueryClient();
  const query = useQuery();
  const filter = { appName: query.get('app') ?? '', userId: query.get('user') ?? '', kind: query.get('kind') ?? '', assignee: query.get('assignee') ?? '' };
  const key = ['inbox', filter];
  const apps = useApps().data ?? [];
  const [link, setLink] = useState<InboxLink>();
  const [assigned, setAssigned] = useState<Entry>();
  const [person, setPerson] = useState('');
  const list = usePages<Entry>(key, calls.inbox(filter), { every: 5000 });
  const send = async (what: () => Promise<unknown>, done: string) => {
    try {
      await what();
      if (done) say(done);
      await client.invalidateQueries({ queryKey: ['inbox'] });
      return true;
    } catch (error) {
      say((error as Error).message, 'bad');
      await client.invalidateQueries({ queryKey: ['inbox'] });
      return false;
    }
  };
  const responseOf = (part: Part) => (part.functionResponse?.response ?? {}) as JsonObject;
  const filtered = Object.values(filter).some(Boolean);
  useCommands(kinds.filter(([kind]) => kind !== filter.kind).map(([kind, label]) => ({ label: `Show ${label}`, act: () => setQuery({ kind }) })));
  const assign = (entry: Entry, assignee: string | null) => send(() => ask(calls.assignEntry(entry.id, assignee)), assignee ? `It is assigned to ${assignee}.` : 'It is no longer assigned.');
  return (
    <Screen title="Inbox" note="Logins, confirmations and questions that agents have for people." call={calls.inbox(filter)}>
      <div className="mb-5 flex flex-wrap gap-2" role="group" aria-label="Filters">
        <AppFilter label="Application" all="all applications" names={apps.map((app) => app.name)} value={filter.appName} change={(app) => setQuery({ app })} />
        <select aria-label="Kind" className={filterClass} value={filter.kind} onChange={(e) => setQuery({ kind: e.target.value })}>
          {kinds.map(([kind, label]) => <option key={kind} value={kind}>{label}</option>)}
        </select>
        <UserFilter value={filter.userId} change={(user) => setQuery({ user })} />
        <TextFilter label="Assigned to" placeholder="assigned to" value={filter.assignee} change={(assignee) => setQuery({ assignee })} />
        <SavedFilters screen="inbox" />
      </div>
      {list.isPending && <Loading what="the inbox" />}
      {list.error && <Problem error={list.error} what="The inbox could not be opened" retry={() => void list.refetch()} />}
      {list.isSuccess && list.rows.length === 0 && !list.hasNextPage && (
        <Empty title={filtered ? 'No matches' : 'Nothing is waiting'} action={filtered ? <Button onClick={() => navigate(to.inbox())}>Show all</Button> : undefined}>
          {filtered ? 'Nothing that waits fits the filters.' : 'When a tool needs a login, a confirmation or an answer, it is asked for here and in the conversation.'}
        </Empty>
      )}
      <ul>
        <Virtual as="li" items={list.rows} keyOf={(entry) => entry.id} height={220} draw={(entry, measured) => {
          const id = { app: entry.appName, user: entry.userId, session: entry.sessionId };
          return (
            <li {...measured} data-entry={entry.kind} className="pb-6">
              <div className="mb-1.5 flex flex-wrap items-baseline gap-x-3 gap-y-1">
                <Link href={to.session(id)} className="min-w-0 font-medium [overflow-wrap:anywhere] hover:underline">{entry.sessionTitle || <Name of={entry.sessionId} />}</Link>
                <span className="min-w-0 text-soft [overflow-wrap:anywhere]"><Name of={entry.appName} /> · <Name of={entry.userId} /></span>
                <span className="label">asked <When time={Date.parse(entry.since) / 1000} /></span>
                {entry.defaultAt ? <span className="label text-wait">answered by the server {left(entry.defaultAt)}</span> : entry.until && <span className="label" title={exactMoment(Date.parse(entry.until) / 1000)}>ends {left(entry.until)}</span>}
                {entry.escalatedAt && <span className="label text-bad">escalated</span>}
              </div>
              {entry.mayAnswer ? (
                <RequestCard
                  pending={pendingIn(entry)}
                  answer={(part) => send(() => ask(calls.answerEntry(entry.id, responseOf(part))), 'Thank you. The agent continues.')}
                  call={(part) => calls.answerEntry(entry.id, responseOf(part))}
                />
              ) : (
                <div className="rounded-md border border-line bg-sunk px-3.5 py-3">
                  <p className="font-semibold">{entry.message || `${entry.tool} waits`}</p>
                  <p className="text-soft">{whoMay(entry.answer)}</p>
                  {entry.args !== undefined && Object.keys(entry.args as object).length > 0 && entry.kind !== 'login' && <div className="mt-2 rounded-md bg-sheet px-3 py-2"><JsonView value={entry.args as JsonObject} label="the arguments" /></div>}
                </div>
              )}
              <div className="mt-1.5 flex flex-wrap items-center gap-1.5">
                <span className="label">{entry.assignee ? `assigned to ${entry.assignee}` : 'not assigned'}</span>
                <Action tone="quiet" call={() => calls.assignEntry(entry.id, 'someone')} onClick={() => (setPerson(entry.assignee ?? ''), setAssigned(entry))}>Assign</Action>
                {entry.mayAnswer && entry.kind !== 'login' && <Action tone="quiet" call={calls.linkEntry(entry.id)} onClick={() => void send(async () => setLink(await ask<InboxLink>(calls.linkEntry(entry.id))), '')}>Link</Action>}
              </div>
            </li>
          );
        }} />
      </ul>
      <More of={list} />
      <Dialog open={assigned !== undefined} onClose={() => setAssigned(undefined)} title="Assign to a person" note="Everyone who may answer still may.">
        <form
          onSubmit={(e) => {
            e.preventDefault();
            const entry = assigned!;
            setAssigned(undefined);
            void assign(entry, person.trim() || null);
          }}
        >
          <Field label="person"><input autoFocus spellCheck={false} className="field w-full" value={person} onChange={(e) => setPerson(e.target.value)} placeholder="none" /></Field>
          <Footer>
            <Button onClick={() => setAssigned(undefined)}>Cancel</Button>
            <Button tone="primary" type="submit">Assign</Button>
          </Footer>
        </form>
      </Dialog>
      <Dialog open={link !== undefined} onClose={() => setLink(undefined)} title="A link to answer it" note="Anyone who has the link can answer, once, as you.">
        {link && (
          <>
            <Field label={`can be used until ${moment(Date.parse(link.expiresAt) / 1000)}`}><textarea readOnly rows={4} className="field field-sizing-content w-full font-mono text-2xs" value={link.url} onFocus={(e) => e.currentTarget.select()} /></Field>
            <Footer>
              <Button onClick={() => setLink(undefined)}>Close</Button>
              <Button tone="primary" icon="copy" onClick={() => void copy(link.url, 'The link is on the clipboard.')}>Copy</Button>
            </Footer>
          </>
        )}
      </Dialog>
    </Screen>
  );
}
