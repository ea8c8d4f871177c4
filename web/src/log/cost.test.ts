import { expect, test } from 'vitest';

import { costOf, costWords, dollars, grouped, priceOf, sumCosts, type Prices, type Usage } from './cost';

const prices: Prices = {
  date: '2026-11-01',
  models: {
    m: { input: 2, cachedInput: 0.5, output: 8, thinking: 4 },
    'm-4': { input: 3, output: 3 },
    long: { input: 1, output: 1, upTo: 1000, above: { input: 10, cachedInput: 1, output: 20 } },
    short: { input: 1, output: 1, upTo: 1000 },
    tiny: { input: 0.0005, output: 0.000001 },
  },
};

test.each([
  ['m', 2], ['m-2025-08-07', 2], ['m-20250807', 2], ['m@20250807', 2], ['m-001', 2], ['m-latest', 2], ['models/m', 2], ['projects/p/models/m-001', 2], ['m-4', 3],
  ['m-4-5', undefined], ['m-mini', undefined], ['m-0613', undefined], ['ollama/m', undefined], ['', undefined], ['constructor', undefined],
])('the price of %s', (name, input) => expect(priceOf(prices, name)?.input).toBe(input));

test.each([
  ['m', { promptTokenCount: 1000, cachedContentTokenCount: 600, totalTokenCount: 1000 }, 0.0011],
  ['m', { candidatesTokenCount: 1, thoughtsTokenCount: 10, toolUsePromptTokenCount: 10, totalTokenCount: 21 }, 0.000068],
  ['long', { promptTokenCount: 1000, candidatesTokenCount: 1, totalTokenCount: 1001 }, 0.001001],
  ['long', { promptTokenCount: 1001, cachedContentTokenCount: 1, candidatesTokenCount: 1, totalTokenCount: 1002 }, 0.010021],
  ['tiny', { promptTokenCount: 1, candidatesTokenCount: 500, totalTokenCount: 501 }, 1e-9],
] as const)('what a call of %s costs', (name, tokens, usd) => expect(costOf(prices, name, tokens)).toEqual({ usd, unpriced: 0 }));

test('what is unknown is not zero', () => {
  expect(costOf(prices, 'other', { totalTokenCount: 7 })).toEqual({ usd: undefined, unpriced: 7 });
  expect(costOf(prices, 'short', { promptTokenCount: 1001, totalTokenCount: 1001 })).toEqual({ usd: undefined, unpriced: 1001 });
  expect(costOf(undefined, 'm', { totalTokenCount: 7 })).toEqual({ usd: undefined, unpriced: 7 });
  expect(sumCosts([{ unpricedTokens: 3 }, {}])).toEqual({ usd: undefined, unpriced: 3 });
  expect(sumCosts([{ costUsd: 0.1 }, { costUsd: 0.2, unpricedTokens: 3 }])).toEqual({ usd: 0.3, unpriced: 3 });
});

test.each([[0, '$0'], [1e-9, '< $0.000001'], [0.0000123, '$0.000012'], [0.00105, '$0.0010'], [0.25, '$0.25'], [0.054, '$0.054'], [12.3456, '$12.35']])('%d dollars', (usd, text) => expect(dollars(usd)).toBe(text));

test.each([
  [{ usd: undefined, unpriced: 0 }, ''], [{ usd: 0, unpriced: 0 }, '$0'], [{ usd: 0.25, unpriced: 0 }, '$0.25'],
  [{ usd: 0.25, unpriced: 1200 }, '$0.25 + 1,200 tokens without a price'], [{ usd: undefined, unpriced: 7 }, 'unknown: 7 tokens without a price'],
])('%j in words', (cost, words) => expect(costWords(cost)).toBe(words));

test('usage by model has what was used before', () => {
  const counts = { promptTokenCount: 0, candidatesTokenCount: 0, cachedContentTokenCount: 0, thoughtsTokenCount: 0, toolUsePromptTokenCount: 0 };
  const list: Usage[] = [
    { day: '2026-11-01', appName: 'a', userId: 'u', runs: 2, ...counts, totalTokenCount: 30, costUsd: 0.5, unpricedTokens: 20, models: [{ model: 'm', ...counts, totalTokenCount: 10, costUsd: 0.5 }] },
    { day: '2026-11-02', appName: 'a', userId: 'v', runs: 1, ...counts, totalTokenCount: 10, costUsd: 0.25, models: [{ model: 'm', ...counts, totalTokenCount: 10, costUsd: 0.25 }] },
  ];
  expect(grouped(list, 'model')).toEqual([
    { name: 'm', runs: undefined, tokens: 20, cost: { usd: 0.75, unpriced: 0 } },
    { name: '', runs: undefined, tokens: 20, cost: { usd: undefined, unpriced: 20 } },
  ]);
  expect(grouped([{ runs: 2, ...counts, totalTokenCount: 5, userId: 'u', models: [] }], 'userId')).toEqual([{ name: 'u', runs: 2, tokens: 5, cost: { usd: undefined, unpriced: 0 } }]);
  expect(grouped(list, 'appName')).toEqual([{ name: 'a', runs: 3, tokens: 40, cost: { usd: 0.75, unpriced: 20 } }]);
});
