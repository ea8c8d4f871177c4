// Lists that the server sends in pages, each with a link to the next.
import { useInfiniteQuery } from '@tanstack/react-query';

import type { Call } from './calls';
import { nextPage, ParleyError, request } from './client';

interface Options {
  enabled?: boolean;
  /** How often the list is read again, in milliseconds, while no more than some pages are shown: the first, unless it says otherwise. */
  every?: number;
  upTo?: number;
}

/** Whether a list is not read again by itself: the server has refused it from the beginning, and would be asked in vain. */
export const refused = ({ state }: { state: { data?: unknown; error: unknown } }) => state.data === undefined && state.error instanceof ParleyError;

/** Reads a list page by page. rows are those of all pages so far. */
export function usePages<T>(queryKey: unknown[], first: Call, { enabled = true, every, upTo = 1 }: Options = {}) {
  const list = useInfiniteQuery({
    queryKey,
    enabled,
    initialPageParam: first.path,
    queryFn: async ({ pageParam, signal }) => {
      const { value, response } = await request<T[]>({ method: 'GET', path: pageParam }, signal);
      return { rows: value, next: nextPage(response) };
    },
    getNextPageParam: (page) => page.next,
    refetchInterval: (query) => (every && (query.state.data?.pages.length ?? 0) <= upTo && !refused(query) ? every : false),
  });
  return { ...list, rows: list.data?.pages.flatMap((page) => page.rows) ?? [] };
}

/** What a button needs of a list in order to show more of it. */
export type Pages = Pick<ReturnType<typeof usePages>, 'hasNextPage' | 'isFetchingNextPage' | 'fetchNextPage'>;
