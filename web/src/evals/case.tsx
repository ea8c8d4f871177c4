import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';

import { ask } from '../api/client';
import type { JsonObject } from '../api/types';
import { navigate } from '../router';
import { Action, Button, Empty, Field, Loading, Problem } from '../ui/parts';
import { Screen } from '../ui/screen';
import { say } from '../ui/toast';
import { evalCalls, textOfContent, toEvals, toolsOfTurn, withText, type Case, type Invocation, type Set as EvalSet, type ToolCall } from './api';
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

/** A case with what was changed; the rest of it stays. */
function edited(from: Case, turns: { draft: Draft; from: Invocation }[]): Case {
  return {
    ...from,
    conversation: turns.map(({ draft, from: turn }) => ({
      ...turn,
      userContent: withText(turn.userContent, 'user', draft.user),
      finalResponse: withText(turn.finalResponse, 'model', draft.answer),
      intermediateData: { ...turn.intermediateData, toolUses: draft.calls.map((c) => ({ ...c.was, name: c.name.trim(), args: objectOf(c.args) ?? {} })) },
    })),
  };
}

export default function CaseScreen({ app, set, id }: { app: string; set: string; id: string }) {
  const one = useQuery({ queryKey: setKey(app, set), queryFn: ({ signal }) => ask<EvalSet>(evalCalls.set(app, set), signal) });
  const found = one.data?.evalCases.find((c) => c.evalId === id);
  if (found?.conversation) return <Editor key={one.dataUpdatedAt} app={app} set={set} one={found} />;
  return (
    <Screen title={<><Crumbs list={[['Evaluation', toEvals.sets(app)], [set, toEvals.set(app, set)]]} />{id}</>} call={evalCalls.set(app, set)}>
      {one.isPending && <Loading what="the case" />}
      {one.error && <Problem error={one.error} what="The case could not be read" retry={() => void one.refetch()} />}
      {one.data && <Empty title={found ? 'This case cannot be shown' : 'There is no such case'} action={<Button onClick={() => navigate(toEvals.set(app, set))}>Show the set</Button>}>{found ? 'It has a scenario for a simulated user in place of a conversation.' : 'It was deleted, or is in another set.'}</Empty>}
    </Screen>
  );
}

function Editor({ app, set, one }: { app: string; set: string; one: Case }) {
  const client = useQueryClient();
  const [turns, setTurns] = useState(() => one.conversation!.map((from) => ({ draft: draftOf(from), from })));
  const next = edited(one, turns);
  const changed = turns.length !== one.conversation!.length || turns.some((t) => JSON.stringify(t.draft) !== JSON.stringify(draftOf(t.from)));
  const bad = turns.some((t) => !t.draft.user.trim() && !t.from.userContent.parts?.some((p) => p.text === undefined)) || turns.some((t) => t.draft.calls.some((c) => !c.name.trim() || !objectOf(c.args)));
  const change = (i: number, to: Partial<Draft>) => setTurns(turns.map((t, n) => (n === i ? { ...t, draft: { ...t.draft, ...to } } : t)));
  const save = () =>
    void ask(evalCalls.putCase(app, set, next))
      .then(() => {
        say('The case is saved.');
        return client.invalidateQueries({ queryKey: setKey(app, set) });
      })
      .catch((error: Error) => say(error.message, 'bad'));
  return (
    <Screen
      title={<><Crumbs list={[['Evaluation', toEvals.sets(app)], [set, toEvals.set(app, set)]]} />{one.evalId}</>}
      note={<>As {one.sessionInput?.userId || 'any user'}{Object.keys(one.sessionInput?.state ?? {}).length > 0 && <>, with the state {Object.keys(one.sessionInput!.state!).join(', ')}</>}.</>}
      call={evalCalls.set(app, set)}
      actions={<Action tone="primary" call={evalCalls.putCase(app, set, next)} disabled={!changed || bad} onClick={save}>Save</Action>}
    >
      {turns.map(({ draft, from }, i) => (
        <Card key={i} title={`Turn ${i + 1}`} aside={turns.length > 1 && i === turns.length - 1 && <Button tone="quiet" icon="trash" onClick={() => setTurns(turns.slice(0, -1))}>Remove the turn</Button>}>
          <div className="space-y-3" data-turn={i + 1}>
            <Field label="The user says"><textarea rows={rows(draft.user)} className="field w-full" value={draft.user} onChange={(e) => change(i, { user: e.target.value })} /></Field>
            {from.userContent.parts?.some((p) => p.text === undefined) && <p className="text-xs text-faint">The message has other parts, such as files, which stay.</p>}
            <Field label="Expected answer"><textarea rows={rows(draft.answer)} className="field w-full" value={draft.answer} onChange={(e) => change(i, { answer: e.target.value })} /></Field>
            <div>
              <p className="label mb-1">expected tool calls, in order</p>
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
    </Screen>
  );
}

const rows = (text: string) => Math.min(14, Math.max(2, Math.ceil(text.length / 80) + text.split('\n').length - 1));
