// Which application and which user the screens are about.
import { useQuery } from '@tanstack/react-query';

import { calls } from './api/calls';
import { ask } from './api/client';
import type { App, Face } from './api/types';
import { useCaller, useFixedUser } from './caller';
import { keepScope, keptScope } from './kept';
import { match, useAddress } from './router';

export const defaultUser = 'user';

export interface Scope {
  app: string | undefined;
  user: string;
}

export function useApps() {
  return useQuery({
    queryKey: ['apps'],
    refetchInterval: 5000, // files change
    queryFn: ({ signal }) => ask<{ apps: App[] }>(calls.apps(), signal).then((r) => r.apps),
  });
}

/** How much waits for people. */
export function useInboxCount(): number {
  const entries = useQuery({
    queryKey: ['inbox', 'count'],
    retry: false,
    refetchInterval: 10_000,
    queryFn: ({ signal }) => ask<unknown[]>(calls.inbox(), signal).then((list) => list.length),
  });
  return entries.data ?? 0;
}

/** The protocols for other clients that the server has on. */
export function useFaces() {
  return useQuery({
    queryKey: ['faces'],
    staleTime: Infinity,
    queryFn: ({ signal }) => ask<{ faces: Face[] }>(calls.faces(), signal).then((r) => r.faces),
  });
}

export function useScope(): Scope {
  const address = useAddress();
  const apps = useApps().data ?? [];
  const fixed = useFixedUser();
  const own = useCaller()?.user;
  const here = match('/ui/apps/:app/users/:user/*', address) ?? match('/ui/apps/:app/*', address);
  const kept = keptScope();
  const keptApp = apps.some((a) => a.name === kept.app) ? kept.app : undefined;
  const scope = { app: here?.['app'] ?? keptApp ?? apps.find((a) => !a.error)?.name ?? apps[0]?.name, user: fixed ?? here?.['user'] ?? kept.user ?? own ?? defaultUser };
  if (here && (kept.app !== scope.app || kept.user !== scope.user)) keepScope(scope);
  return scope;
}
