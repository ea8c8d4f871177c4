import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';

import { calls } from '../api/calls';
import { ask } from '../api/client';
import type { StoredCredential } from '../api/types';
import { Link, to } from '../router';
import { ScopePicker } from '../scopepicker';
import { Dialog, Footer } from '../ui/dialog';
import { Action, Button, Empty, Loading, Problem, When } from '../ui/parts';
import { Screen } from '../ui/screen';
import { say } from '../ui/toast';
import { Virtual } from '../ui/virtual';

export default function LoginsScreen({ app, user }: { app: string; user: string }) {
  const client = useQueryClient();
  const key = ['credentials', app, user];
  const [asked, setAsked] = useState<StoredCredential>();
  const nameOf = (one: StoredCredential) => one.provider || one.credentialKey || one.name;
  const list = useQuery({ queryKey: key, queryFn: ({ signal }) => ask<StoredCredential[]>(calls.credentials(app, user), signal) });
  const revoke = (one: StoredCredential) =>
    void ask(calls.revoke(app, user, one.name, one.sessionId))
      .then(() => (say('The login is revoked.'), client.invalidateQueries({ queryKey: key })))
      .catch((error: Error) => say(error.message, 'bad'));
  return (
    <Screen
      wide
      scope={<ScopePicker />}
      title="Logins"
      note={<>What tools of <b className="font-semibold text-ink">{app}</b> may do for <b className="font-semibold text-ink">{user}</b>. Nothing secret leaves the server.</>}
      call={calls.credentials(app, user)}
    >
      {list.isPending && <Loading what="the logins" />}
      {list.error && <Problem error={list.error} what="The logins could not be listed" retry={() => void list.refetch()} />}
      {list.data?.length === 0 && <Empty title="No logins">When a tool needs one, it asks in the conversation, and in the inbox.</Empty>}
      <ul>
        <Virtual as="li" items={list.data ?? []} keyOf={(one) => `${one.name} ${one.sessionId}`} height={70} draw={(one, measured) => (
          <li {...measured} className="pb-2">
            <div className="flex flex-wrap items-center gap-x-4 gap-y-1 rounded-lg border border-line bg-sheet px-4 py-2.5">
              <div className="min-w-0 flex-1 max-sm:basis-full">
                <p className="font-medium">{nameOf(one)} <span className="label">{one.authType}</span></p>
                <p className="flex flex-wrap gap-1">
                  {one.scopes.map((scope) => (
                    <span key={scope} className="rounded-sm bg-sunk px-1.5 font-mono text-2xs leading-5 text-soft">{scope}</span>
                  ))}
                </p>
              </div>
              <span className="text-xs text-faint max-sm:flex-1">
                {one.sessionId ? <>for <Link className="underline" href={to.session({ app, user, session: one.sessionId })}>one session</Link></> : 'for all sessions'}
                {one.grantTime ? <> · given <When time={one.grantTime} /></> : null}
              </span>
              <Action item={nameOf(one)} tone="danger" call={calls.revoke(app, user, one.name, one.sessionId)} onClick={() => setAsked(one)}>Revoke</Action>
            </div>
          </li>
        )} />
      </ul>
      <Dialog
        open={asked !== undefined}
        onClose={() => setAsked(undefined)}
        title="Revoke the login?"
        note={asked && <>Tools of {app} cannot act for {user} at {nameOf(asked)} any more{asked.sessionId ? ' in this session' : ''}. The user has to log in again.</>}
      >
        <Footer>
          <Button onClick={() => setAsked(undefined)}>Cancel</Button>
          {asked && <Action tone="danger" call={calls.revoke(app, user, asked.name, asked.sessionId)} onClick={() => (setAsked(undefined), revoke(asked))}>Revoke</Action>}
        </Footer>
      </Dialog>
    </Screen>
  );
}
