// What tokens cost, as the server computes it: internal/price has the same rules.
import type { Schemas } from '@parley-run/client';

import type { Key } from '../api/types';

export type Prices = Schemas['Prices'];
export type Usage = Schemas['Usage'];
export type UsageSum = Schemas['UsageSum'];
type Price = Schemas['ModelPrice'];
type Tokens = Schemas['UsageMetadata'];

/** An amount that is known in US dollars, and the tokens that it lacks. */
export interface Cost {
  usd: number | undefined;
  unpriced: number;
}

/** The prices of a model, by its name or that of the model of which it is a version. */
export function priceOf(prices: Prices | undefined, model: string | undefined): Price | undefined {
  if (!prices || !model) return undefined;
  const named = (name: string) => (Object.hasOwn(prices.models, name) ? prices.models[name] : undefined);
  const plain = model.startsWith('projects/') ? model.replace(/^.*\/models\//, '') : model.replace(/^(models|gemini|openai|anthropic)\//, '');
  const base = /^(.+)[-@](\d{4}-\d\d-\d\d|\d{8}|\d{3}|latest)$/.exec(plain)?.[1];
  return named(model) ?? named(plain) ?? (base ? named(base) : undefined);
}

/** What one call of a model costs with the prices of now. */
export function costOf(prices: Prices | undefined, model: string | undefined, tokens: Tokens | undefined): Cost {
  const price = priceOf(prices, model);
  const count = (n: number | undefined) => Math.max(n ?? 0, 0);
  const prompt = count(tokens?.promptTokenCount);
  const rates = price?.upTo && prompt > price.upTo ? price.above : price;
  if (!rates) return { usd: undefined, unpriced: count(tokens?.totalTokenCount) };
  const cached = Math.min(count(tokens?.cachedContentTokenCount), prompt);
  // In millionths of a millionth, which are whole numbers.
  const micros = (rate: number) => Math.round(rate * 1e6);
  const sum =
    (prompt - cached + count(tokens?.toolUsePromptTokenCount)) * micros(rates.input) +
    cached * micros(rates.cachedInput ?? rates.input) +
    count(tokens?.candidatesTokenCount) * micros(rates.output) +
    count(tokens?.thoughtsTokenCount) * micros(rates.thinking ?? rates.output);
  return { usd: Math.round(sum / 1000) / 1e9, unpriced: 0 };
}

interface Counted {
  costUsd?: number;
  unpricedTokens?: number;
}

/** The sum of what the server has stored. */
export function sumCosts(list: Counted[]): Cost {
  let nanos: number | undefined;
  let unpriced = 0;
  for (const one of list) {
    if (one.costUsd !== undefined) nanos = (nanos ?? 0) + Math.round(one.costUsd * 1e9);
    unpriced += one.unpricedTokens ?? 0;
  }
  return { usd: nanos === undefined ? undefined : nanos / 1e9, unpriced };
}

/** An amount with as many digits as tell it from zero. */
export function dollars(usd: number): string {
  if (usd === 0) return '$0';
  if (usd < 0.000001) return '< $0.000001';
  const places = usd >= 1 ? 2 : Math.min(6, 1 - Math.floor(Math.log10(usd)));
  return `$${usd.toFixed(Math.max(2, places))}`;
}

/** An amount in words, as far as it is known, and what it lacks; empty if nothing was used. */
export function costWords(cost: Cost): string {
  const lacks = cost.unpriced > 0 ? `${count(cost.unpriced)} tokens without a price` : '';
  if (cost.usd === undefined) return lacks && `unknown: ${lacks}`;
  return dollars(cost.usd) + (lacks && ` + ${lacks}`);
}

export const count = (n: number) => n.toLocaleString('en-US');

/** The session of a group. */
export function sessionNamed(name: string): Key {
  const [app, user, session] = JSON.parse(name) as [string, string, string];
  return { app, user, session };
}

/** Groups usage, and adds it up. */
export function grouped(list: UsageSum[], by: 'day' | 'appName' | 'userId' | 'session' | 'model'): { name: string; runs: number | undefined; tokens: number; cost: Cost }[] {
  const groups = new Map<string, { runs: number | undefined; tokens: number; parts: Counted[] }>();
  const add = (name: string, runs: number | undefined, tokens: number, part: Counted) => {
    const group = groups.get(name) ?? { runs: runs === undefined ? undefined : 0, tokens: 0, parts: [] };
    groups.set(name, group);
    if (runs !== undefined) group.runs = (group.runs ?? 0) + runs;
    group.tokens += tokens;
    group.parts.push(part);
  };
  for (const row of list) {
    if (by !== 'model') {
      const name = by === 'session' ? JSON.stringify([row.appName, row.userId, row.sessionId]) : row[by];
      add(name ?? '', row.runs, row.totalTokenCount, row);
      continue;
    }
    let rest = row.totalTokenCount;
    for (const one of row.models) {
      add(one.model, undefined, one.totalTokenCount, one);
      rest -= one.totalTokenCount;
    }
    if (rest > 0) add('', undefined, rest, { unpricedTokens: rest }); // from before models were counted
  }
  return [...groups].map(([name, { runs, tokens, parts }]) => ({ name, runs, tokens, cost: sumCosts(parts) }));
}
