import { useState } from 'react';

import { calls } from '../api/calls';
import { ask } from '../api/client';
import type { Overview } from '../api/types';
import { Dialog, Footer } from '../ui/dialog';
import { Action, Button, Refusable } from '../ui/parts';
import { say } from '../ui/toast';
import { useSessionActions } from './sessionactions';

interface Props {
  app: string;
  user: string;
  chosen: Overview[];
  clear: () => void;
  all: () => void;
}

/** What can be done to the sessions that are marked in a list. */
export function DeleteChosen({ app, user, chosen, clear, all }: Props) {
  const [asking, setAsking] = useState(false);
  const { refresh } = useSessionActions({ app, user, session: '' });
  const requests = chosen.map(({ session }) => calls.deleteSession({ app, user, session: session.id }));
  const count = chosen.length === 1 ? '1 session' : `${chosen.length} sessions`;
  const remove = async () => {
    setAsking(false);
    const failed = (await Promise.allSettled(requests.map((request) => ask(request)))).find((one) => one.status === 'rejected');
    if (failed) say((failed.reason as Error).message, 'bad');
    else say(`${count} deleted.`);
    clear();
    refresh();
  };
  return (
    <div role="group" aria-label="Marked sessions" className="flex items-center gap-1.5">
      <span className="text-soft">{count} marked</span>
      <Button tone="quiet" onClick={all}>Mark all</Button>
      <Button tone="quiet" onClick={clear}>Clear</Button>
      <Refusable tone="danger" icon="trash" onClick={() => setAsking(true)}>Delete</Refusable>
      <Dialog open={asking} onClose={() => setAsking(false)} title={`Delete ${count}?`} note="They are deleted with their history and their files, and their runs end. This cannot be undone. Branches that were made of them stay.">
        <Footer>
          <Button onClick={() => setAsking(false)}>Cancel</Button>
          <Action tone="danger" icon="trash" call={requests} onClick={() => void remove()}>Delete</Action>
        </Footer>
      </Dialog>
    </div>
  );
}
