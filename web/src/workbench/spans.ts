import { useQuery } from '@tanstack/react-query';
import { useEffect, useRef } from 'react';

import { calls } from '../api/calls';
import { ask } from '../api/client';
import type { Key } from '../api/types';
import { useCaller } from '../caller';
import type { Span } from '../log/spans';

const none: Span[] = [];

/**
 * What the server has measured of a session, without what was said: read when it opens and when a run
 * ends, and again and again while one is in progress. There is none where the
 * server does not tell, or has forgotten.
 */
export function useSpans(id: Key, running: string | undefined): Span[] {
  const developer = useCaller()?.developer ?? false;
  const took = useRef(0);
  const spans = useQuery({
    queryKey: ['spans', id],
    enabled: developer,
    retry: false,
    staleTime: Infinity,
    // A long conversation is a lot to read: not more often than it can be taken.
    refetchInterval: running ? () => Math.max(1000, 10 * took.current) : false,
    queryFn: async ({ signal }) => {
      const began = performance.now();
      const found = await ask<Span[]>(calls.sessionTrace(id), signal).catch(() => none);
      took.current = performance.now() - began;
      return found;
    },
  });
  const { refetch } = spans;
  const before = useRef(running);
  useEffect(() => {
    if (before.current !== running && developer) void refetch();
    before.current = running;
  }, [running, developer, refetch]);
  return spans.data ?? none;
}
