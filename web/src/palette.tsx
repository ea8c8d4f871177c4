import * as Radix from '@radix-ui/react-dialog';
import { useQuery } from '@tanstack/react-query';
import { Command, defaultFilter } from 'cmdk';
import { useMemo, useState, type ReactNode } from 'react';
import { flushSync } from 'react-dom';

import { calls } from './api/calls';
import { ask, lastAction } from './api/client';
import type { FoundEvent, Overview } from './api/types';
import { roleOf, useCaller, useRefusal, useSignIn } from './caller';
import { toEvals } from './evals/api';
import { commandsNow, requestsNow } from './commands';
import { navigate, to } from './router';
import { useApps, type Scope } from './scope';
import { hasWord, hitHref, Snippet } from './screens/said';
import { newSession } from './shortcuts';
import { toggleTheme } from './theme';
import { Kbd, copyCurl } from './ui/parts';

/** How many applications are offered: those that match a search best. */
const mostApps = 50;

/** Everything that can be done or seen, by its name. */
export default function Palette({ open, onClose, scope, openHelp }: { open: boolean; onClose: () => void; scope: Scope; openHelp: () => void }) {
  return (
    <Radix.Root open={open} onOpenChange={(is) => !is && onClose()}>
      <Radix.Portal>
        <Radix.Overlay className="fixed inset-0 z-40 bg-black/45" />
        <Radix.Content aria-describedby={undefined} className="fixed top-[10vh] left-1/2 z-40 w-[calc(100vw-24px)] max-w-[560px] -translate-x-1/2 overflow-hidden rounded-lg border border-rule bg-sheet shadow-2xl">
          <Radix.Title className="sr-only">Commands</Radix.Title>
          <Commands scope={scope} onClose={onClose} openHelp={openHelp} />
        </Radix.Content>
      </Radix.Portal>
    </Radix.Root>
  );
}

function Commands({ scope, onClose, openHelp }: { scope: Scope; onClose: () => void; openHelp: () => void }) {
  const [search, setSearch] = useState('');
  const all = useApps().data;
  const apps = useMemo(() => {
    if (!all || all.length <= mostApps) return all ?? [];
    const rated = all.map((one) => ({ one, match: search ? defaultFilter!(appValue(one.name), search) : 1 }));
    return rated.filter(({ match }) => match > 0).sort((a, b) => b.match - a.match).slice(0, mostApps).map(({ one }) => one);
  }, [all, search]);
  const { app, user } = scope;
  const caller = useCaller();
  const refused = useRefusal()('run') !== undefined;
  const [here] = useState(() => ({ commands: commandsNow().filter((one) => !one.changes || !refused), requests: requestsNow(null) }));
  const offered = here.commands.filter((one) => !one.searched || search);
  const { signOut } = useSignIn();
  const sessions = useQuery({
    queryKey: ['palette', app, user, search],
    enabled: app !== undefined,
    queryFn: ({ signal }) => ask<Overview[]>(calls.sessions(app!, user, { pageSize: 8, ...(search ? { text: search } : {}) }), signal),
  }).data ?? [];
  const said = useQuery({
    queryKey: ['palette-said', app, user, search],
    enabled: app !== undefined && hasWord(search) && search.trim().length > 2,
    retry: false,
    queryFn: ({ signal }) => ask<FoundEvent[]>(calls.search(app!, user, search, 5), signal),
  }).data ?? [];
  const go = (act: () => void) => () => {
    flushSync(onClose); // while it is open, nothing else can have the focus
    act();
  };
  return (
    <Command label="Commands" loop className="flex max-h-[60vh] flex-col">
      <Command.Input value={search} onValueChange={setSearch} placeholder="Go to, or do…" className="h-12 border-b bg-transparent px-4 text-base outline-none" />
      <Command.List className="overflow-y-auto p-2">
        <Command.Empty className="px-2 py-6 text-center text-soft">No matches</Command.Empty>
        {offered.length > 0 && (
          <Group title="On this screen">
            {offered.map(({ label, keys, act }) => <Item key={label} value={label} onSelect={go(act)} {...(keys ? { keys } : {})}>{label}</Item>)}
          </Group>
        )}
        <Group title="Go to">
          <Item onSelect={go(() => navigate('/'))} keys="g a">Applications</Item>
          <Item onSelect={go(() => navigate(to.inbox()))} keys="g i">Inbox</Item>
          <Item onSelect={go(() => navigate(to.usage()))} keys="g u">Usage and cost</Item>
          {app && (
            <>
              <Item onSelect={go(() => navigate(to.user(app, user, 'sessions')))} keys="g s">Sessions of {app}</Item>
              <Item onSelect={go(() => navigate(to.user(app, user, 'runs')))} keys="g r">Runs of {app}</Item>
              <Item onSelect={go(() => navigate(to.user(app, user, 'schedules')))} keys="g t">Schedules of {user}</Item>
              <Item onSelect={go(() => navigate(to.user(app, user, 'triggers')))} keys="g h">Triggers of {app}</Item>
              <Item onSelect={go(() => navigate(to.user(app, user, 'tools')))} keys="g o">Tools of {app}</Item>
              <Item onSelect={go(() => navigate(to.user(app, user, 'memory')))} keys="g m">Memory of {user}</Item>
              <Item onSelect={go(() => navigate(to.user(app, user, 'webhooks')))} keys="g k">Webhooks of {app}</Item>
              <Item onSelect={go(() => navigate(to.user(app, user, 'logins')))} keys="g l">Logins of {user}</Item>
              <Item onSelect={go(() => navigate(toEvals.feedback(app)))} keys="g f">Feedback to {app}</Item>
              <Item onSelect={go(() => navigate(toEvals.sets(app)))} keys="g e">Evaluation of {app}</Item>
              <Item onSelect={go(() => navigate(to.app(app)))}>Agents of {app}</Item>
            </>
          )}
          <Item onSelect={go(() => navigate('/ui/api'))} keys="g p">API</Item>
          <Item onSelect={go(() => window.location.assign('/docs/guide/'))}>Documentation</Item>
        </Group>
        <Group title="Do">
          {app && !refused && <Item onSelect={go(() => window.dispatchEvent(new Event(newSession)))} keys="n">New session in {app}</Item>}
          {lastAction() && <Item onSelect={go(() => copyCurl(lastAction()!))}>Copy what was done last as curl</Item>}
          <Item onSelect={go(toggleTheme)}>Switch between light and dark</Item>
          {caller?.signedIn && <Item onSelect={go(() => void signOut())}>Sign out{[caller.user, roleOf(caller)].filter(Boolean).map((one) => `, ${one}`)}</Item>}
          <Item onSelect={go(openHelp)} keys="?">Show the keyboard shortcuts</Item>
        </Group>
        {sessions.length > 0 && (
          <Group title="Sessions">
            {sessions.map(({ session: { id }, title, preview }) => (
              <Item key={id} value={`${title} ${preview} ${id}`} onSelect={go(() => navigate(to.session({ app: app!, user, session: id })))}>
                {title || id}
              </Item>
            ))}
          </Group>
        )}
        {said.length > 0 && (
          <Group title="Said">
            {said.map((hit) => (
              <Item key={hit.eventId} value={`${search} said ${hit.eventId}`} onSelect={go(() => navigate(hitHref(app!, user, hit)))}>
                <Snippet of={hit} />
              </Item>
            ))}
          </Group>
        )}
        {search && here.requests.length > 0 && (
          <Group title="Copy as curl">
            {here.requests.map(({ label, call }) => <Item key={label} value={`Copy as curl: ${label}`} onSelect={go(() => copyCurl(call))}>Copy as curl: {label}</Item>)}
          </Group>
        )}
        <Group title="Applications">
          {apps.map((a) => (
            <Item key={a.name} value={appValue(a.name)} onSelect={go(() => navigate(to.user(a.name, user, 'sessions')))}>
              {a.name}
            </Item>
          ))}
        </Group>
        {all && all.length > mostApps && apps.length === mostApps && <div role="presentation" className="px-2 pb-1 text-xs text-faint">{`These are ${mostApps} of ${all.length} applications. Search to find others.`}</div>}
      </Command.List>
    </Command>
  );
}

const appValue = (name: string) => `application ${name}`;

function Group({ title, children }: { title: string; children: ReactNode }) {
  return (
    <Command.Group heading={title} className="mb-1 [&_[cmdk-group-heading]]:px-2 [&_[cmdk-group-heading]]:py-1 [&_[cmdk-group-heading]]:font-mono [&_[cmdk-group-heading]]:text-[10.5px] [&_[cmdk-group-heading]]:text-faint">
      {children}
    </Command.Group>
  );
}

function Item({ children, keys, value, onSelect }: { children: ReactNode; keys?: string; value?: string; onSelect: () => void }) {
  return (
    <Command.Item {...(value ? { value } : {})} onSelect={onSelect} className="flex cursor-pointer items-center rounded-sm px-2 py-1.5 data-[selected=true]:bg-tint max-md:py-2">
      <span className="min-w-0 flex-1 truncate">{children}</span>
      {keys && <Kbd>{keys}</Kbd>}
    </Command.Item>
  );
}
