import { useQuery as useData } from '@tanstack/react-query';
import { Fragment, useEffect, useMemo, useRef, useState, type ReactNode } from 'react';

import { calls } from '../api/calls';
import { ask } from '../api/client';
import type { Json, Run, Session } from '../api/types';
import { useCommands } from '../commands';
import { titleOf } from '../log/labels';
import { replayName } from '../log/replaying';
import { seconds } from '../log/timeline';
import { costWords } from '../log/cost';
import { align, sortedJson, statesOf, type Aligned, type Step, type Turn } from '../log/turn';
import { Link, navigate, to, useQuery } from '../router';
import { typing } from '../shortcuts';
import { Dialog } from '../ui/dialog';
import { DiffText, DiffValue } from '../ui/difftext';
import { Author, Button, Empty, Loading, Problem, Status, When } from '../ui/parts';
import { Screen } from '../ui/screen';
import { useMore } from '../ui/scroll';
import { Virtual, type Measured } from '../ui/virtual';
import { placesOf, useTurns, type Column, type Place } from './run/turns';
import { useTitles } from './titles';

/** How many runs are shown beside each other. */
const most = 6;
const letters = 'ABCDEF';

export default function CompareScreen({ app, user }: { app: string; user: string }) {
  const query = useQuery();
  const text = query.toString();
  const places = useMemo(() => placesOf(new URLSearchParams(text), user).slice(0, most), [text, user]);
  const columns = useTurns(app, places);
  const turns = columns.flatMap((c) => c.turn ?? []);
  const [adding, setAdding] = useState(false);
  const [only, setOnly] = useState(false);
  const show = (list: Place[]) => navigate(to.compare(app, user, list), { replace: true });
  useCommands([{ label: 'Add a run to the comparison…', act: () => setAdding(true) }]);
  return (
    <Screen
      wide
      title="Compare runs"
      note={<>Runs of <b className="font-semibold text-ink">{app}</b> beside each other. What differs from the first one is marked, texts by word.</>}
      call={places.map((p) => calls.session({ app, user: p.user, session: p.session }))}
      actions={<Button icon="plus" tone={places.length < 2 ? 'primary' : 'plain'} disabled={places.length >= most} onClick={() => setAdding(true)}>Add a run</Button>}
    >
      {places.length === 0 && (
        <Empty title="Choose the runs to compare" action={<><Button tone="primary" icon="plus" onClick={() => setAdding(true)}>Add a run</Button><Button onClick={() => navigate(to.user(app, user, 'runs'))}>Show the runs</Button></>}>
          Two or more runs, of one session or of several: messages, calls, results, state, tokens and time.
        </Empty>
      )}
      {columns.map((c) => c.error && <div key={JSON.stringify(c.place)} className="mb-3"><Problem error={c.error} what={`The session ${c.place.session} could not be read`} retry={c.retry} /></div>)}
      {columns.some((c) => c.pending) && <Loading what="the runs" />}
      {columns.length > 0 && columns.every((c) => !c.pending) && (
        <>
          {columns.filter((c) => !c.turn && !c.error).map((c) => (
            <p key={JSON.stringify(c.place)} role="status" className="mb-3 rounded-md border border-wait/50 bg-waittint px-4 py-2">The session <code className="font-mono text-xs">{c.place.session}</code> has no such run (any more). <button type="button" className="touch text-accent underline" onClick={() => show(places.filter((p) => p !== c.place))}>Leave it out</button></p>
          ))}
          {turns.length === 1 && <p className="mb-3 text-soft">Add another run, to see what differs.</p>}
          {turns.length > 0 && <Comparison columns={columns.filter((c) => c.turn)} only={only} setOnly={setOnly} remove={(place) => show(places.filter((p) => p !== place))} first={(place) => show([place, ...places.filter((p) => p !== place)])} />}
        </>
      )}
      <Dialog open={adding} onClose={() => setAdding(false)} title="Add a run" note="Replays and branches of the sessions that are compared, and the newest runs." width="max-w-[640px]">
        {adding && <Picker app={app} user={user} places={places} add={(place) => (setAdding(false), show([...places, place]))} />}
      </Dialog>
    </Screen>
  );
}

interface ComparisonProps {
  columns: Column[];
  only: boolean;
  setOnly: (only: boolean) => void;
  remove: (place: Place) => void;
  first: (place: Place) => void;
}

function Comparison({ columns, only, setOnly, remove, first }: ComparisonProps) {
  const turns = columns.map((c) => c.turn!);
  const rows = useMemo(() => align(turns), [turns]);
  const states = useMemo(() => statesOf(turns), [turns]);
  const frame = useRef<HTMLDivElement>(null);
  const more = useMore(frame, turns.length);
  const several = turns.length > 1;
  const differing = rows.filter((r) => r.differs).length + states.filter((s) => s.differs).length;
  const shown = [...rows.map((row) => ({ row, differs: row.differs })), ...states.map((state) => ({ state, differs: state.differs }))].filter((one) => one.differs || !only || !several);
  const toItem = useRef<(index: number) => void>(null);
  // The line that was jumped to, and the same until the user does something else: it comes into the document only when it is
  // scrolled to, and may leave it once more before the heights of the lines around it are known.
  const at = useRef(-1);
  const wanted = useRef(-1);
  const jump = (by: number) => {
    const all = shown.flatMap((one, i) => (one.differs ? [i] : []));
    if (all.length === 0) return;
    const focused = document.activeElement?.closest<HTMLElement>('[data-differs]')?.dataset['index'];
    const from = focused === undefined ? at.current : Number(focused);
    const next = (by > 0 ? all.find((i) => i > from) : all.findLast((i) => i < from && from >= 0)) ?? all.at(by > 0 ? 0 : -1)!;
    at.current = wanted.current = next;
    const element = frame.current?.querySelector<HTMLElement>(`[data-differs][data-index="${next}"]`);
    (document.activeElement as HTMLElement | null)?.blur();
    element?.focus({ preventScroll: true });
    element?.scrollIntoView({ block: 'center' });
    if (!element) toItem.current?.(next);
  };
  useEffect(() => {
    const forget = () => void (wanted.current = -1);
    const onKey = (e: KeyboardEvent) => {
      forget();
      if (e.defaultPrevented || typing(e.target) || e.metaKey || e.ctrlKey || e.altKey || document.querySelector('[role=dialog],[role=menu]')) return;
      if (e.key === 'j' || e.key === 'k') e.preventDefault(), jump(e.key === 'j' ? 1 : -1);
    };
    window.addEventListener('keydown', onKey);
    window.addEventListener('pointerdown', forget);
    return () => (window.removeEventListener('keydown', onKey), window.removeEventListener('pointerdown', forget));
  });
  useCommands(several ? [{ label: 'Next difference', keys: 'j', act: () => jump(1) }, { label: 'Previous difference', keys: 'k', act: () => jump(-1) }, { label: only ? 'Show all steps' : 'Show only what differs', act: () => setOnly(!only) }] : []);
  const grid = { gridTemplateColumns: `repeat(${turns.length}, minmax(${turns.length > 2 ? 224 : 0}px, 1fr))` };
  const line = (measured: Measured, differs: boolean, cells: ReactNode[], title?: string) => (
    <div {...measured} ref={(el) => (measured.ref(el), void (el && measured['data-index'] === wanted.current && document.activeElement === document.body && el.focus({ preventScroll: true })))} role="row" tabIndex={-1} data-differs={differs} className={`border-t outline-offset-[-2px] md:grid ${differs ? 'bg-waittint/50 shadow-[inset_3px_0_0_var(--wait)]' : ''}`} style={grid}>
      {title && <div role="rowheader" className="label px-4 pt-1.5 md:col-span-full">{title}{differs && <span className="ml-2 text-wait">differs</span>}</div>}
      {cells.map((cell, i) => (
        <div key={i} role="cell" className={`min-w-0 px-4 pt-1 pb-2 ${i > 0 ? 'md:border-l' : ''} ${i > 0 && !title ? 'max-md:border-t max-md:border-dashed' : ''}`}>
          {several && <span className="label mr-2 md:hidden">{letters[i]}</span>}
          {cell}
        </div>
      ))}
    </div>
  );
  const facts = factsOf(turns);
  return (
    <>
      {several && (
        <div className="mb-3 flex flex-wrap items-center gap-x-4 gap-y-2">
          <p role="status" className={differing > 0 ? 'text-wait' : 'text-good'}>{differing > 0 ? `${differing} ${differing === 1 ? 'step differs' : 'steps differ'}` : 'All steps are the same'}</p>
          <label className="flex h-7 items-center gap-2"><input type="checkbox" checked={only} onChange={(e) => setOnly(e.target.checked)} className="size-3.5 accent-(--accent)" />Only what differs</label>
          {differing > 0 && <span className="flex gap-1"><Button tone="quiet" icon="before" bare title="Previous difference (k)" onClick={() => jump(-1)}>Previous difference</Button><Button tone="quiet" icon="after" bare title="Next difference (j)" onClick={() => jump(1)}>Next difference</Button></span>}
        </div>
      )}
      <div className="more overflow-hidden rounded-lg border bg-sheet" data-more={more}>
        <div ref={frame} role="region" aria-label="Runs beside each other" tabIndex={0} className="overflow-x-auto" data-compare={turns.length}>
          <div role="table" aria-label="Comparison" className="md:min-w-fit">
            <div role="row" className="max-md:divide-y md:grid" style={grid}>
              {columns.map(({ place, turn }, i) => (
                <div key={`${place.user}/${place.session}/${place.run}`} role="columnheader" className="min-w-0 px-4 py-2 md:border-l md:first:border-l-0">
                  <div className="flex items-start gap-2">
                    <span className="mt-0.5 rounded-sm bg-sunk px-1.5 font-mono text-2xs leading-5 font-semibold">{letters[i]}</span>
                    <div className="min-w-0 flex-1">
                      <Link href={`${to.session(turn!.key)}?run=${encodeURIComponent(turn!.run)}`} className="block font-medium hover:underline max-md:-my-2 max-md:py-2"><span className="line-clamp-2">{turn!.title}</span></Link>
                      <p className="label line-clamp-2 [overflow-wrap:anywhere]" title={turn!.key.session}>{turn!.replayOf ? replayName(turn!.events.at(-1)!.timestamp) : turn!.key.session}</p>
                    </div>
                    {i > 0 && <Button tone="quiet" icon="left" bare title="Compare with this one" className="max-md:-mt-2 max-md:[&>svg]:rotate-90" onClick={() => first(place)}>{`Compare with ${letters[i]}`}</Button>}
                    {several && <Button tone="quiet" icon="close" bare title="Leave it out" className="max-md:-mt-2" onClick={() => remove(place)}>{`Leave ${letters[i]} out`}</Button>}
                  </div>
                  <dl className="mt-1 grid grid-cols-[52px_minmax(0,1fr)]">
                    {facts.map(({ name, values }) => (
                      <Fragment key={name}><dt className="label leading-[18px]">{name}</dt><dd data-fact={name} className={`font-mono text-2xs leading-[18px] [overflow-wrap:anywhere] ${i > 0 && values[i] !== values[0] ? 'font-semibold text-wait' : 'text-soft'}`}>{values[i] || '–'}</dd></Fragment>
                    ))}
                  </dl>
                  <p className="mt-1 flex flex-wrap items-center gap-x-3 text-xs">
                    <Status value={turn!.status} />
                    <Link href={to.run(turn!.key, turn!.run)} className="touch text-accent hover:underline">Steps</Link>
                    {!turn!.replayOf && <Link href={to.run(turn!.key, turn!.run, 'replay')} className="touch text-accent hover:underline">Replay…</Link>}
                  </p>
                </div>
              ))}
            </div>
            <Virtual items={shown} keyOf={(one, i) => ('state' in one ? `state ${one.state.name}` : String(i))} height={60} toItem={toItem} draw={(one, measured) => ('state' in one
              ? line(measured, one.differs, one.state.values.map((v, i) => <StateCell key={i} value={v} base={one.state.values[0]} n={i} />), `state ${one.state.name}`)
              : line(measured, one.differs, one.row.steps.map((s, n) => <Cell key={n} row={one.row} step={s} n={n} />)))} />
          </div>
        </div>
      </div>
    </>
  );
}

/** What is told of runs as a whole. What none of them has is left out. */
function factsOf(turns: Turn[]): { name: string; values: string[] }[] {
  const facts: [string, (t: Turn) => string][] = [
    ['time', (t) => seconds(t.took)],
    ['models', (t) => t.models.join(', ')],
    ['calls', (t) => `${t.modelCalls} of models, ${t.toolCalls} of tools`],
    ['tokens', (t) => (t.tokens.total ? `${t.tokens.total.toLocaleString()} (${t.tokens.input.toLocaleString()} in, ${t.tokens.output.toLocaleString()} out)` : '')],
    ['cost', (t) => costWords(t.cost)],
  ];
  return facts.map(([name, of]) => ({ name, values: turns.map(of) })).filter((f) => f.values.some(Boolean));
}

const titles: Record<Step['kind'], string> = { message: 'says', text: 'says', thought: 'thinks', call: 'calls', file: 'sends a file', code: 'code', transfer: 'hands over to', error: 'fails' };

/** A step of one run, with what differs from the first run. */
function Cell({ row, step, n }: { row: Aligned; step: Step | undefined; n: number }) {
  const base = n > 0 ? row.steps[0] : step;
  if (!step) return <span className="text-faint italic">no such step</span>;
  const compared = n > 0 && base !== undefined;
  const text = (of: string, from: string) => <DiffText {...(compared ? { before: from } : {})} after={of} />;
  const json = (label: 'args' | 'result', of: Json | undefined, from: Json | undefined) => {
    const inOneLine = row.steps.every((s) => JSON.stringify(s?.[label] ?? '').length < 60); // or in none, so that only values differ
    const written = (value: Json | undefined) => (inOneLine ? sortedJson(value).replaceAll(/\n\s*/g, ' ') : sortedJson(value));
    return of !== undefined && <div><span className="label mr-2">{label === 'args' ? 'arguments' : label}</span><DiffText className="json" {...(compared ? { before: written(from) } : {})} after={written(of)} /></div>;
  };
  return (
    <>
      <p className="truncate"><Author name={step.author} /> <span className="label">{titles[step.kind]}</span> {step.name && <b className="font-mono text-xs font-semibold">{step.name}</b>}{n > 0 && !base && <span className="label ml-2 text-wait">only here</span>}</p>
      {step.text && <div className={step.failed ? 'text-bad' : ''}>{text(step.text, base?.text ?? '')}</div>}
      {json('args', Object.keys((step.args as object) ?? {}).length > 0 ? step.args : undefined, base?.args)}
      {json('result', step.result, base?.result)}
    </>
  );
}

function StateCell({ value, base, n }: { value: Json | undefined; base: Json | undefined; n: number }) {
  if (value === undefined) return <span className="text-faint italic">unchanged</span>;
  if (value === null) return <span className="text-faint italic">deleted</span>;
  return n > 0 && base !== undefined ? <DiffValue before={base} after={value} /> : <DiffText className="json" after={typeof value === 'string' ? value : sortedJson(value)} />;
}

/** Runs that can be added: replays and branches of what is there, and recent ones. */
function Picker({ app, user, places, add }: { app: string; user: string; places: Place[]; add: (place: Place) => void }) {
  const runs = useData({ queryKey: ['recent-runs', app, user], queryFn: ({ signal }) => ask<Run[]>(calls.allRuns(app, user), signal) });
  const names = useTitles(app, user);
  const own = places.find((p) => p.user === user);
  const family = useData({
    queryKey: ['family', app, user, own?.session],
    enabled: own !== undefined,
    queryFn: async ({ signal }) => {
      const key = { app, user, session: own!.session };
      const session = await ask<Session>(calls.session(key), signal);
      return ask<Session[]>(calls.branches(key, session.forkedFrom?.rootId ?? session.id), signal);
    },
  });
  const taken = (session: string, run?: string) => places.some((p) => p.session === session && (run === undefined || p.run === run));
  // What was said is not in the list of the family. A replay is called by what it repeats, if by nothing else.
  const called = (s: Session) => (titleOf(s) === s.id ? names.get(s.id) || names.get(s.forkedFrom?.sessionId ?? '') || s.id : titleOf(s));
  const related = (family.data ?? []).filter((s) => !taken(s.id)).map((s) => ({
    key: s.id, id: s.id, title: called(s), note: s.forkedFrom?.replayOf ? 'replay' : s.forkedFrom ? 'branch' : 'original', time: s.lastUpdateTime,
    place: { user, session: s.id, run: s.forkedFrom?.replayOf ?? `@${s.forkedFrom?.atEventId ?? ''}` },
  }));
  const recent = (runs.data ?? []).filter((r) => !taken(r.sessionId, r.id)).slice(0, 50).map((r) => ({
    key: r.id, id: r.sessionId, title: names.get(r.sessionId) || r.sessionId, note: r.status, time: r.createTime, place: { user, session: r.sessionId, run: r.id },
  }));
  if (runs.isPending) return <Loading what="the runs" />;
  if (runs.error) return <Problem error={runs.error} what="The runs could not be listed" retry={() => void runs.refetch()} />;
  if (related.length + recent.length === 0) return <p className="text-soft">There are no other runs.</p>;
  return (
    <div className="space-y-4">
      {([['replays and branches', related], ['recent runs', recent]] as const).map(([title, list]) => list.length > 0 && (
        <section key={title}>
          <h3 className="label mb-1">{title}</h3>
          <ul className="rounded-md border">
            <Virtual as="li" items={list} keyOf={(one) => one.key} height={33} draw={(one, measured) => (
              <li {...measured} className="border-t border-t-line data-[index=0]:border-t-0">
                <button type="button" title={one.id} onClick={() => add(one.place)} className="flex w-full items-baseline gap-3 px-3 py-1.5 text-left hover:bg-tint max-md:py-2.5">
                  <span className="min-w-0 flex-1 truncate">{one.title}</span><span className="label">{one.note}</span><When time={one.time} />
                </button>
              </li>
            )} />
          </ul>
        </section>
      ))}
    </div>
  );
}
