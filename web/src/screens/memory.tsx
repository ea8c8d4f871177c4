import { useQueryClient } from '@tanstack/react-query';
import { useDeferredValue, useState } from 'react';

import { calls } from '../api/calls';
import { ask } from '../api/client';
import { usePages } from '../api/usepages';
import type { Part } from '../api/types';
import { Link, to } from '../router';
import { ScopePicker } from '../scopepicker';
import { Dialog, Footer } from '../ui/dialog';
import { More } from '../ui/more';
import { Action, Author, Button, Empty, Field, Loading, Problem, When } from '../ui/parts';
import { Screen } from '../ui/screen';
import { say } from '../ui/toast';
import { Virtual } from '../ui/virtual';

interface Memory {
  id: string;
  sessionId?: string;
  eventId: string;
  author: string;
  timestamp: number;
  content: { parts?: Part[] };
}

const textOf = (memory: Memory) => (memory.content.parts ?? []).map((p) => p.text ?? '').join('\n');

/** What agents remember of a user. */
export default function MemoryScreen({ app, user }: { app: string; user: string }) {
  const client = useQueryClient();
  const [search, setSearch] = useState('');
  const wanted = useDeferredValue(search.trim());
  const [edited, setEdited] = useState<{ memory: Memory; text: string }>();
  const [asked, setAsked] = useState<Memory | 'all'>();
  const found = usePages<Memory>(['memory', app, user, wanted], calls.memory(app, user, wanted));
  const { rows } = found;
  const send = async (call: ReturnType<typeof calls.forget>, done: string) => {
    try {
      await ask(call);
      say(done);
      setEdited(undefined);
      await client.invalidateQueries({ queryKey: ['memory', app, user] });
    } catch (error) {
      say((error as Error).message, 'bad');
    }
  };
  const forget = asked && (asked === 'all' ? calls.forget(app, user) : calls.deleteMemory(app, user, asked.id));
  return (
    <Screen
      wide
      scope={<ScopePicker />}
      title="Memory"
      note={<>What agents of <b className="font-semibold text-ink">{app}</b> can find from earlier sessions with <b className="font-semibold text-ink">{user}</b>.</>}
      call={calls.memory(app, user, wanted)}
      actions={rows.length > 0 || wanted ? <Action command tone="danger" call={calls.forget(app, user)} onClick={() => setAsked('all')}>Forget everything</Action> : undefined}
    >
      {(rows.length > 0 || search) && <input type="search" data-search aria-label="Search the memory" placeholder="Search for words" value={search} onChange={(e) => setSearch(e.target.value)} className="field mb-4 w-full max-w-[420px]" />}
      {found.isPending && <Loading what="the memory" />}
      {found.error && <Problem error={found.error} what="The memory could not be read" retry={() => void found.refetch()} />}
      {found.isSuccess && rows.length === 0 && (wanted
        ? <Empty title="No matches" action={<Button onClick={() => setSearch('')}>Show all</Button>}>Whole words are found, in any order.</Empty>
        : <Empty title={`No memories of ${user}`}>An agent or the API adds sessions to the memory, and agents can search what was said in them.</Empty>)}
      <ul>
        <Virtual as="li" items={rows} keyOf={(one) => one.id} height={80} draw={(one, measured) => (
          <li {...measured} data-memory={one.id} className="pb-2">
            <div className="flex flex-wrap items-start gap-x-4 gap-y-2 rounded-lg border border-line bg-sheet px-4 py-2.5">
              <div className="min-w-0 flex-1 basis-64">
                <p className="line-clamp-6 max-w-[90ch] whitespace-pre-wrap [overflow-wrap:anywhere]">{textOf(one)}</p>
                <p className="mt-1 flex flex-wrap items-baseline gap-x-3 text-xs text-faint">
                  <Author name={one.author} />
                  <When time={one.timestamp} />
                  {one.sessionId ? <Link className="underline" href={`${to.session({ app, user, session: one.sessionId })}?event=${encodeURIComponent(one.eventId)}`}>session</Link> : <span>its session is gone</span>}
                </p>
              </div>
              <div className="flex gap-1.5">
                <Button icon="edit" onClick={() => setEdited({ memory: one, text: textOf(one) })}>Edit</Button>
                <Action tone="danger" call={calls.deleteMemory(app, user, one.id)} onClick={() => setAsked(one)}>Delete</Action>
              </div>
            </div>
          </li>
        )} />
      </ul>
      <More of={found} />
      <Dialog open={edited !== undefined} onClose={() => setEdited(undefined)} title="Edit the memory" note="Agents find the new text. What was said in the session stays as it is." width="max-w-[640px]">
        {edited && (
          <>
            <Field label="text"><textarea autoFocus rows={8} className="field w-full" value={edited.text} onChange={(e) => setEdited({ ...edited, text: e.target.value })} /></Field>
            <Footer>
              <Button onClick={() => setEdited(undefined)}>Cancel</Button>
              <Action tone="primary" disabled={!edited.text.trim()} call={calls.editMemory(app, user, edited.memory.id, edited.text)} onClick={() => void send(calls.editMemory(app, user, edited.memory.id, edited.text), 'The memory is changed.')}>Save</Action>
            </Footer>
          </>
        )}
      </Dialog>
      <Dialog
        open={asked !== undefined}
        onClose={() => setAsked(undefined)}
        title={asked === 'all' ? 'Forget everything?' : 'Delete the memory?'}
        note={asked === 'all' ? <>Agents of {app} find nothing of earlier sessions with {user} any more. The sessions stay.</> : asked && <span className="line-clamp-3">{textOf(asked)}</span>}
      >
        <Footer>
          <Button onClick={() => setAsked(undefined)}>Cancel</Button>
          {forget && <Action tone="danger" call={forget} onClick={() => (setAsked(undefined), void send(forget, asked === 'all' ? 'Everything is forgotten.' : 'The memory is deleted.'))}>{asked === 'all' ? 'Forget everything' : 'Delete'}</Action>}
        </Footer>
      </Dialog>
    </Screen>
  );
}
