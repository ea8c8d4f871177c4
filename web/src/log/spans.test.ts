import { describe, expect, test } from 'vitest';

import type { Event, Run } from '../api/types';
import { measured, modelCallOf, paceWords, type Span } from './spans';
import { timelineOf } from './timeline';

const run: Run = { id: 'e-1', appName: 'a', userId: 'u', sessionId: 's', status: 'completed', createTime: 10, endTime: 16 };

function span(id: string, parent: string, name: string, from: number, to: number, more: Record<string, unknown> = {}): Span {
  return { name, span_id: id, parent_span_id: parent || null, start_time: from * 1e9, end_time: to * 1e9, attributes: { 'gcp.vertex.agent.invocation_id': 'e-1', ...more } };
}
const agent = (id: string, parent: string, name: string, from: number, to: number, more = {}) => span(id, parent, `invoke_agent ${name}`, from, to, { 'gen_ai.operation.name': 'invoke_agent', 'gen_ai.agent.name': name, ...more });
const model = (id: string, parent: string, from: number, to: number, more = {}) => span(id, parent, 'generate_content m', from, to, { 'gen_ai.operation.name': 'generate_content', 'gen_ai.request.model': 'm', ...more });
const tool = (id: string, parent: string, name: string, from: number, to: number, more = {}) => span(id, parent, `execute_tool ${name}`, from, to, { 'gen_ai.operation.name': 'execute_tool', 'gen_ai.tool.name': name, ...more });

const event = (id: string, at: number, parts: unknown[], more: Partial<Event> = {}): Event => ({
  id, author: 'root', invocationId: 'e-1', timestamp: at, content: { role: 'model', parts: parts as never },
  actions: { stateDelta: {}, artifactDelta: {}, requestedAuthConfigs: {} }, ...more,
});

describe('a timeline as it was measured', () => {
  const spans = [
    span('r', 'request', 'invocation', 10, 16),
    agent('a', 'r', 'root', 10, 16),
    agent('b', 'a', 'helper', 12, 15),
    model('m1', 'a', 10, 11, { 'gcp.vertex.agent.event_id': 'c' }),
    tool('t', 'b', 'f', 13, 14, { 'gcp.vertex.agent.event_id': 'd', 'error.type': 'error' }),
    model('other', 'x', 1, 2, { 'gcp.vertex.agent.invocation_id': 'e-2' }),
  ];
  const shape = (s: Span[], r: Run = run, events: Event[] = []) => measured(s, events, r, 'e-1')?.bars.map((b) => [b.kind, b.label, b.depth, b.start, b.end, b.failed ?? false, b.event]);

  test('is a tree, each branch in the order of time', () => {
    expect(shape(spans)).toEqual([
      ['agent', 'root', 0, 10, 16, false, 'c'],
      ['model', 'm', 1, 10, 11, false, 'c'],
      ['agent', 'helper', 1, 12, 15, false, 'd'],
      ['tool', 'f', 2, 13, 14, true, 'd'],
    ]);
  });
  test('what is open has no end', () => {
    const live = measured([span('r', '', 'invocation', 10, 11, { 'parley.open': true }), agent('a', 'r', 'root', 10, 11, { 'parley.open': true })], [], { ...run, status: 'running', endTime: undefined } as Run, 'e-1')!;
    expect(live.end).toBeUndefined();
    expect(live.bars[0]!.end).toBeUndefined();
  });
  test('waits come from the log', () => {
    const asked = event('c', 11, [{ functionCall: { id: 'x', name: 'adk_request_confirmation' } }], { longRunningToolIds: ['x'] });
    expect(shape(spans, { ...run, status: 'waiting' }, [asked])?.[2]).toEqual(['wait', 'confirmation', 1, 11, undefined, false, 'c']);
  });
  test('what was cancelled has not failed', () => {
    const stopped = [spans[0]!, agent('a', 'r', 'root', 10, 16, { 'error.type': 'cancelled' })];
    expect(shape(stopped, { ...run, status: 'cancelled' })).toEqual([['agent', 'root', 0, 10, 16, false, undefined]]);
    const aborted = event('c', 11, [], { errorCode: 'INVOCATION_ABORTED' });
    expect(timelineOf([aborted], { ...run, status: 'cancelled' }, 'e-1').bars.some((b) => b.failed)).toBe(false);
    expect(timelineOf([aborted], { ...run, status: 'failed' }, 'e-1').bars.some((b) => b.failed)).toBe(true);
  });
  test('what failed before a run was stopped has failed', () => {
    const events = [event('c', 11, [], { errorCode: 'SAFETY' }), event('d', 12, [], { errorCode: 'INVOCATION_ABORTED' })];
    expect(timelineOf(events, { ...run, status: 'cancelled' }, 'e-1').bars.filter((b) => b.failed).map((b) => b.event)).toEqual(['c']);
  });
  test('has the first token and the retries of model calls', () => {
    const slow = model('m1', 'a', 10, 12, { 'gcp.vertex.agent.event_id': 'c', 'parley.model.first_token_seconds': 1.5, 'parley.model.retries': 2 });
    const bars = measured([spans[0]!, spans[1]!, slow], [], run, 'e-1')!.bars;
    expect(bars[1]).toMatchObject({ kind: 'model', start: 10, first: 11.5, retries: 2 });
    expect(paceWords(bars[1]!)).toEqual(['first token after 1.50 s', '2 retries']);
    expect(paceWords(bars[0]!)).toEqual([]);
    expect(modelCallOf([slow], 'c')!.pace).toEqual(['first token after 1.50 s', '2 retries']);
  });
  test('is none when a part of it is not known', () => {
    expect(shape([])).toBeUndefined();
    expect(shape(spans.slice(1))).toBeUndefined();
    expect(shape([span('r', '', 'invocation', 12, 16, { 'parley.run.attempt': 2 }), ...spans.slice(1)])).toBeUndefined();
    expect(shape([span('r2', '', 'invocation', 12, 16, { 'parley.run.attempt': 2 }), ...spans])).toHaveLength(4);
  });
});

describe('what a model was asked', () => {
  const asked = model('m1', 'a', 10, 11.5, {
    'gcp.vertex.agent.event_id': 'c', 'gen_ai.usage.input_tokens': 7, 'gen_ai.usage.output_tokens': 2, 'gen_ai.response.finish_reasons': ['stop'],
    'gcp.vertex.agent.llm_request': JSON.stringify({
      model: 'm', contents: [{ role: 'user', parts: [{ text: 'hi' }] }],
      config: { systemInstruction: ['Be kind.', 'Be brief.'], tools: [{ functionDeclarations: [{ name: 'f' }] }], temperature: 0 },
    }),
    'gcp.vertex.agent.llm_response': '{"finishReason":"STOP"}',
    'parley.request_origins': JSON.stringify([{ path: 'config.systemInstruction[1]', origin: 'instruction of agent root' }, { path: 'contents[0]', origin: 'message of the user', event: 'u' }]),
  });
  test('in parts, with their origins', () => {
    expect(modelCallOf([asked], 'c')).toMatchObject({
      model: 'm', took: 1.5, open: false, error: '', finish: 'stop', tokens: { input: 7, output: 2 },
      instruction: [{ value: 'Be kind.', origin: '' }, { value: 'Be brief.', origin: 'instruction of agent root' }],
      contents: [{ path: 'contents[0]', origin: 'message of the user', event: 'u' }],
      tools: [{ path: 'config.tools[0]' }],
      settings: { temperature: 0 },
      response: { finishReason: 'STOP' },
    });
    expect(modelCallOf([asked], 'other')).toBeUndefined();
  });
  test('when nothing of it was kept', () => {
    expect(modelCallOf([model('m', 'a', 1, 2, { 'gcp.vertex.agent.event_id': 'c' })], 'c')).toMatchObject({ request: undefined, contents: [], response: undefined });
  });
});
