import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';

import { ask } from '../api/client';
import { Link, navigate } from '../router';
import { ScopePicker } from '../scopepicker';
import { Dialog, Footer } from '../ui/dialog';
import { Icon } from '../ui/icons';
import { Action, Button, Empty, Field, Loading, Problem } from '../ui/parts';
import { Screen } from '../ui/screen';
import { say } from '../ui/toast';
import { Virtual } from '../ui/virtual';
import { evalCalls, toEvals } from './api';
import { History } from './history';
import { RunningNow } from './running';

/** The evaluation sets of an application. */
export default function SetsScreen({ app }: { app: string }) {
  const client = useQueryClient();
  const [making, setMaking] = useState(false);
  const [name, setName] = useState('');
  const sets = useQuery({ queryKey: ['eval-sets', app], queryFn: ({ signal }) => ask<string[]>(evalCalls.sets(app), signal) });
  const make = () =>
    void ask(evalCalls.createSet(app, name.trim()))
      .then(() => (void client.invalidateQueries({ queryKey: ['eval-sets', app] }), navigate(toEvals.set(app, name.trim()))))
      .catch((error: Error) => say(error.message, 'bad'));
  const button = <Button command tone="primary" icon="plus" onClick={() => setMaking(true)}>New set</Button>;
  return (
    <Screen wide scope={<ScopePicker />} title="Evaluation" note={<>Does <b className="font-semibold text-ink">{app}</b> still do what it did? Each case is a conversation, with the answers and the tool calls that are expected.</>} call={evalCalls.sets(app)} actions={button}>
      <RunningNow app={app} />
      {sets.isPending && <Loading what="the sets" />}
      {sets.error && <Problem error={sets.error} what="The evaluation sets could not be listed" retry={() => void sets.refetch()} />}
      {sets.data?.length === 0 && (
        <Empty title="There are no evaluation sets yet" action={button}>
          Open a conversation and choose <b>Save as a test</b> under a turn, or make a set here. Sets are files in the directory of the application, and <code className="font-mono text-xs">parley eval</code> runs them too.
        </Empty>
      )}
      {sets.data && sets.data.length > 0 && (
        <ul className="overflow-hidden rounded-lg border border-line bg-sheet">
          <Virtual as="li" items={sets.data} keyOf={(set) => set} height={37} draw={(set, measured) => (
            <li {...measured} className="border-t data-[index=0]:border-t-0"><Link href={toEvals.set(app, set)} className="group flex items-center gap-3 px-4 py-2 font-medium hover:bg-paper"><span className="min-w-0 flex-1 [overflow-wrap:anywhere] group-hover:underline">{set}</span><span className="text-faint"><Icon name="right" size={12} /></span></Link></li>
          )} />
        </ul>
      )}
      {sets.data && <section className="mt-6"><h2 className="mb-2">Results</h2><History app={app} /></section>}
      <Dialog open={making} onClose={() => setMaking(false)} title="New evaluation set" note="It becomes a file in the directory of the application.">
        <form onSubmit={(e) => (e.preventDefault(), make())} className="space-y-3">
          <Field label="Name" note="Letters, digits, _, - and ."><input autoFocus className="field w-full" value={name} onChange={(e) => setName(e.target.value)} /></Field>
          <Footer>
            <Button onClick={() => setMaking(false)}>Cancel</Button>
            <Action tone="primary" call={evalCalls.createSet(app, name.trim() || 'name')} type="submit" disabled={!name.trim()}>Create</Action>
          </Footer>
        </form>
      </Dialog>
    </Screen>
  );
}
