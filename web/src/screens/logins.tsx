import { useQuery, useQueryClient } from '@tanstack/react-query';

import { calls } from '../api/calls';
import { ask } from '../api/client';
import type { StoredCredential } from '../api/types';
import { Link, to } from '../router';
import { ScopePicker } from '../scopepicker';
import { Action, CopyCurl, Empty, Loading, Problem, Screen, When } from '../ui/parts';
import { say } from '../ui/toast';

export default function LoginsScreen({ app, user }: { app: string; user: string }) {
  const client = useQueryClient();
  const key = ['credentials', app, user];
  const list = useQuery({ queryKey: key, queryFn: ({ signal }) => ask<StoredCredential[]>(calls.credentials(app, user), signal) });
  const revoke = (one: StoredCredential) =>
    void ask(calls.revoke(app, user, one.name, one.sessionId))
      .then(() => (say('The login is forgotten.'), client.invalidateQueries({ queryKey: key })))
      .catch((error: Error) => say(error.message, 'bad'));
  return (
    <Screen
      wide
      scope={<ScopePicker />}
      title="Logins"
      note={<>What tools of <b className="font-semibold text-ink">{app}</b> may do for <b className="font-semibold text-ink">{user}</b>. Nothing secret leaves the server.</>}
      actions={<CopyCurl call={calls.credentials(app, user)} />}
    >
      {list.isPending && <Loading what="the logins" />}
      {list.error && <Problem error={list.error} what="The logins could not be listed" retry={() => void list.refetch()} />}
      {list.data?.length === 0 && <Empty title="No login is kept">When a tool needs one, it asks in the conversation, and in the waiting room.</Empty>}
      <ul className="space-y-2">
        {list.data?.map((one) => (
          <li key={one.name + one.sessionId} className="flex flex-wrap items-center gap-x-4 gap-y-1 rounded-lg border border-line bg-sheet px-4 py-2.5">
            <div className="min-w-0 flex-1">
              <p className="font-medium">{one.provider || one.credentialKey || one.name} <span className="label">{one.authType}</span></p>
              <p className="flex flex-wrap gap-1">
                {one.scopes.map((scope) => (
                  <span key={scope} className="rounded-sm bg-sunk px-1.5 font-mono text-2xs leading-5 text-soft">{scope}</span>
                ))}
              </p>
            </div>
            <span className="text-xs text-faint">
              {one.sessionId ? <>for <Link className="underline" href={to.session({ app, user, session: one.sessionId })}>one session</Link></> : 'for all sessions'}
              {one.grantTime ? <> · given <When time={one.grantTime} /></> : null}
            </span>
            <Action tone="danger" call={calls.revoke(app, user, one.name, one.sessionId)} onClick={() => revoke(one)}>Revoke</Action>
          </li>
        ))}
      </ul>
    </Screen>
  );
}
