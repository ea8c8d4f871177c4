// Runs as the screens about them read them.
import { useQueries, useQuery, type UseQueryOptions } from '@tanstack/react-query';
import { useMemo } from 'react';

import { calls } from '../../api/calls';
import { ask } from '../../api/client';
import type { Event, Key, Run, Session } from '../../api/types';
import { decode } from '../../router';
import type { Prices } from '../../log/cost';
import { runAfter, turnOf, type Turn } from '../../log/turn';
import { usePrices } from '../../ui/cost';

/** A run, and the session that has it. A run that begins with @ is the one after an event. */
export interface Place {
  user: string;
  session: string;
  run: string;
}

interface Read {
  session: Session;
  runs: Run[];
}

export const isActive = (run: Run | undefined) => run?.status === 'running' || run?.status === 'queued';

/** The places that an address names. */
export function placesOf(query: URLSearchParams, user: string): Place[] {
  return query.getAll('run').flatMap((text) => {
    const parts = text.split('/').map((s) => decode(s) ?? s);
    const run = parts.pop();
    const session = parts.pop();
    return run && session ? [{ user: parts.pop() ?? user, session, run }] : [];
  });
}

const reading = (key: Key): UseQueryOptions<Read> => ({
  queryKey: ['turn', key.app, key.user, key.session],
  queryFn: async ({ signal }) => {
    const [session, runs] = await Promise.all([ask<Session>(calls.session(key), signal), ask<Run[]>(calls.runs(key), signal)]);
    return { session, runs };
  },
  refetchInterval: (query) => (query.state.data?.runs.some(isActive) ? 2000 : false),
});

const turnIn = (key: Key, read: Read | undefined, run: string, prices: Prices | undefined): Turn | undefined => {
  if (!read) return undefined;
  const id = run.startsWith('@') ? runAfter(read.session.events as Event[], run.slice(1)) : run;
  const turn = id === undefined ? undefined : turnOf(key, read.session, read.runs, id, prices);
  return turn && turn.events.length > 0 ? turn : undefined;
};

/** Reads one run. */
export function useTurn(key: Key, run: string) {
  const read = useQuery(reading(key));
  const prices = usePrices();
  const turn = useMemo(() => turnIn(key, read.data, run, prices), [key.app, key.user, key.session, read.data, run, prices]);
  return { ...read, turn, record: read.data?.runs.find((r) => r.id === run), session: read.data?.session };
}

export interface Column {
  place: Place;
  turn: Turn | undefined;
  pending: boolean;
  error: Error | null;
  retry: () => void;
}

/** Reads several runs. */
export function useTurns(app: string, places: Place[]): Column[] {
  const found = useQueries({ queries: places.map((p) => reading({ app, user: p.user, session: p.session })) });
  const prices = usePrices();
  const state = found.map((f) => `${f.dataUpdatedAt} ${f.status}`).join();
  return useMemo(
    () => places.map((place, i) => {
      const { data, isPending, error, refetch } = found[i]!;
      return { place, pending: isPending, error, retry: () => void refetch(), turn: turnIn({ app, user: place.user, session: place.session }, data, place.run, prices) };
    }),
    [app, places, state, prices],
  );
}

/** The replays of a run that there are, the oldest first. */
export function useReplays(key: Key, run: string, root: string | undefined): Session[] {
  const family = useQuery({
    queryKey: ['branches', key.app, key.user, root],
    enabled: root !== undefined,
    queryFn: ({ signal }) => ask<Session[]>(calls.branches(key, root!), signal),
  });
  return useMemo(() => (family.data ?? []).filter((s) => s.forkedFrom?.replayOf === run && s.forkedFrom.sessionId === key.session).reverse(), [family.data, run, key.session]);
}
