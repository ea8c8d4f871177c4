import { useQuery, useQueryClient } from '@tanstack/react-query';

import { calls } from '../api/calls';
import { ask } from '../api/client';
import type { Event, Key, Part, Run, Session } from '../api/types';
import { titleOf } from '../log/labels';
import { pendingOf, type Pending } from '../log/pending';
import { Link, navigate, to } from '../router';
import { ScopePicker } from '../scopepicker';
import { Button, Empty, Loading, Problem, When } from '../ui/parts';
import { Screen } from '../ui/screen';
import { say } from '../ui/toast';
import { RequestCard } from '../workbench/requests';

interface Waiting {
  session: Session;
  pending: Pending[];
}

/** All that waits for a person, in the sessions of a user. */
export default function WaitingScreen({ app, user }: { app: string; user: string }) {
  const client = useQueryClient();
  const key = ['waiting', app, user];
  const list = useQuery({
    queryKey: key,
    refetchInterval: 5000,
    queryFn: async ({ signal }): Promise<Waiting[]> => {
      const runs = await ask<Run[]>(calls.recentRuns(app, user), signal);
      const ids = [...new Set(runs.filter((r) => r.status === 'waiting').map((r) => r.sessionId))];
      const sessions = await Promise.all(ids.map((session) => ask<Session>(calls.session({ app, user, session }), signal)));
      return sessions.map((session) => ({ session, pending: pendingOf(session.events as Event[]) })).filter((w) => w.pending.length > 0);
    },
  });
  const answer = async (id: Key, part: Part) => {
    try {
      await ask(calls.startRun(id, [part]));
      say('Thank you. The agent continues.');
      await client.invalidateQueries({ queryKey: key });
      return true;
    } catch (error) {
      say((error as Error).message, 'bad');
      return false;
    }
  };
  return (
    <Screen
      scope={<ScopePicker />}
      title="Waiting room"
      note={<>Logins, confirmations and questions that agents of <b className="font-semibold text-ink">{app}</b> have for <b className="font-semibold text-ink">{user}</b>. Their sessions are free in the meantime.</>}
      call={calls.recentRuns(app, user)}
    >
      {list.isPending && <Loading what="the waiting room" />}
      {list.error && <Problem error={list.error} what="The waiting room could not be opened" retry={() => void list.refetch()} />}
      {list.data?.length === 0 && (
        <Empty title="Nothing waits for you" action={<Button onClick={() => navigate(to.user(app, user, 'sessions'))}>Show the sessions</Button>}>
          When a tool needs a login, a confirmation or an answer, it is asked for here and in the conversation.
        </Empty>
      )}
      <ul className="space-y-5">
        {list.data?.map(({ session, pending }) => {
          const id = { app, user, session: session.id };
          return (
            <li key={session.id}>
              <p className="mb-1.5 flex items-baseline gap-3">
                <Link href={to.session(id)} className="font-medium hover:underline">{titleOf(session)}</Link>
                <span className="label">since <When time={pending[0]!.event.timestamp} /></span>
              </p>
              <div className="space-y-2">
                {pending.map((one) => (
                  <RequestCard key={one.call.id} pending={one} answer={(part) => answer(id, part)} call={(part) => calls.startRun(id, [part])} />
                ))}
              </div>
            </li>
          );
        })}
      </ul>
    </Screen>
  );
}
