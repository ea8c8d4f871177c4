import { describe, expect, test } from 'vitest';

import type { AppInfo, Event, Json, Run } from '../api/types';
import { layoutOf, type Layout } from './layout';
import { pendingOf } from './pending';
import { describe as words, flowsOf, questionsOf, resumed, type Flow, type NodeState } from './workflow';

type Edge = [from: string, to: string, ...routes: string[]];

const workflow = (nodes: { [name: string]: object }, ...edges: Edge[]) => ({
  kind: 'Workflow', description: '', tools: [], subAgents: [],
  workflow: { nodes: Object.entries(nodes).map(([name, more]) => ({ name, kind: 'function', ...more })), edges: edges.map(([from, to, ...routes]) => ({ ...(from ? { from } : {}), to, ...(routes.length ? { routes } : {}) })) },
});

const app = (agents: { [name: string]: object }): AppInfo => ({ name: 'x', rootAgentName: Object.keys(agents)[0]!, description: '', language: 'go', agents }) as never;

const desk = app({
  desk: workflow(
    { classify: {}, urgency: {}, product: {}, found: { kind: 'join' }, report: { maxAttempts: 3 }, refund: { rerunOnResume: true }, reply: { kind: 'agent', agent: 'reply' } },
    ['', 'classify'], ['classify', 'urgency', 'fault'], ['classify', 'product', 'fault'], ['classify', 'refund', 'refund'], ['classify', 'reply', '__DEFAULT__'],
    ['urgency', 'found'], ['product', 'found'], ['found', 'report'],
  ),
});

let count = 0;
interface Said { output?: Json; route?: Json; end?: boolean; error?: string; ask?: string; attempt?: number; runId?: string; run?: string; more?: boolean }
function ended(path: string, { output, route, end, error, ask, attempt, runId = '1', run = 'r1', more }: Said = {}): Event {
  return {
    id: `e${++count}`, author: path.split('.').at(-1)!, invocationId: run, timestamp: count,
    nodeInfo: { path, runId, ...(attempt ? { attemptCount: attempt } : {}), ...(more ? { more } : {}) },
    ...(output !== undefined ? { output } : {}), ...(error ? { errorCode: 'X', errorMessage: error } : {}),
    ...(ask ? { longRunningToolIds: [ask], content: { role: 'model', parts: [{ functionCall: { id: ask, name: 'adk_request_input', args: { message: 'Sure?' } } }] } } : {}),
    actions: { stateDelta: {}, artifactDelta: {}, requestedAuthConfigs: {}, ...(route !== undefined ? { route } : {}), ...(end || error ? { endOfAgent: true } : {}) },
  } as never;
}
const answer = (id: string, run: string): Event => ({ id: `e${++count}`, author: 'user', invocationId: run, timestamp: count, content: { role: 'user', parts: [{ functionResponse: { id, name: 'adk_request_input', response: { result: 'yes' } } }] }, actions: {} }) as never;

const run = (id: string, status: string, resumes?: string) => ({ id, status, ...(resumes ? { resumes } : {}) }) as Run;

function flow(info: AppInfo, events: Event[], more: { live?: boolean; runs?: Run[]; run?: string; attempts?: { [scope: string]: number } } = {}): Flow {
  return flowsOf({ info, events, runs: more.runs ?? [run('r1', 'completed')], run: more.run ?? 'r1', live: more.live ?? false, attempts: more.attempts ?? {} })[0]!;
}
const states = (f: Flow) => Object.fromEntries(f.nodes.map((n) => [n.name, n.status]));
const taken = (f: Flow) => f.edges.filter((e) => e.taken > 0).map((e) => `${e.from}>${e.to}`);
const node = (f: Flow, name: string): NodeState => f.nodes.find((n) => n.name === name)!;

describe('a workflow', () => {
  test('that has not run', () => {
    const f = flowsOf({ info: desk, events: [], runs: [], run: undefined, live: false })[0]!;
    expect(new Set(Object.values(states(f)))).toEqual(new Set(['idle']));
    expect([f.status, taken(f)]).toEqual(['idle', []]);
  });
  test('begins with its first nodes', () => {
    const f = flow(desk, [], { live: true });
    expect(states(f)).toMatchObject({ classify: 'active', urgency: 'idle', report: 'idle' });
    expect(taken(f)).toEqual(['>classify']);
  });
  test('takes routes, and skips what they do not lead to', () => {
    const f = flow(desk, [ended('desk.classify', { output: 'x', route: 'fault' })], { live: true });
    expect(states(f)).toEqual({ classify: 'done', urgency: 'active', product: 'active', found: 'idle', report: 'idle', refund: 'skipped', reply: 'skipped' });
    expect(taken(f)).toEqual(['>classify', 'classify>urgency', 'classify>product']);
    expect(node(f, 'classify').routes).toEqual(['fault']);
  });
  test('takes the default route if no other matches', () => {
    for (const route of [undefined, 'else', 7]) {
      const f = flow(desk, [ended('desk.classify', { output: 'x', ...(route === undefined ? {} : { route }) })], { live: true });
      expect(taken(f)).toEqual(['>classify', 'classify>reply']);
      expect(states(f)).toMatchObject({ reply: 'active', refund: 'skipped' });
    }
  });
  test('joins wait for all', () => {
    const events = [ended('desk.classify', { output: 'x', route: 'fault' }), ended('desk.product', { output: 'lamp' })];
    let f = flow(desk, events, { live: true });
    expect(states(f)).toMatchObject({ urgency: 'active', product: 'done', found: 'idle' });
    expect(node(f, 'found').arrived).toEqual({ done: 1, of: 2 });
    events.push(ended('desk.urgency', { output: 'low' }));
    f = flow(desk, events, { live: true });
    expect(states(f)).toMatchObject({ urgency: 'done', found: 'active', report: 'idle' });
    events.push(ended('desk.found', { output: {} }), ended('desk.report', { output: 'y', attempt: 2 }));
    f = flow(desk, events);
    expect(states(f)).toMatchObject({ found: 'done', report: 'done', refund: 'skipped' });
    expect([f.status, words(node(f, 'report'))]).toEqual(['done', 'done, attempt 2 of 3']);
  });
  test('shows attempts as they begin, and the failure', () => {
    const before = [ended('desk.classify', { output: 'x', route: 'fault' }), ended('desk.product', { output: 'a' }), ended('desk.urgency', { output: 'b' }), ended('desk.found', { output: {} })];
    let f = flow(desk, before, { live: true, attempts: { 'desk.report': 2 } });
    expect([node(f, 'report').status, node(f, 'report').attempt]).toEqual(['active', 2]);
    f = flow(desk, [...before, ended('desk.report', { error: 'no luck', attempt: 3 })], { runs: [run('r1', 'failed')] });
    expect([f.status, words(node(f, 'report'))]).toEqual(['failed', 'failed, attempt 3 of 3, no luck']);
  });
  test('that is cancelled leaves nodes unfinished', () => {
    const f = flow(desk, [ended('desk.classify', { output: 'x', route: 'fault' })], { runs: [run('r1', 'cancelled')] });
    expect(states(f)).toMatchObject({ urgency: 'stopped', product: 'stopped', report: 'skipped' });
  });
  test('waits, and goes on in the run that brings the answer', () => {
    const events = [ended('desk.classify', { output: 'x', route: 'refund' }), ended('desk.refund', { ask: 'q' })];
    let f = flow(desk, events, { runs: [run('r1', 'waiting')] });
    expect([f.status, node(f, 'refund').status]).toEqual(['waiting', 'waiting']);
    expect(questionsOf(f, pendingOf(events)).map((q) => [q.node, q.pending.call.id])).toEqual([['refund', 'q']]);
    const runs = [run('r2', 'running', 'r1'), run('r1', 'waiting')];
    expect([...resumed(runs, 'r2')]).toEqual(['r2', 'r1']);
    events.push(answer('q', 'r2'));
    f = flow(desk, events, { runs, run: 'r2', live: true });
    expect(states(f)).toMatchObject({ classify: 'done', refund: 'active' });
    expect(node(flow(desk, events, { runs }), 'refund').status).toBe('answered');
    events.push(ended('desk.refund', { output: 'paid', run: 'r2' }));
    expect(flow(desk, events, { runs, run: 'r2' }).status).toBe('done');
  });
  test('whose node takes the answer as its output', () => {
    const info = app({ wf: workflow({ ask: {}, then: {} }, ['', 'ask'], ['ask', 'then']) });
    const f = flow(info, [ended('wf.ask', { ask: 'q' }), answer('q', 'r2')], { runs: [run('r2', 'running', 'r1'), run('r1', 'waiting')], run: 'r2', live: true });
    expect(states(f)).toEqual({ ask: 'done', then: 'active' });
  });
  test('repeats nodes along a cycle', () => {
    const info = app({ wf: workflow({ draft: {}, judge: {}, send: {} }, ['', 'draft'], ['draft', 'judge'], ['judge', 'draft', 'again'], ['judge', 'send', 'good']) });
    const once = [ended('wf.draft', { output: 1 }), ended('wf.judge', { output: 1, route: 'again' })];
    let f = flow(info, once, { live: true });
    expect(states(f)).toEqual({ draft: 'active', judge: 'done', send: 'idle' });
    f = flow(info, [...once, ended('wf.draft', { output: 2, runId: '2' }), ended('wf.judge', { output: 2, route: 'good', runId: '2' }), ended('wf.send', { end: true })]);
    expect([f.status, node(f, 'draft').runs, node(f, 'judge').routes]).toEqual(['done', 2, ['good']]);
    expect(f.edges.map((e) => e.taken)).toEqual([1, 2, 1, 1]);
  });
  test('in a workflow', () => {
    const info = app({ outer: workflow({ inner: { kind: 'agent', agent: 'inner' }, last: {} }, ['', 'inner'], ['inner', 'last']), inner: workflow({ a: {}, b: {} }, ['', 'a'], ['a', 'b']) });
    let f = flow(info, [ended('outer.inner.a', { output: 1 })], { live: true });
    expect([states(f), states(node(f, 'inner').inner!)]).toEqual([{ inner: 'active', last: 'idle' }, { a: 'done', b: 'active' }]);
    f = flow(info, [ended('outer.inner.a', { output: 1 }), ended('outer.inner.b', { output: 2 })], { live: true });
    expect(states(f)).toEqual({ inner: 'done', last: 'active' });
    f = flow(info, [], { live: true });
    expect([states(f), states(node(f, 'inner').inner!)]).toEqual([{ inner: 'active', last: 'idle' }, { a: 'idle', b: 'idle' }]);
  });
  test('with a worker for each item', () => {
    const info = app({ wf: workflow({ each: { kind: 'worker', each: 'function' }, sum: {} }, ['', 'each'], ['each', 'sum']) });
    const items = [ended('wf.each.each@0', { output: 1, runId: '0' }), ended('wf.each.each@2', { output: 1, runId: '2' })];
    let f = flow(info, items, { live: true });
    expect([node(f, 'each').status, node(f, 'each').children, node(f, 'each').kind]).toEqual(['active', [{ name: 'each@0', status: 'done' }, { name: 'each@2', status: 'done' }], 'function for each item']);
    f = flow(info, [...items, ended('wf.each', { output: [1, 1] })], { live: true });
    expect(states(f)).toEqual({ each: 'done', sum: 'active' });
  });
  test('whose function runs the nodes', () => {
    const info = app({ wf: workflow({}) });
    const f = flow(info, [ended('wf.a@1', { output: 1 }), ended('wf.a@2', { output: 2, runId: '2' }), ended('wf.b@1', { ask: 'q' })], { runs: [run('r1', 'waiting')] });
    expect([f.dynamic, f.status, f.nodes.map((n) => [n.name, n.status, n.runs])]).toEqual([true, 'waiting', [['a', 'done', 2], ['b', 'waiting', 1]]]);
  });
  test('below another agent is shown when it has run', () => {
    const info = app({ root: { kind: 'LlmAgent', description: '', tools: [], subAgents: ['wf'] }, wf: workflow({ a: {} }, ['', 'a']) });
    const scopes = (events: Event[]) => flowsOf({ info, events, runs: [], run: 'r1', live: false }).map((f) => f.scope);
    expect(scopes([])).toEqual([]);
    expect(scopes([ended('wf.a', { output: 1 }), ended('wf@2.a', { output: 1 })])).toEqual(['wf', 'wf@2']);
  });
  test('waits for an output', () => {
    const info = app({ wf: workflow({ a: { waitForOutput: true }, b: {} }, ['', 'a'], ['a', 'b']) });
    expect(states(flow(info, [ended('wf.a', { end: true })], { live: true }))).toEqual({ a: 'done', b: 'skipped' });
  });
});

describe('the layout', () => {
  const overlaps = (l: Layout) => l.places.flatMap((a, i) => l.places.slice(i + 1).filter((b) => a.x < b.x + b.width && b.x < a.x + a.width && a.y < b.y + b.height && b.y < a.y + a.height).map((b) => `${a.key} ${b.key}`));
  const below = (l: Layout, a: string, b: string) => l.places.find((p) => p.key === a)!.y < l.places.find((p) => p.key === b)!.y;
  test('goes from top to bottom, without overlaps', () => {
    const l = layoutOf(flow(desk, []));
    expect(overlaps(l)).toEqual([]);
    for (const [a, b] of [['', 'classify'], ['classify', 'urgency'], ['urgency', 'found'], ['found', 'report'], ['classify', 'reply']] as const) expect(below(l, a, b), `${a} ${b}`).toBe(true);
    expect(l.paths).toHaveLength(8);
    expect(l.paths.filter((p) => p.label).map((p) => p.label)).toEqual(['fault', 'fault', 'refund', 'default']);
    for (const p of l.places) expect(p.x >= 0 && p.x + p.width <= l.width && p.y + p.height <= l.height).toBe(true);
  });
  test('has cycles, long edges and nested workflows', () => {
    const info = app({
      wf: workflow({ a: {}, b: {}, in: { kind: 'agent', agent: 'in' }, c: {} }, ['', 'a'], ['a', 'b'], ['b', 'in'], ['in', 'c'], ['a', 'c', 'short'], ['c', 'a', 'again'], ['c', 'c', 'self']),
      in: workflow({ x: {}, y: {} }, ['', 'x'], ['', 'y']),
    });
    const l = layoutOf(flow(info, []));
    expect(overlaps(l)).toEqual([]);
    const nested = l.places.find((p) => p.key === 'in')!;
    expect(nested.inner!.width).toBeLessThanOrEqual(nested.width);
    expect(overlaps(nested.inner!)).toEqual([]);
    expect(l.paths.every((p) => !p.d.includes('NaN'))).toBe(true);
  });
});
