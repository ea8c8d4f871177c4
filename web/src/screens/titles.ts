import { useQuery } from '@tanstack/react-query';

import { calls } from '../api/calls';
import { ask } from '../api/client';
import type { Overview } from '../api/types';

/** What the newest sessions of a user are called, by their ids. Those without a title are called by what was said first. */
export function useTitles(app: string, user: string, { live = false, enabled = true } = {}): Map<string, string | undefined> {
  const list = useQuery({
    queryKey: ['titles', app, user],
    enabled,
    queryFn: ({ signal }) => ask<Overview[]>(calls.sessions(app, user, { pageSize: 100 }), signal),
    refetchInterval: live ? 10_000 : false,
  });
  return new Map(list.data?.map((row) => [row.session.id, row.title]));
}
