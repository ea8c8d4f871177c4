import { describe, expect, test } from 'vitest';

import type { Event, Part, Recording, RecordedStep, ReplayReport, Session } from '../api/types';
import type { Prices } from './cost';
import { inPool } from './pool';
import { callsTools, instructionsOf, isLive, planOf, replayName, replaySteps, resultOf, variantsOf, type Choice } from './replaying';
import { timelineOf } from './timeline';
import { align, linesOfTurn, runAfter, sortedJson, statesOf, stepsOf, turnOf } from './turn';
import { wordDiff } from './words';

function event(id: string, author: string, parts: Part[], more: Partial<Event> = {}): Event {
  return {
    id, author, invocationId: 'e-1', timestamp: 1, content: { role: author === 'user' ? 'user' : 'model', parts: parts as never },
    actions: { stateDelta: {}, artifactDelta: {}, requestedAuthConfigs: {} }, ...more,
  };
}

const call = (id: string, name: string, args = {}): Part => ({ functionCall: { id, name, args } });
const response = (id: string, name: string, result = {}): Part => ({ functionResponse: { id, name, response: result } });

describe('differences by word', () => {
  const show = (a: string, b: string) => wordDiff(a, b).map((p) => (p.kind === 'same' ? p.text : p.kind === 'removed' ? `[-${p.text}]` : `[+${p.text}]`)).join('');
  test.each([
    ['', '', ''],
    ['same', 'same', 'same'],
    ['', 'new', '[+new]'],
    ['old', '', '[-old]'],
    ['Be kind to all.', 'Be rude to all.', 'Be [-kind][+rude] to all.'],
    ['one two three', 'one three', 'one [-two ]three'],
    ['a quick fox', 'a slow dog', 'a [-quick fox][+slow dog]'],
    ['f(1, 2)', 'f(1, 3)', 'f(1, [-2][+3])'],
    ['grüße an alle', 'grüße an dich', 'grüße an [-alle][+dich]'],
  ])('%j and %j', (a, b, want) => expect(show(a, b)).toBe(want));
  test('joined again, they are the texts', () => {
    const words = Array.from({ length: 300 }, (_, i) => `w${(i * 7919) % 40}`);
    const [a, b] = [words.join(' '), words.toReversed().join('  ')];
    const pieces = wordDiff(a, b);
    expect(pieces.filter((p) => p.kind !== 'added').map((p) => p.text).join('')).toBe(a);
    expect(pieces.filter((p) => p.kind !== 'removed').map((p) => p.text).join('')).toBe(b);
  });
  test('long texts are compared by line', () => {
    const line = (n: number) => `line ${n} ${'word '.repeat(8)}\n`;
    const a = Array.from({ length: 1000 }, (_, i) => line(i)).join('');
    const b = Array.from({ length: 1000 }, (_, i) => line(i % 2 ? i : i + 5000)).join('');
    const pieces = wordDiff(a, b);
    expect(pieces.length).toBeGreaterThan(1000);
    expect(pieces.filter((p) => p.kind !== 'removed').map((p) => p.text).join('')).toBe(b);
  });
});

describe('turns', () => {
  const prices: Prices = { date: '2026-11-01', models: { m: { input: 1, output: 2 } } };
  const events = [
    event('1', 'user', [{ text: 'tea' }]),
    event('2', 'a', [{ text: 'Let me see', thought: true }, call('c', 'look_up', { item: 'tea' })], { usageMetadata: { promptTokenCount: 10, candidatesTokenCount: 2, totalTokenCount: 12 }, modelVersion: 'm', timestamp: 2 }),
    event('3', 'a', [response('c', 'look_up', { price: 4 })], { actions: { stateDelta: { paid: 4, gone: null }, artifactDelta: {}, requestedAuthConfigs: {} } as never, timestamp: 4 }),
    event('4', 'a', [{ text: 'Four ' }, { text: 'euros.' }, { text: 'Bye.' }], { usageMetadata: { totalTokenCount: 5 }, modelVersion: 'm', timestamp: 5 }),
  ];
  const session = { id: 's', appName: 'x', userId: 'u', state: {}, events, lastUpdateTime: 1, forkedFrom: { sessionId: 'o', rootId: 'o', replayOf: 'e-1' } } as unknown as Session;
  const turn = turnOf({ app: 'x', user: 'u', session: 's' }, session, [], 'e-1');
  test('what they did, and what they needed', () => {
    expect(turn.steps.map((s) => `${s.kind} ${s.author} ${s.name}${s.text}${s.result ? ` ${JSON.stringify(s.result)}` : ''}`)).toEqual(['message user tea', 'thought a Let me see', 'call a look_up {"price":4}', 'text a Four euros.\nBye.']);
    expect(turn).toMatchObject({ replayOf: 'e-1', status: 'completed', answer: 'Four euros.\nBye.', models: ['m'], modelCalls: 2, toolCalls: 1, tokens: { input: 10, output: 2, total: 17 }, state: { paid: 4, gone: null }, took: 4 });
  });
  test('what they cost, and what of it is unknown', () => {
    const cost = (stored?: object, known?: Prices, log: Event[] = events) => turnOf(turn.key, { ...session, events: log } as never, stored ? [{ id: 'e-1', ...stored } as never] : [], 'e-1', known).cost;
    expect(cost({ costUsd: 0.5 })).toEqual({ usd: 0.5, unpriced: 0 });
    expect(cost({ costUsd: 0.5, unpricedTokens: 3 }, prices)).toEqual({ usd: 0.5, unpriced: 3 });
    expect(cost({ unpricedTokens: 17 }, prices)).toEqual({ usd: undefined, unpriced: 17 });
    // Nothing is stored for a replay or a run in progress.
    expect(cost()).toEqual({ usd: undefined, unpriced: 17 });
    expect(cost({ status: 'running' }, prices)).toEqual({ usd: 0.000014, unpriced: 0 });
    expect(cost(undefined, prices, [...events, event('5', 'a', [{ text: 'So long.' }], { usageMetadata: { totalTokenCount: 4 }, modelVersion: 'other' })])).toEqual({ usd: 0.000014, unpriced: 4 });
    expect(cost(undefined, prices, events.slice(0, 1))).toEqual({ usd: undefined, unpriced: 0 });
  });
  test('one line for each step, with its time and tokens', () => {
    const lines = linesOfTurn(events, timelineOf(events, undefined, 'e-1'), prices);
    expect(lines.map((l) => [l.step.kind, l.took, l.tokens])).toEqual([['message', undefined, 0], ['thought', 1, 12], ['call', 2, 0], ['text', 1, 5]]);
    expect(lines.map((l) => l.cost)).toEqual([{ usd: undefined, unpriced: 0 }, { usd: 0.000014, unpriced: 0 }, { usd: undefined, unpriced: 0 }, { usd: 0, unpriced: 0 }]);
    expect(linesOfTurn(events, timelineOf(events, undefined, 'e-1')).map((l) => l.cost.unpriced)).toEqual([0, 12, 0, 5]);
  });
  test('the run after an event', () => {
    expect(runAfter(events, '')).toBe('e-1');
    expect(runAfter(events, '1')).toBe('e-1');
    expect(runAfter(events, '4')).toBeUndefined();
  });
  test('steps are put beside those that are alike', () => {
    const other = stepsOf([
      event('1', 'user', [{ text: 'tea' }]), event('x', 'a', [call('d', 'weigh')]), event('y', 'a', [response('d', 'weigh')]),
      event('z', 'a', [call('e', 'look_up', { item: 'tea' })]), event('w', 'a', [response('e', 'look_up', { price: 5 })]), event('v', 'a', [{ text: 'Five euros.' }]),
    ]);
    const rows = align([turn, { steps: other }, turn]);
    expect(rows.map((r) => [...r.steps.map((s) => s?.kind ?? '-'), r.differs])).toEqual([
      ['message', 'message', 'message', false], ['thought', '-', 'thought', true], ['-', 'call', '-', true], ['call', 'call', 'call', true], ['text', 'text', 'text', true],
    ]);
    expect(align([turn])[0]!.differs).toBe(false);
    expect(align([])).toEqual([]);
  });
  test('the state that they have changed', () => {
    expect(statesOf([turn, { ...turn, state: { paid: 5, gone: null } }])).toEqual([{ name: 'gone', values: [null, null], differs: false }, { name: 'paid', values: [4, 5], differs: true }]);
  });
  test('texts of values', () => {
    expect(sortedJson({ b: 1, a: [{ d: 1, c: 2 }] }).replaceAll(/\s/g, '')).toBe('{"a":[{"c":2,"d":1}],"b":1}');
  });
});

describe('replays', () => {
  const steps: RecordedStep[] = [
    { kind: 'model', name: 'm', agent: 'a', ms: 1, request: { instruction: 'Be kind.' } as never },
    { kind: 'tool', name: 't', agent: 'a', ms: 1, args: {}, output: { content: { role: 'user', parts: [response('c', 't', { ok: true })] } } as never },
    { kind: 'model', name: 'm', agent: 'a', ms: 1 },
  ];
  const choice: Choice = { mode: 'exact', model: '', temperature: '', agent: 'a', instruction: 'Be rude.', step: 0, result: '', liveTools: false, calls: [] };
  test('plans', () => {
    expect(planOf({ ...choice, liveTools: true, model: 'x' })).toEqual({});
    expect(planOf({ ...choice, mode: 'model', model: ' x ', temperature: '0.5' })).toEqual({ liveModels: true, model: 'x', temperature: 0.5 });
    expect(planOf({ ...choice, mode: 'instruction' })).toEqual({ liveModels: true, instructions: { a: 'Be rude.' } });
    expect(planOf({ ...choice, mode: 'result', step: 2, result: '{"ok":false}', liveTools: true })).toEqual({ liveTools: true, results: { 2: { ok: false } } });
    expect(planOf({ ...choice, mode: 'live', step: 3 })).toEqual({ from: 3 });
    expect(planOf({ ...choice, mode: 'calls', calls: [2], model: 'x', liveTools: true }, steps)).toEqual({ live: [2] });
    expect(planOf({ ...choice, mode: 'calls', calls: [2, 3], model: 'x' }, steps)).toEqual({ live: [2, 3], model: 'x' });
  });
  test.each([
    [{ mode: 'model' }, 'Name the model'], [{ mode: 'result' }, 'Choose the call'], [{ mode: 'result', step: 2, result: '{' }, 'not JSON'],
    [{ mode: 'calls' }, 'Choose the calls'], [{ mode: 'live' }, 'from which on'], [{ mode: 'model', model: 'x', temperature: 'hot' }, 'not a temperature'], [{ mode: 'model', model: 'x', temperature: '-1' }, 'not a temperature'],
  ] as [Partial<Choice>, string][])('%j is incomplete', (change, why) => expect(() => planOf({ ...choice, ...change })).toThrow(why));
  test('which calls are made', () => {
    const live = (plan: object) => steps.map((s, i) => isLive(plan, s, i + 1));
    expect(live({})).toEqual([false, false, false]);
    expect(live({ liveModels: true })).toEqual([true, false, true]);
    expect(live({ from: 2 })).toEqual([false, false, true]);
    expect(live({ results: { 2: {} }, liveTools: true })).toEqual([false, false, true]);
    expect(live({ liveModels: true, liveTools: true })).toEqual([true, true, true]);
    expect(live({ from: 2, liveTools: true })).toEqual([false, true, true]);
    expect(live({ from: 3, liveTools: true })).toEqual([false, false, true]);
    expect(live({ live: [2] })).toEqual([false, true, false]);
    expect(live({ live: [1], from: 3 })).toEqual([true, false, true]);
  });
  test('which plans may call a tool', () => {
    expect([{}, { liveModels: true }, { live: [1, 3] }, { live: [2] }, { from: 3, liveTools: true }].map((p) => callsTools(p, steps))).toEqual([false, false, false, true, true]);
  });
  test('what is in a recording', () => {
    expect(resultOf(steps[1]!)).toEqual({ ok: true });
    expect(Object.fromEntries(instructionsOf({ steps } as Recording))).toEqual({ a: 'Be kind.' });
  });
  test('calls belong to the events that they have led to', () => {
    const events = [event('n1', 'a', [call('c', 't')]), event('n2', 'a', [response('c', 't')]), event('n3', 'a', [{ text: 'x' }])];
    const report = {
      calls: [{ number: 1, kind: 'model', name: 'm', agent: 'a' }, { number: 2, kind: 'tool', name: 't', agent: 'a', replaced: true }, { number: 3, kind: 'model', name: 'm', agent: 'a', live: true }, { number: 4, kind: 'model', name: 'm', agent: 'b', missing: true }],
      events: [{ author: 'a', recorded: '1', now: 'n1' }, { author: 'a', recorded: '2', now: 'n2' }, { author: 'a', recorded: '3', now: 'n3', differences: [{ path: 'x' }] }, { author: 'a', recorded: '4', differences: [{ path: 'event' }] }],
    } as unknown as ReplayReport;
    expect(replaySteps(report, events).map((s) => [s.calls.map((c) => c.number).join(), s.event?.recorded ?? '', s.differs])).toEqual([['1', '1', false], ['2', '2', true], ['3', '3', true], ['', '4', true], ['4', '', true]]);
  });
  test('variants', () => {
    expect(variantsOf(['x', 'y'], ['', 'Be rude.'], ['0', '1'], 'a')).toHaveLength(8);
    expect(variantsOf([], [], [], 'a')).toEqual([{ liveModels: true }]);
    expect(variantsOf(['x'], ['Be rude.'], ['0'], 'a')).toEqual([{ liveModels: true, model: 'x', instructions: { a: 'Be rude.' }, temperature: 0 }]);
    expect(() => variantsOf([], [], ['warm'], 'a')).toThrow('not a temperature');
  });
  test('some at the same time, and none after the end', async () => {
    const controller = new AbortController();
    const done: number[] = [];
    let now = 0;
    let most = 0;
    await inPool([0, 1, 2, 3, 4, 5], 2, controller.signal, async (n) => {
      most = Math.max(most, ++now);
      await Promise.resolve();
      now--;
      done.push(n);
      if (n === 3) controller.abort();
    });
    expect(most).toBe(2);
    expect(done).toContain(3);
    expect(done).not.toContain(5);
  });
});

test('replays are told from each other by their number and time', () => {
  const minute = Date.UTC(2026, 0, 2, 12, 30) / 1000;
  expect(replayName(minute, 2)).toMatch(/^Replay 2, .*2026.*30/);
  expect(replayName(minute)).toMatch(/^Replay, .*2026.*30/);
  expect(replayName(minute + 60, 2)).not.toBe(replayName(minute, 2));
});
