// What can be thought of a turn, on the workbench: a rating, a note, and a test.
import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';

import { ask } from '../api/client';
import type { Event, Key } from '../api/types';
import { useCaller } from '../caller';
import { textOf } from '../log/rows';
import { Link } from '../router';
import { Menu } from '../ui/menu';
import { Action, Button, Refusable } from '../ui/parts';
import { say } from '../ui/toast';
import type { SessionModel } from '../workbench/session';
import { caseName, evalCalls, feedbackOf, toEvals } from './api';
import { setKey } from './set';

/** The set for cases when there is none yet. */
const firstSet = 'tests';

const thumb = 'M5 14V7l3-5c1.2 0 1.8.9 1.5 2L9 6.5h4c.8 0 1.3.7 1.1 1.5l-1.2 4.8c-.2.7-.8 1.2-1.5 1.2zM5 14H2.5V7H5';

function Thumb({ down }: { down?: boolean }) {
  return <svg width="15" height="15" viewBox="0 0 16 16" fill="none" stroke="currentColor" strokeWidth="1.3" strokeLinejoin="round" aria-hidden="true" className={`shrink-0 ${down ? 'rotate-180' : ''}`}><path d={thumb} /></svg>;
}

/** The bar below a turn. */
export function TurnBar({ model, events, run }: { model: SessionModel; events: Event[]; run: string }) {
  const { key } = model;
  const caller = useCaller();
  const me = caller?.author || key.user;
  const all = feedbackOf(events).filter((f) => f.runId === run);
  const mine = all.find((f) => f.author === me);
  const [writing, setWriting] = useState(false);
  const [note, setNote] = useState('');
  const give = (rating: 'up' | 'down' | undefined, text: string | undefined) => ({ ...(rating ? { rating } : {}), ...(text ? { note: text } : {}) });
  const send = async (body: ReturnType<typeof give>) => {
    if ((await model.act(evalCalls.feedback(key, run, body))) === undefined) return;
    await model.load('end');
  };
  const rate = (rating: 'up' | 'down') => give(mine?.rating === rating ? undefined : rating, mine?.note);
  const write = () => (setNote(mine?.note ?? ''), setWriting(true));
  const save = () => (setWriting(false), void send(give(mine?.rating, note.trim())));
  return (
    <div data-feedback={run} className="mt-1">
      <div className="-ml-1.5 flex flex-wrap items-center gap-x-0.5">
        <Action tone="quiet" className="w-7 px-0! aria-pressed:bg-sunk aria-pressed:text-good max-md:w-9" title="Good answer" aria-label="Good answer" aria-pressed={mine?.rating === 'up'} call={() => evalCalls.feedback(key, run, rate('up'))} onClick={() => void send(rate('up'))}><Thumb /></Action>
        <Action tone="quiet" className="w-7 px-0! aria-pressed:bg-sunk aria-pressed:text-bad max-md:w-9" title="Bad answer" aria-label="Bad answer" aria-pressed={mine?.rating === 'down'} call={() => evalCalls.feedback(key, run, rate('down'))} onClick={() => void send(rate('down'))}><Thumb down /></Action>
        <Refusable asks="review" tone="quiet" onClick={write}>{mine?.note ? 'Edit the note' : 'Note'}</Refusable>
        {caller?.developer && <Keep id={key} run={run} message={textOf(events.find((e) => e.invocationId === run && e.author === 'user') ?? ({} as Event))} />}
      </div>
      {writing && (
        <form onSubmit={(e) => (e.preventDefault(), save())} className="my-1 flex max-w-[620px] flex-wrap gap-2">
          <input autoFocus aria-label="Note on this turn" maxLength={4000} className="field min-w-[200px] flex-1" value={note} onChange={(e) => setNote(e.target.value)} onKeyDown={(e) => e.key === 'Escape' && (e.stopPropagation(), setWriting(false))} />
          <Action tone="primary" call={() => evalCalls.feedback(key, run, give(mine?.rating, note.trim()))} onClick={save}>Save the note</Action>
          <Button onClick={() => setWriting(false)}>Cancel</Button>
        </form>
      )}
      {all.filter((f) => f.note || f.author !== me).map((f) => (
        <p key={f.author} className="text-sm text-soft [overflow-wrap:anywhere]"><b className="font-mono text-2xs font-semibold">{f.author}</b> {f.rating && <span className={f.rating === 'up' ? 'text-good' : 'text-bad'}>{f.rating === 'up' ? 'good' : 'bad'}</span>} {f.note}</p>
      ))}
    </div>
  );
}

/** Makes a case of a turn and those before it. */
function Keep({ id, run, message }: { id: Key; run: string; message: string }) {
  const client = useQueryClient();
  const [made, setMade] = useState<{ set: string; name: string }>();
  const [sets, setSets] = useState<string[]>();
  const failed = (error: Error) => say(error.message, 'bad');
  const keep = async (set: string, exists: boolean) => {
    if (!exists) await ask(evalCalls.createSet(id.app, set));
    const { evalCases } = await ask<{ evalCases: { evalId: string }[] }>(evalCalls.set(id.app, set));
    const name = caseName(message, evalCases.map((c) => c.evalId));
    await ask(evalCalls.addSession(id.app, set, name, id, run));
    setMade({ set, name });
    say(`Kept as ${name} in ${set}.`);
    void client.invalidateQueries({ queryKey: ['eval-sets', id.app] });
    void client.invalidateQueries({ queryKey: setKey(id.app, set) });
  };
  const start = () =>
    void ask<string[]>(evalCalls.sets(id.app))
      .then((list) => (list.length > 1 ? setSets(list) : keep(list[0] ?? firstSet, list.length > 0)))
      .catch(failed);
  if (made) return <span className="text-sm">Kept as <Link href={toEvals.case(id.app, made.set, made.name)} className="text-accent underline">{made.name}</Link></span>;
  if (sets) return <Menu trigger={<Button tone="quiet">Keep in a set</Button>} items={sets.map((set) => ({ label: set, act: () => void keep(set, true).catch(failed), call: () => evalCalls.addSession(id.app, set, caseName(message, []), id, run) }))} />;
  return <Action tone="quiet" title="Make a case of an evaluation of the conversation up to here" call={() => evalCalls.addSession(id.app, firstSet, caseName(message, []), id, run)} onClick={start}>Keep as a test</Action>;
}
