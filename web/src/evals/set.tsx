import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';

import { ask } from '../api/client';
import { Link, navigate } from '../router';
import { Dialog, Footer } from '../ui/dialog';
import { Action, Button, Empty, Loading, Problem, When } from '../ui/parts';
import { Screen } from '../ui/screen';
import { Table, type Column } from '../ui/table';
import { say } from '../ui/toast';
import { Virtual } from '../ui/virtual';
import { evalCalls, textOfContent, toEvals, toolsOfTurn, type Case, type Set as EvalSet } from './api';
import { History } from './history';
import { Crumbs } from './parts';
import { RunDialog } from './rundialog';
import { RunningNow, useProgress } from './running';

export const setKey = (app: string, set: string) => ['eval-set', app, set];

const columns: Column[] = [{ name: 'run' }, { name: 'case' }, { name: 'turns', from: 'sm', end: true }, { name: 'calls', from: 'md', end: true }, { name: 'made', from: 'md' }];

/** The cases of a set, and its results. */
export default function SetScreen({ app, set }: { app: string; set: string }) {
  const client = useQueryClient();
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  const [running, setRunning] = useState<string[]>();
  const [deleting, setDeleting] = useState<'set' | Case>();
  const one = useQuery({ queryKey: setKey(app, set), queryFn: ({ signal }) => ask<EvalSet>(evalCalls.set(app, set), signal) });
  const busy = useProgress(app)?.status === 'running';
  const cases = one.data?.evalCases ?? [];
  const picked = cases.map((c) => c.evalId).filter((id) => chosen.has(id));
  const choose = (id: string, is: boolean) => setChosen(is ? new Set([...chosen, id]) : new Set([...chosen].filter((one) => one !== id)));
  const remove = () => {
    const what = deleting!;
    const call = what === 'set' ? evalCalls.deleteSet(app, set) : evalCalls.deleteCase(app, set, what.evalId);
    void ask(call)
      .then(() => {
        setDeleting(undefined);
        if (what === 'set') void client.invalidateQueries({ queryKey: ['eval-sets', app] }), navigate(toEvals.sets(app));
        else void client.invalidateQueries({ queryKey: setKey(app, set) });
      })
      .catch((error: Error) => say(error.message, 'bad'));
  };
  return (
    <Screen
      wide
      title={<><Crumbs list={[['Evaluation', toEvals.sets(app)]]} />{set}</>}
      call={evalCalls.set(app, set)}
      actions={one.data && (
        <>
          <Button command icon="trash" tone="quiet" className="max-sm:order-last max-sm:-ml-2.5" onClick={() => setDeleting('set')}>Delete the set</Button>
          <Button command icon="plus" onClick={() => navigate(toEvals.newCase(app, set))}>New case</Button>
          <Button command="Try variants of the set" disabled={cases.length === 0} onClick={() => navigate(toEvals.variants(app, set))}>Variants</Button>
          {picked.length > 0 && <Button command={`Run ${picked.length} chosen cases`} disabled={busy} onClick={() => setRunning(picked)}>Run {picked.length} chosen</Button>}
          <Button command="Run all cases" tone="primary" className="max-sm:order-first" disabled={busy || cases.length === 0} onClick={() => setRunning([])}>Run all</Button>
        </>
      )}
    >
      <RunningNow app={app} set={set} />
      {one.isPending && <Loading what="the set" />}
      {one.error && <Problem error={one.error} what="The evaluation set could not be read" retry={() => void one.refetch()} />}
      {one.data && cases.length === 0 && (
        <Empty title="This set has no cases yet" action={<Button tone="primary" icon="plus" onClick={() => navigate(toEvals.newCase(app, set))}>Write a case</Button>}>Open a conversation and choose <b>Save as a test</b> under a turn, or write one here.</Empty>
      )}
      {cases.length > 0 && (
        <Table columns={columns} rows={cases.length}>
          <Virtual as="tr" items={cases} keyOf={(c) => c.evalId} height={53} draw={(c, measured) => (
            <tr {...measured} data-case={c.evalId} className="border-t align-top hover:bg-paper">
              <td className="px-4 py-1.5"><label className="block max-md:-m-3 max-md:p-3"><input type="checkbox" className="mt-[3px] block" aria-label={`Choose ${c.evalId}`} checked={chosen.has(c.evalId)} onChange={(e) => choose(c.evalId, e.target.checked)} /></label></td>
              <td className="w-full max-w-0 px-2 py-1.5">
                <Link href={toEvals.case(app, set, c.evalId)} title={c.evalId} className="block truncate font-medium hover:underline">{c.evalId}</Link>
                <span className="block truncate text-soft">{c.conversation ? textOfContent(c.conversation[0]?.userContent) : 'a scenario, which cannot be run'}</span>
              </td>
              <td className="px-2 py-1.5 text-right font-mono text-xs leading-5 max-sm:hidden">{c.conversation?.length ?? ''}</td>
              <td className="px-2 py-1.5 text-right font-mono text-xs leading-5 max-md:hidden">{c.conversation?.flatMap(toolsOfTurn).length ?? ''}</td>
              <td className="px-2 py-1.5 max-md:hidden">{c.creationTimestamp ? <When time={c.creationTimestamp} /> : ''}</td>
              <td className="py-0.5 pr-2 text-right max-md:*:-mt-1"><Button tone="quiet" icon="trash" bare title={`Delete ${c.evalId}`} onClick={() => setDeleting(c)}>Delete</Button></td>
            </tr>
          )} />
        </Table>
      )}
      {one.data && <section className="mt-6"><h2 className="mb-2">Results</h2><History app={app} set={set} /></section>}
      {running && <RunDialog app={app} set={set} ids={running} total={cases.length} onClose={() => setRunning(undefined)} />}
      <Dialog open={deleting !== undefined} onClose={() => setDeleting(undefined)} title={deleting === 'set' ? `Delete the set ${set}?` : `Delete the case ${(deleting as Case | undefined)?.evalId ?? ''}?`} note="This changes the file in the directory of the application. Results stay.">
        <Footer>
          <Button onClick={() => setDeleting(undefined)}>Cancel</Button>
          <Action tone="danger" icon="trash" call={() => (deleting === 'set' ? evalCalls.deleteSet(app, set) : evalCalls.deleteCase(app, set, (deleting as Case).evalId))} onClick={remove}>Delete</Action>
        </Footer>
      </Dialog>
    </Screen>
  );
}
