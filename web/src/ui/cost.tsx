import { useQuery } from '@tanstack/react-query';
import { useEffect } from 'react';

import { calls } from '../api/calls';
import { ask } from '../api/client';
import { count, dollars, sumCosts, type Cost, type Prices, type Usage } from '../log/cost';
import { say } from './toast';

/** The prices of the server, which do not change while it runs. */
export const usePrices = () => useQuery({ queryKey: ['prices'], staleTime: Infinity, queryFn: ({ signal }) => ask<Prices>(calls.prices(), signal) }).data;

/** An amount as far as it is known, and what it lacks. */
export function CostText({ cost, className = '' }: { cost: Cost; className?: string }) {
  if (cost.usd === undefined && cost.unpriced === 0) return null;
  const lacks = cost.unpriced > 0 ? `${count(cost.unpriced)} tokens have no price` : undefined;
  return (
    <span data-cost={cost.usd ?? 'unknown'} title={lacks} className={className}>
      {cost.usd === undefined ? 'cost unknown' : dollars(cost.usd)}
      {lacks && cost.usd !== undefined && <> <span className="text-wait">+ {count(cost.unpriced)} tokens without a price</span></>}
    </span>
  );
}

const today = () => new Date().toISOString().slice(0, 10);

/** Tells once for a user and a day that the cost of which the server warns is reached. */
export function useCostNotice(app: string, user: string, ended: number) {
  const warn = usePrices()?.warnDayCostUsd;
  useEffect(() => {
    const day = today();
    const kept = `parley:cost-warned:${app}/${user}`;
    if (warn === undefined || ended === 0 || localStorage.getItem(kept) === day) return;
    const stop = new AbortController();
    ask<Usage[]>(calls.usage({ app, user, from: day, to: day }), stop.signal)
      .then((list) => {
        const { usd } = sumCosts(list);
        if (usd === undefined || usd < warn) return;
        localStorage.setItem(kept, day);
        say(`${user} has cost ${dollars(usd)} today with ${app}; there is a warning from ${dollars(warn)} on.`, 'bad');
      })
      .catch(() => undefined); // the screen works without it
    return () => stop.abort();
  }, [app, user, warn, ended]);
}
