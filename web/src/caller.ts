// Who uses the UI. The server knows; where it asks for a token, users sign in.
import { useQuery, useQueryClient, type QueryClient } from '@tanstack/react-query';

import { calls, type Call } from './api/calls';
import { ask, forgetLastAction, unauthorized } from './api/client';
import type { About } from './api/types';
import type { Asks } from './commands';
import { forgetKept } from './kept';

const queryKey = ['caller'];

/** What the server says, and whether a sign-in has ended while the page was open. */
export type State = About & { ended?: boolean };

export function useAbout() {
  return useQuery({ queryKey, staleTime: Infinity, queryFn: ({ signal }) => ask<State>(calls.caller(), signal) });
}

export function useCaller() {
  return useAbout().data?.caller ?? undefined;
}

/** The one user that the screens can be about, if there is no choice. */
export function useFixedUser(): string | undefined {
  const caller = useCaller();
  return caller && !caller.anyUser ? caller.user : undefined;
}

/** Whether lists of all users are refused: they would tell callers who are not authenticated who the users are. */
export function useMustName(): boolean {
  const caller = useCaller();
  return caller !== undefined && caller.anyUser && !caller.author && !caller.scopes.includes('admin');
}

/** What a caller may do, in a word. It is empty for those who may do what users do. */
export function roleOf(caller: NonNullable<About['caller']>): string {
  if (caller.scopes.includes('run')) return caller.scopes.includes('admin') ? 'administrator' : '';
  return caller.scopes.includes('review') ? 'reviewer' : 'read-only';
}

/** What a caller needs to change something. */
export type Needed = 'run' | 'review' | 'schedules' | 'triggers' | 'inbox';

/** The scope that requests need: none if they only read. */
function scopeOf(asks: Asks | Needed): Needed | undefined {
  if (typeof asks === 'string') return asks;
  let list: Call[];
  try {
    list = [typeof asks === 'function' ? asks() : asks].flat();
  } catch {
    return 'run'; // what is typed is not complete
  }
  if (list.every((call) => call.method === 'GET')) return undefined;
  if (list.every((call) => call.path.endsWith('/feedback'))) return 'review';
  if (list.every((call) => /^\/apps\/[^/]+\/triggers(\/|$)/.test(call.path))) return 'triggers';
  if (list.every((call) => call.path.startsWith('/inbox/'))) return 'inbox';
  return list.every((call) => /^\/apps\/[^/]+\/users\/[^/]+\/schedules(\/|$)/.test(call.path)) ? 'schedules' : 'run';
}

/** Why the server would refuse requests of this caller; undefined if it would not. */
export function useRefusal(): (asks: Asks | Needed) => string | undefined {
  const caller = useCaller();
  return (asks) => {
    if (!caller || caller.scopes.includes('run')) return undefined;
    const needed = scopeOf(asks);
    if (!needed || caller.scopes.includes(needed)) return undefined;
    return roleOf(caller) === 'reviewer' ? 'You are a reviewer: you can read and give feedback, and change nothing else.' : 'You can read, but not change anything.';
  };
}

let signedIn = false;
/** Whether commands need a token, which only the browser has. */
export const isSignedIn = () => signedIn;

/** Notes when a user is signed in, and when the server no longer knows the user. */
export function watchCaller(client: QueryClient) {
  unauthorized.add(() => client.setQueryData<State>(queryKey, (now) => (now?.caller ? { ...now, caller: null, ended: true } : now)));
  client.getQueryCache().subscribe(() => (signedIn = client.getQueryData<State>(queryKey)?.caller?.signedIn ?? false));
}

/** Signs in and out. What another user has seen and done is forgotten. */
export function useSignIn() {
  const client = useQueryClient();
  const take = (now: About) => {
    client.removeQueries({ predicate: (query) => query.queryKey[0] !== queryKey[0] });
    client.setQueryData<State>(queryKey, now);
    forgetLastAction();
  };
  return {
    signIn: (token: string) => ask<About>(calls.signIn(token)).then(take),
    signOut: () => ask<About>(calls.signOut()).then(take).then(forgetKept),
  };
}
