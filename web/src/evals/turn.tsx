// What can be thought of a turn, on the workbench: a rating, a note, and a test.
import { useQueryClient } from '@tanstack/react-query';
import { useState, type ReactNode } from 'react';

import type { Call } from '../api/calls';
import { ask } from '../api/client';
import type { Event, Key } from '../api/types';
import { useCaller } from '../caller';
import { textOf } from '../log/rows';
import { Link } from '../router';
import { Dialog } from '../ui/dialog';
import { Icon } from '../ui/icons';
import { Menu, type Item } from '../ui/menu';
import { Action, Button, Refusable } from '../ui/parts';
import { say } from '../ui/toast';
import type { SessionModel } from '../workbench/session';
import { caseName, evalCalls, feedbackOf, toEvals } from './api';
import { setKey } from './set';

/** The set for cases when there is none yet. */
const firstSet = 'tests';

export function Thumb({ down }: { down?: boolean }) {
  return <span className={down ? 'rotate-180' : ''}><Icon name="feedback" size={15} /></span>;
}

/** What is thought of a run, and ways to change what the caller thinks of it. */
export function useOpinion(model: SessionModel, events: Event[], run: string) {
  const { key } = model;
  const client = useQueryClient();
  const me = useCaller()?.author || key.user;
  const all = feedbackOf(events).filter((f) => f.runId === run);
  const mine = all.find((f) => f.author === me);
  const give = (rating: 'up' | 'down' | undefined, text: string | undefined) => evalCalls.feedback(key, run, { ...(rating ? { rating } : {}), ...(text ? { note: text } : {}) });
  const rated = (rating: 'up' | 'down') => give(mine?.rating === rating ? undefined : rating, mine?.note);
  const noted = (text: string) => give(mine?.rating, text.trim());
  const send = async (call: Call) => {
    if ((await model.act(call)) === undefined) return;
    void client.invalidateQueries({ queryKey: ['feedback', key.app] });
    await model.load('end');
  };
  return {
    mine,
    /** What there is to read: all but ratings of the caller. */
    said: all.filter((f) => f.note || f.author !== me),
    /** The requests: rated gives a rating, or takes the same one back. */
    rated, noted,
    rate: (rating: 'up' | 'down') => void send(rated(rating)),
    note: (text: string) => void send(noted(text)),
  };
}

interface BarProps {
  model: SessionModel;
  events: Event[];
  run: string;
  /** A note is being written. */
  writing: boolean;
  setWriting: (is: boolean) => void;
}

/** The bar below a turn. */
export function TurnBar({ model, events, run, writing, setWriting }: BarProps) {
  const { mine, said, rated, noted, rate, note } = useOpinion(model, events, run);
  const developer = useCaller()?.developer ?? false;
  return (
    <div data-feedback={run} className="mt-1">
      <div className="-ml-1.5 flex flex-wrap items-center gap-x-0.5 max-md:-ml-3">
        <Action tone="quiet" className="w-7 px-0! aria-pressed:bg-sunk aria-pressed:text-good max-md:w-9" title="Good answer" aria-label="Good answer" aria-pressed={mine?.rating === 'up'} call={() => rated('up')} onClick={() => rate('up')}><Thumb /></Action>
        <Action tone="quiet" className="w-7 px-0! aria-pressed:bg-sunk aria-pressed:text-bad max-md:w-9" title="Bad answer" aria-label="Bad answer" aria-pressed={mine?.rating === 'down'} call={() => rated('down')} onClick={() => rate('down')}><Thumb down /></Action>
        <Refusable asks="review" tone="quiet" onClick={() => setWriting(true)}>{mine?.note ? 'Edit the note' : 'Note'}</Refusable>
        {developer && <Keep id={model.key} run={run} message={textOf(events.find((e) => e.invocationId === run && e.author === 'user') ?? ({} as Event))} />}
      </div>
      {writing && <NoteForm note={mine?.note ?? ''} call={noted} save={(text) => (setWriting(false), note(text))} close={() => setWriting(false)} />}
      {said.map((f) => (
        <p key={f.author} className="text-sm text-soft [overflow-wrap:anywhere]"><b className="font-mono text-2xs font-semibold">{f.author}</b>: {f.rating && <span className={f.rating === 'up' ? 'text-good' : 'text-bad'}>{f.rating === 'up' ? 'good' : 'bad'}</span>}{f.rating && f.note && ' · '}{f.note}</p>
      ))}
    </div>
  );
}

function NoteForm({ note, call, save, close }: { note: string; call: (text: string) => Call; save: (text: string) => void; close: () => void }) {
  const [text, setText] = useState(note);
  return (
    <form onSubmit={(e) => (e.preventDefault(), save(text))} className="my-1 flex max-w-[620px] flex-wrap gap-2">
      <input autoFocus aria-label="Note on this turn" maxLength={4000} className="field min-w-[200px] flex-1" value={text} onChange={(e) => setText(e.target.value)} onKeyDown={(e) => e.key === 'Escape' && (e.stopPropagation(), close())} />
      <Action tone="primary" call={() => call(text)} onClick={() => save(text)}>Save the note</Action>
      <Button onClick={close}>Cancel</Button>
    </form>
  );
}

/** Makes a case of a session, or of a turn and those before it: in the only set, or in one that is chosen from sets. */
function useKeeping(id: Key, run: string | undefined, message: string) {
  const client = useQueryClient();
  const [made, setMade] = useState<{ set: string; name: string }>();
  const [sets, setSets] = useState<string[]>();
  const failed = (error: Error) => say(error.message, 'bad');
  const store = async (set: string, exists: boolean) => {
    if (!exists) await ask(evalCalls.createSet(id.app, set));
    const { evalCases } = await ask<{ evalCases: { evalId: string }[] }>(evalCalls.set(id.app, set));
    const name = caseName(message, evalCases.map((c) => c.evalId));
    await ask(evalCalls.addSession(id.app, set, name, id, run));
    setMade({ set, name });
    say(`Saved as ${name} in ${set}.`);
    void client.invalidateQueries({ queryKey: ['eval-sets', id.app] });
    void client.invalidateQueries({ queryKey: setKey(id.app, set) });
  };
  const start = () =>
    void ask<string[]>(evalCalls.sets(id.app))
      .then((list) => (list.length > 1 ? setSets(list) : store(list[0] ?? firstSet, list.length > 0)))
      .catch(failed);
  const keep = (set: string) => (setSets(undefined), void store(set, true).catch(failed));
  const call = (set: string) => evalCalls.addSession(id.app, set, caseName(message, []), id, run);
  return { made, sets, start, keep, call, leave: () => setSets(undefined) };
}

/** The item of a menu that makes a case, for developers, and what asks for the set if there are several. */
export function useKeepItem(id: Key, run: string | undefined, message: string): { items: Item[]; dialog: ReactNode } {
  const developer = useCaller()?.developer ?? false;
  const { sets, start, keep, call, leave } = useKeeping(id, run, message);
  return {
    items: developer ? [{ label: 'Save as a test', icon: 'feedback', act: start, call: call(firstSet) }] : [],
    dialog: (
      <Dialog open={sets !== undefined} onClose={leave} title="Save as a test" note="In which set of evaluations?">
        <ul className="divide-y divide-line overflow-hidden rounded-lg border">
          {(sets ?? []).map((set) => <li key={set}><button type="button" className="block w-full px-3 py-2 text-left font-mono text-sm hover:bg-paper" onClick={() => keep(set)}>{set}</button></li>)}
        </ul>
      </Dialog>
    ),
  };
}

/** Makes a case of a turn and those before it. */
export function Keep({ id, run, message }: { id: Key; run: string; message: string }) {
  const { made, sets, start, keep, call } = useKeeping(id, run, message);
  if (made) return <span className="text-sm">Saved as <Link href={toEvals.case(id.app, made.set, made.name)} className="text-accent underline">{made.name}</Link></span>;
  if (sets) return <Menu trigger={<Button tone="quiet">Save in a set</Button>} items={sets.map((set) => ({ label: set, act: () => keep(set), call: () => call(set) }))} />;
  return <Action tone="quiet" title="Make a case of an evaluation of the conversation up to here" call={() => call(firstSet)} onClick={start}>Save as a test</Action>;
}
