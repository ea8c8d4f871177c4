// Who uses the UI. The server knows; where it asks for a token, users sign in.
import { useQuery, useQueryClient, type QueryClient } from '@tanstack/react-query';

import { calls } from './api/calls';
import { ask, forgetLastAction, unauthorized } from './api/client';
import type { About } from './api/types';
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
