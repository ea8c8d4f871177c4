import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';

import { ask } from '../api/client';
import type { JsonObject } from '../api/types';
import { navigate } from '../router';
import { Dialog, Footer } from '../ui/dialog';
import { Action, Button, Empty, Field, Loading, Problem } from '../ui/parts';
import { Screen } from '../ui/screen';
import { say } from '../ui/toast';
import { caseName, evalCalls, textOfContent, toEvals, toolsOfTurn, withText, type Case, type Invocation, type Set as EvalSet, type ToolCall } from './api';
import { Card, Crumbs } from './parts';
import { setKey } from './set';

/** What can be changed of a turn. */
interface Draft {
  user: string;
  answer: string;
  calls: { name: string; args: string; was?: ToolCall }[];
}

const draftOf = (turn: Invocation): Draft => ({
  user: textOfContent(turn.userContent),
  answer: textOfContent(turn.finalResponse),
  calls: toolsOfTurn(turn).map((was) => ({ name: was.name, args: JSON.stringify(was.args ?? {}), was })),
});

function objectOf(text: string): JsonObject | undefined {
  try {
    const value = JSON.parse(text || '{}') as unknown;
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as JsonObject) : undefined;
  } catch {
    return undefined;
  }
}

/** What can be changed of a case beside its turns. */
interface About {
  name: string;
  user: string;
  state: string;
}

const aboutOf = (one: Case): About => ({ name: one.evalId, user: one.sessionInput?.userId ?? '', state: Object.keys(one.sessionInput?.state ?? {}).length > 0 ? JSON.stringify(one.sessionInput!.state, null, 2) : '' });

/** A case with what was changed; the rest of it stays. */
function edited(app: string, from: Case, about: About, turns: { draft: Draft; from: Invocation }[]): Case {
  return {
    ...from,
    evalId: about.name.trim(),
    sessionInput: { appName: app, ...from.sessionInput, userId: about.user.trim(), state: objectOf(about.state) ?? {} },
    conversation: turns.map(({ draft, from: turn }) => ({
      ...turn,
      userContent: withText(turn.userContent, 'user', draft.user),
      finalResponse: withText(turn.finalResponse, 'model', draft.answer),
      intermediateData: { ...turn.intermediateData, toolUses: draft.calls.map((c) => ({ ...c.was, name: c.name.trim(), args: objectOf(c.args) ?? {} })) },
    })),
  };
}

/** What is edited of a case. */
interface Form {
  from: Case;
  about: About;
  turns: { draft: Draft; from: Invocation }[];
}

const formOf = (from: Case): Form => ({ from, about: aboutOf(from), turns: from.conversation!.map((turn) => ({ draft: draftOf(turn), from: turn })) });

const isChanged = ({ from, about, turns }: Form) =>
  JSON.stringify(about) !== JSON.stringify(aboutOf(from)) || turns.length !== from.conversation!.length || turns.some((t, i) => t.from !== from.conversation![i] || JSON.stringify(t.draft) !== JSON.stringify(draftOf(t.from)));

/** A turn of which nothing is known yet. The id tells it from those that there are. */
function newTurn(others: Invocation[]): Invocation {
  let n = others.length + 1;
  while (others.some((t) => t.invocationId === `turn-${n}`)) n++;
  return { invocationId: `turn-${n}`, userContent: { role: 'user', parts: [] }, creationTimestamp: Math.floor(Date.now() / 1000), intermediateData: { toolUses: [], toolResponses: [], intermediateResponses: [] } };
}

/** Writes a case by hand. */
export function NewCaseScreen({ app, set }: { app: string; set: string }) {
  const one = useQuery({ queryKey: setKey(app, set), queryFn: ({ signal }) => ask<EvalSet>(evalCalls.set(app, set), signal) });
  const [blank] = useState((): Case => ({ evalId: '', conversation: [newTurn([])], sessionInput: { userId: 'user' }, creationTimestamp: Math.floor(Date.now() / 1000) }));
  if (one.data) return <Editor app={app} set={set} one={blank} taken={one.data.evalCases.map((c) => c.evalId)} />;
  return (
    <Screen title={<><Crumbs list={[['Evaluation', toEvals.sets(app)], [set, toEvals.set(app, set)]]} />New case</>} call={evalCalls.set(app, set)}>
      {one.isPending && <Loading what="the set" />}
      {one.error && <Problem error={one.error} what="The evaluation set could not be read" retry={() => void one.refetch()} />}
    </Screen>
  );
}

export default function CaseScreen({ app, set, id }: { app: string; set: string; id: string }) {
  const one = useQuery({ queryKey: setKey(app, set), queryFn: ({ signal }) => ask<EvalSet>(evalCalls.set(app, set), signal) });
  const found = one.data?.evalCases.find((c) => c.evalId === id);
  if (found?.conversation) return <Editor app={app} set={set} one={found} />;
  return (
    <Screen title={<><Crumbs list={[['Evaluation', toEvals.sets(app)], [set, toEvals.set(app, set)]]} />{id}</>} call={evalCalls.set(app, set)}>
      {one.isPending && <Loading what="the case" />}
      {one.error && <Problem error={one.error} what="The case could not be read" retry={() => void one.refetch()} />}
      {one.data && <Empty title={found ? 'This case cannot be shown' : 'Case not found'} action={<Button onClick={() => navigate(toEvals.set(app, set))}>Show the set</Button>}>{found ? 'It has a scenario for a simulated user in place of a conversation.' : 'It was deleted, or is in another set.'}</Empty>}
    </Screen>
  );
}

/** Edits a case or, where taken has the names of the others, a new one. */
function Editor({ app, set, one, taken }: { app: string; set: string; one: Case; taken?: string[] }) {
  const client = useQueryClient();
  const [form, setForm] = useState(() => formOf(one));
  const { from, about, turns } = form;
  const setAbout = (to: About) => setForm({ ...form, about: to });
  const setTurns = (to: Form['turns']) => setForm({ ...form, turns: to });
  const [deleting, setDeleting] = useState(false);
  const name = taken && !about.name.trim() ? caseName(turns[0]!.draft.user, taken) : about.name;
  const next = edited(app, from, { ...about, name }, turns);
  const changed = taken !== undefined || isChanged(form);
  // What is read again must not replace what was edited.
  const other = from !== one && JSON.stringify(from) !== JSON.stringify(one);
  if (from !== one && !changed) setForm(formOf(one));
  const wrongState = !objectOf(about.state);
  const used = taken?.includes(next.evalId);
  const silent = turns.some((t) => !t.draft.user.trim() && !t.from.userContent.parts?.some((p) => p.text === undefined));
  const bad = silent || wrongState || used || turns.some((t) => t.draft.calls.some((c) => !c.name.trim() || !objectOf(c.args)));
  const change = (i: number, to: Partial<Draft>) => setTurns(turns.map((t, n) => (n === i ? { ...t, draft: { ...t.draft, ...to } } : t)));
  const call = taken ? evalCalls.addCase(app, set, next) : evalCalls.putCase(app, set, next);
  const reread = () => client.invalidateQueries({ queryKey: setKey(app, set) });
  const save = () =>
    void ask(call)
      .then(async () => {
        say('The case is saved.');
        if (!taken) {
          client.setQueryData<EvalSet>(setKey(app, set), (old) => old && { ...old, evalCases: old.evalCases.map((c) => (c.evalId === next.evalId ? next : c)) });
          setForm((now) => (now === form ? formOf(next) : { ...now, from: next }));
        }
        await reread();
        if (taken) navigate(toEvals.case(app, set, next.evalId), { replace: true });
      })
      .catch((error: Error) => say(error.message, 'bad'));
  const remove = () =>
    void ask(evalCalls.deleteCase(app, set, one.evalId))
      .then(() => (void reread(), navigate(toEvals.set(app, set))))
      .catch((error: Error) => say(error.message, 'bad'));
  return (
    <Screen
      title={<><Crumbs list={[['Evaluation', toEvals.sets(app)], [set, toEvals.set(app, set)]]} />{taken ? 'New case' : one.evalId}</>}
      note="What users say, and which answers and tool calls are expected of the agent."
      call={evalCalls.set(app, set)}
      actions={
        <>
          {!taken && <Button command icon="trash" tone="quiet" className="max-sm:-ml-2.5" onClick={() => setDeleting(true)}>Delete the case</Button>}
          <Action command="Save the case" tone="primary" call={call} disabled={!changed || bad} onClick={save}>Save</Action>
        </>
      }
    >
      {changed && other && !taken && (
        <p role="status" className="mb-3 rounded-md border border-wait/50 bg-waittint px-4 py-2">
          The case was changed elsewhere while you edited it. Saving overwrites that change. <button type="button" className="touch text-accent underline" onClick={() => setForm(formOf(one))}>Discard your edits</button>
        </p>
      )}
      <Card title="Session">
        <div className={`grid gap-3 sm:grid-cols-2 ${taken ? 'sm:[&>:last-child]:col-span-2' : ''}`}>
          {taken && <Field label="Name of the case" note={used ? <span className="text-bad">The set has a case with this name.</span> : 'Letters, digits, _, - and .'}><input autoFocus className="field w-full" placeholder={name} value={about.name} onChange={(e) => setAbout({ ...about, name: e.target.value })} /></Field>}
          <Field label="User"><input className="field w-full" placeholder="any user" value={about.user} onChange={(e) => setAbout({ ...about, user: e.target.value })} /></Field>
          <Field label="State at the beginning, as JSON" note={wrongState ? <span className="text-bad">The state is a JSON object, such as {'{"unit": "celsius"}'}.</span> : undefined}><textarea rows={rows(about.state)} spellCheck={false} aria-invalid={wrongState} className="field w-full font-mono text-xs" placeholder="{}" value={about.state} onChange={(e) => setAbout({ ...about, state: e.target.value })} /></Field>
        </div>
      </Card>
      {turns.map(({ draft, from }, i) => (
        <Card key={i} title={`Turn ${i + 1}`} aside={turns.length > 1 && <Button tone="quiet" icon="trash" onClick={() => setTurns(turns.toSpliced(i, 1))}>{`Remove turn ${i + 1}`}</Button>}>
          <div className="space-y-3" data-turn={i + 1}>
            <Field label="The user says"><textarea rows={rows(draft.user)} className="field w-full" value={draft.user} onChange={(e) => change(i, { user: e.target.value })} /></Field>
            {from.userContent.parts?.some((p) => p.text === undefined) && <p className="text-xs text-faint">The message has other parts, such as files, which stay.</p>}
            <Field label="Expected answer"><textarea rows={rows(draft.answer)} className="field w-full" value={draft.answer} onChange={(e) => change(i, { answer: e.target.value })} /></Field>
            <div>
              <p className="label mb-1">Expected tool calls, in order</p>
              <ul className="space-y-2">
                {draft.calls.map((call, n) => {
                  const put = (to: Partial<Draft['calls'][number]>) => change(i, { calls: draft.calls.map((c, m) => (m === n ? { ...c, ...to } : c)) });
                  const wrong = !objectOf(call.args);
                  return (
                    <li key={n} className="grid grid-cols-[minmax(0,1fr)_auto] gap-2 sm:grid-cols-[minmax(0,1fr)_minmax(0,2fr)_auto]">
                      <input aria-label={`Name of tool call ${n + 1}`} className="field w-full font-mono text-xs" value={call.name} onChange={(e) => put({ name: e.target.value })} />
                      <div className="max-sm:col-start-1">
                        <input aria-label={`Arguments of tool call ${n + 1}`} aria-invalid={wrong} className="field w-full font-mono text-xs" value={call.args} onChange={(e) => put({ args: e.target.value })} />
                        {wrong && <p className="text-xs text-bad">The arguments are a JSON object, such as {'{"city": "Oslo"}'}.</p>}
                      </div>
                      <Button tone="quiet" icon="trash" bare title={`Remove tool call ${n + 1}`} className="max-sm:col-start-2 max-sm:row-start-1" onClick={() => change(i, { calls: draft.calls.filter((_, m) => m !== n) })}>Remove</Button>
                    </li>
                  );
                })}
              </ul>
              <Button tone="quiet" icon="plus" className="mt-1 -ml-2.5" onClick={() => change(i, { calls: [...draft.calls, { name: '', args: '{}' }] })}>Add a tool call</Button>
            </div>
          </div>
        </Card>
      ))}
      <Button command icon="plus" onClick={() => setTurns([...turns, { draft: { user: '', answer: '', calls: [] }, from: newTurn(turns.map((t) => t.from)) }])}>Add a turn</Button>
      {silent && <p className="mt-2 text-sm text-soft">In every turn, the user says something.</p>}
      <Dialog open={deleting} onClose={() => setDeleting(false)} title={`Delete the case ${one.evalId}?`} note="This changes the file in the directory of the application. Results stay.">
        <Footer>
          <Button onClick={() => setDeleting(false)}>Cancel</Button>
          <Action tone="danger" icon="trash" call={evalCalls.deleteCase(app, set, one.evalId)} onClick={remove}>Delete</Action>
        </Footer>
      </Dialog>
    </Screen>
  );
}

const rows = (text: string) => Math.min(14, Math.max(2, Math.ceil(text.length / 80) + text.split('\n').length - 1));
