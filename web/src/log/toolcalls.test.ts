import { expect, test } from 'vitest';

import type { Event } from '../api/types';
import { matching, outcomeOf, resultOf } from './toolcalls';

const event = (timestamp: number, parts: object[], rest: object = {}) => ({ id: String(timestamp), author: 'a', timestamp, content: { role: 'model', parts }, ...rest }) as unknown as Event;
const call = (id: string) => ({ functionCall: { id, name: 'pay', args: {} } });
const answer = (id: string, response: object) => ({ functionResponse: { id, name: 'pay', response } });

test('the outcome of the last call', () => {
  const events = [
    event(1, [call('c1')], { actions: { skipSummarization: true } }),
    event(2, [answer('c1', { status: 'error', error_message: 'no' })]),
    event(3, [call('c2')], { actions: { skipSummarization: true } }),
    event(4.5, [answer('c2', { paid: 1 })], { actions: { skipSummarization: true, stateDelta: { sum: 1 }, artifactDelta: { 'bill.txt': 2 } } }),
  ];
  expect(outcomeOf(events)).toEqual({ response: { paid: 1 }, failed: false, took: 1.5, state: { sum: 1 }, artifacts: [['bill.txt', 2]] });
  expect(outcomeOf(events.slice(0, 2))).toMatchObject({ failed: true });
  expect(outcomeOf([])).toEqual({ failed: false, state: {}, artifacts: [] });
});

test('a question is not a result', () => {
  const asked = event(2, [answer('c1', { error: 'This tool call requires confirmation, please approve or reject.' })], { actions: { requestedToolConfirmations: { c1: {} } } });
  expect(outcomeOf([event(1, [call('c1')], { actions: { skipSummarization: true } }), asked]).response).toBeUndefined();
});

test('a failure of the run', () => {
  expect(outcomeOf([event(1, [call('c1')], { actions: { skipSummarization: true } }), event(2, [], { errorCode: 'X', errorMessage: 'broken' })]).error).toBe('broken');
});

test('results and searches', () => {
  expect(resultOf({ result: 3 })).toBe(3);
  expect(resultOf({ result: 3, more: 1 })).toEqual({ result: 3, more: 1 });
  const agents = [{ agent: 'a', tools: [{ name: 'pay', effect: 'once' as const }, { name: 'look', description: 'Sees what was paid', effect: 'pure' as const }] }, { agent: 'b', tools: [] }];
  expect(matching(agents, '')).toBe(agents);
  expect(matching(agents, 'PAID')).toEqual([{ agent: 'a', tools: [agents[0]!.tools[1]] }]);
});
