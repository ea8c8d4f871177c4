import { describe, expect, test } from 'vitest';

import type { AppInfo, Event, JsonObject, Part, Run, Session } from '../api/types';
import { branchesOf } from './branches';
import { diff } from './diff';
import { graphOf } from './graph';
import { apply, stateAt } from './history';
import { eventsWith } from './find';
import { exportLines } from './importing';
import { foldable, hasText, linesOf, pathText, valueAt } from './jsonlines';
import { labelsText, nameOf, parseLabels, parseSearch, titledBy } from './labels';
import { exampleBody, expand, operationsOf } from './openapi';
import { answerTo, credentialRequest, keyAnswer, loginAddress, loginAnswer, pendingOf } from './pending';
import { addPiece, placeBeside, queuedFrom, rowsOf, shownIn, summary } from './rows';
import { fieldOf, fieldsOf, valueOf } from './schema';
import { seconds, timelineOf } from './timeline';

function event(id: string, author: string, at: number, parts: Part[], more: Partial<Event> = {}): Event {
  return {
    id, author, invocationId: 'e-1', timestamp: at, content: { role: author === 'user' ? 'user' : 'model', parts: parts as never },
    actions: { stateDelta: {}, artifactDelta: {}, requestedAuthConfigs: {} }, ...more,
  };
}

const delta = (id: string, stateDelta: JsonObject): Event => event(id, 'a', 1, [], { actions: { stateDelta, artifactDelta: {}, requestedAuthConfigs: {} } as never });

describe('branches', () => {
  const said = (...ids: string[]) => ids.map((id) => event(id, 'a', 1, []));
  const session = (id: string, sessionId?: string, atEventId?: string) =>
    ({ id, ...(sessionId ? { forkedFrom: { sessionId, rootId: 'root', ...(atEventId ? { atEventId } : {}) } } : {}) }) as Session;
  // b and c try the turn after 2 again, c from b; d continues from c at c4; e begins again.
  const family = [session('e', 'd'), session('d', 'c', 'c4'), session('c', 'b', '2'), session('b', 'root', '2'), session('root')];
  const of = (id: string, ...ids: string[]) => Object.fromEntries([...branchesOf(id, said(...ids), family)].map(([at, b]) => [at, `${b.sessions.join(' ')} ${b.current + 1}`]));
  test('are seen from each of them, where they part', () => {
    expect(of('root', '1', '2', '3', '4')).toEqual({ 0: 'root e 1', 2: 'root b c 1' });
    expect(of('b', '1', '2', 'b3')).toEqual({ 0: 'b e 1', 2: 'root b c 2' });
    expect(of('c', '1', '2', 'c3', 'c4', 'c5')).toEqual({ 0: 'c e 1', 2: 'root b c 3', 4: 'c d 1' });
    expect(of('d', '1', '2', 'c3', 'c4', 'd5')).toEqual({ 0: 'd e 1', 2: 'root b c 3', 4: 'c d 2' });
    expect(of('e', 'e1')).toEqual({ 0: 'd e 2' });
  });
  test('are not replays, which the menu of their run lists', () => {
    const replay = (id: string, sessionId: string, atEventId: string): Session => ({ ...session(id, sessionId, atEventId), forkedFrom: { sessionId, rootId: 'root', atEventId, replayOf: 'e-1' } }) as Session;
    const more = [session('g', 'r2', '4'), replay('r2', 'root', '2'), replay('r1', 'root', '4'), ...family];
    const seen = (id: string, ...ids: string[]) => Object.fromEntries([...branchesOf(id, said(...ids), more)].map(([at, b]) => [at, `${b.sessions.join(' ')} ${b.current + 1}`]));
    expect(seen('root', '1', '2', '3', '4')).toEqual({ 0: 'root e 1', 2: 'root b c 1', 3: 'root g 1' });
    // A replay is there in place of what it repeats, and so is what was said in it.
    expect(seen('r2', '1', '2', '3', '4', '5')).toEqual({ 0: 'r2 e 1', 2: 'r2 b c 1', 4: 'r2 g 1' });
    expect(seen('g', '1', '2', '3', '4', 'g5')).toEqual({ 0: 'g e 1', 2: 'g b c 1', 4: 'r2 g 2' });
    expect(branchesOf('root', said('1', '2'), [replay('r', 'root', '1'), session('root')]).size).toBe(0);
    expect(branchesOf('r', said('1', 'r2'), [replay('r', 'root', '1'), session('root')]).size).toBe(0);
  });
  test('may end where they part, and lose the session that they come from', () => {
    expect(of('root', '1', '2')).toEqual({ 0: 'root e 1', 1: 'root b c 1' });
    const orphans = family.filter((s) => s.id !== 'root');
    expect(branchesOf('b', said('1', '2', 'b3'), orphans).get(2)).toEqual({ sessions: ['b', 'c'], current: 0, after: '2' });
    expect(branchesOf('x', said('1'), [session('x')]).size).toBe(0);
  });
  test('are shown at an event that has a row', () => {
    const feedback = (id: string) => event(id, 'user', 1, [], { invocationId: 'p-1', customMetadata: { feedback: { runId: 'e-1', rating: 'up' } } } as never);
    const [one, two, three] = said('1', '2', '3') as [Event, Event, Event];
    expect([...branchesOf('root', [one, two, feedback('f'), three], family).keys()]).toEqual([3, 0]);
    expect([...branchesOf('root', [one, two, feedback('f')], family)]).toEqual([[1, { sessions: ['root', 'b', 'c'], current: 0, after: '2' }], [0, { sessions: ['root', 'e'], current: 0, after: '' }]]);
  });
});

describe('queued messages', () => {
  const local = (run: string) => event(`local-${run}`, 'user', 1, [{ text: run }], { invocationId: run });
  const events = [local('a'), event('1', 'x', 1, [], { invocationId: 'a' }), local('b'), local('c')];
  test('are those of runs that have not begun', () => {
    expect([queuedFrom(events, 'a'), queuedFrom(events, 'b'), queuedFrom(events, 'c'), queuedFrom(events, undefined)]).toEqual([2, 3, 4, 4]);
  });
  test('are below what is being written', () => {
    expect(rowsOf(events, [{ id: 'l', author: 'x', text: 't', thought: '' }], 'a').map((r) => r.key)).toEqual(['local-a', '1', 'live-l', 'local-b', 'local-c']);
  });
});

test('events without a row are passed over', () => {
  const feedback = event('3', 'user', 1, [], { invocationId: 'p-1', customMetadata: { feedback: { runId: 'e-1', rating: 'up' } } } as never);
  const events = [event('1', 'user', 1, [{ text: 'new' }]), event('2', 'a', 1, [{ text: 'new' }]), feedback, event('4', 'user', 1, [{ text: 'new' }])];
  const shown = shownIn(events);
  expect(shown).toEqual([0, 1, 3]);
  expect(rowsOf(events, []).map((row) => row.kind === 'event' && row.index)).toEqual(shown);
  expect([placeBeside(shown, 1, 1), placeBeside(shown, 3, -1), placeBeside(shown, 2, 1), placeBeside(shown, 2, -1), placeBeside(shown, 3, 1), placeBeside(shown, 0, -1)]).toEqual([3, 1, 3, 1, undefined, undefined]);
});

describe('titles', () => {
  const said = event('1', 'user', 1, [{ text: '  What is\nnew? ' }]);
  test('are given, or what was said first, or the id', () => {
    expect(nameOf('s', { __session_metadata__: { displayName: 'T' } }, [said])).toBe('T');
    expect(nameOf('s', {}, [event('0', 'x', 1, [{ text: 'hi' }]), said])).toBe('What is new?');
    expect(nameOf('s', {}, [])).toBe('s');
  });
  test('come with the first message', () => {
    expect(titledBy([{ text: 'a '.repeat(100) }], { __session_metadata__: { labels: { k: 'v' } } }, [])).toEqual({ __session_metadata__: { labels: { k: 'v' }, displayName: `${'a '.repeat(40).slice(0, 79)}…` } });
    expect(titledBy([{ text: 'x' }], {}, [said])).toBeUndefined();
    expect(titledBy([{ functionResponse: {} }], {}, [])).toBeUndefined();
    expect(titledBy([{ text: 'x' }], { __session_metadata__: { displayName: 'T' } }, [])).toBeUndefined();
  });
});

test('events are found by all that they show', () => {
  const events = [
    event('1', 'user', 1, [{ text: 'What is NEW?' }]),
    event('2', 'a', 1, [{ functionCall: { id: 'c', name: 'look_up', args: { city: 'Oslo' } } }]),
    event('3', 'a', 1, [{ functionResponse: { id: 'c', name: 'look_up', response: { report: 'sunny in oslo' } } }]),
    delta('4', { mood: 'calm' }),
  ];
  expect([eventsWith(events, 'new'), eventsWith(events, 'OSLO '), eventsWith(events, 'mood = "calm'), eventsWith(events, ' '), eventsWith(events, 'none')]).toEqual([[0], [1, 2], [3], [], []]);
});

test('a session of another program is made into lines', () => {
  expect(exportLines('{"parley":1}\n{"id":"1"}')).toBe('{"parley":1}\n{"id":"1"}');
  expect(exportLines('{"id":"s","state":{"a":1},"events":[{"id":"1"},{"id":"2"}]}')).toBe('{"parley":1,"state":{"a":1}}\n{"id":"1"}\n{"id":"2"}');
  expect(exportLines('{"parley":1,"state":{}}')).toBe('{"parley":1,"state":{}}');
});

describe('lines of JSON', () => {
  const value = { a: 1, 'b c': [{ d: 'x' }, []], e: {} };
  const text = (folded: string[] = []) => linesOf(value, new Set(folded)).map((l) => `${l.depth}${l.name ?? ''}${l.kind}${l.last ? '' : ','}`);
  test('are those of a printed value', () => {
    expect(text()).toEqual(['0begin', '1avalue,', '1b cbegin,', '2begin,', '3dvalue', '2end,', '2folded', '1end,', '1efolded', '0end']);
    expect(linesOf(null, new Set())).toMatchObject([{ kind: 'value', value: null }]);
  });
  test('are fewer when some are folded', () => {
    expect(text(['["b c"]'])).toEqual(['0begin', '1avalue,', '1b cfolded,', '1efolded', '0end']);
    expect([...foldable(value, 1)]).toEqual(['["b c"]', '["b c",0]', '["b c",1]', '["e"]']);
    expect([...foldable(value, 2, 1)]).toEqual(['[]', '["b c"]', '["b c",0]', '["b c",1]']);
  });
  test('can be pointed at, and found', () => {
    const line = linesOf(value, new Set())[4]!;
    expect([pathText(line.path), pathText(['a', 'b', 0]), valueAt(value, line.path)]).toEqual(['["b c"][0].d', 'a.b[0]', 'x']);
    expect([hasText(line, 'x'), hasText(line, 'd'), hasText(line, 'y')]).toEqual([true, true, false]);
  });
});

describe('diff', () => {
  test('goes into objects, and takes lists as a whole', () => {
    expect(diff({ a: 1, b: { c: 1, d: [1, 2] }, gone: true }, { a: 1, b: { c: 2, d: [1, 3] }, come: null })).toEqual([
      { path: ['b', 'c'], kind: 'changed', before: 1, after: 2 },
      { path: ['b', 'd'], kind: 'changed', before: [1, 2], after: [1, 3] },
      { path: ['come'], kind: 'added', after: null },
      { path: ['gone'], kind: 'removed', before: true },
    ]);
  });
  test('finds nothing in what is equal in another order', () => {
    expect(diff({ a: { x: 1, y: [{ z: null }] } }, { a: { y: [{ z: null }], x: 1 } })).toEqual([]);
  });
});

describe('state', () => {
  test('null deletes, and temp: is not kept', () => {
    expect(apply({ a: 1, b: 2 }, { a: null, c: 3, 'temp:x': 1 })).toEqual({ b: 2, c: 3 });
  });
  test('before and after an event', () => {
    const events = [delta('1', { a: 1 }), delta('2', { a: 2, b: null }), delta('3', { c: 1 })];
    expect(stateAt({ b: 0 }, events, 1, { a: 2, c: 1, 'user:u': 5 })).toEqual({ before: { b: 0, a: 1, 'user:u': 5 }, after: { a: 2, 'user:u': 5 } });
  });
});

describe('pending', () => {
  const call = (id: string, name: string, args: JsonObject = {}) => event(`c-${id}`, 'a', 1, [{ functionCall: { id, name, args } }], { longRunningToolIds: [id] });
  const answer = (id: string, response: JsonObject) => event(`r-${id}`, 'user', 2, [{ functionResponse: { id, name: 'x', response } }]);

  test('is what has no final answer', () => {
    const events = [call('1', 'adk_request_confirmation'), call('2', 'pay'), call('3', 'svc_request_credential'), answer('1', { confirmed: true }), answer('2', { status: 'pending' })];
    expect(pendingOf(events).map((p) => [p.call.id, p.kind])).toEqual([['2', 'answer'], ['3', 'credential']]);
  });
  test('a call without a wait is none', () => {
    expect(pendingOf([event('1', 'a', 1, [{ functionCall: { id: '1', name: 'f' } }])])).toEqual([]);
  });
  test('a login: scopes, address and answer', () => {
    const config: JsonObject = {
      credentialKey: 'k',
      authScheme: { type: 'oauth2', flows: { authorizationCode: { scopes: { read: 'See it' } } } },
      exchangedAuthCredential: { authType: 'oauth2', oauth2: { authUri: 'https://p.example/auth?scope=read+openid&state=s' } },
    };
    const asked = credentialRequest({ args: { authConfig: config } });
    expect(asked.scopes).toEqual([{ name: 'read', description: 'See it' }, { name: 'openid', description: '' }]);
    expect(loginAddress(asked.authUri!, 'http://me/dev-ui/')).toBe('https://p.example/auth?scope=read+openid&state=s&redirect_uri=http%3A%2F%2Fme%2Fdev-ui%2F');
    const given = loginAnswer(asked.config, 'http://me/dev-ui/?code=c', 'http://me/dev-ui/') as { exchangedAuthCredential: { oauth2: JsonObject } };
    expect(given.exchangedAuthCredential.oauth2).toMatchObject({ authResponseUri: 'http://me/dev-ui/?code=c', redirectUri: 'http://me/dev-ui/' });
    expect(answerTo({ id: '1', name: 'n' }, {})).toEqual({ functionResponse: { id: '1', name: 'n', response: {} } });
  });
  test('a key', () => {
    expect(keyAnswer({ authScheme: { type: 'apiKey' } }, 'secret')['exchangedAuthCredential']).toEqual({ authType: 'apiKey', apiKey: 'secret' });
  });
});

describe('rows', () => {
  test('pieces add up by their id', () => {
    const piece = (id: string, text: string) => event(id, 'a', 1, [{ text }], { partial: true });
    let live = addPiece([], piece('p', 'Hello '));
    live = addPiece(live, piece('q', 'Aside'));
    live = addPiece(live, piece('p', 'there'));
    expect(live.map((l) => l.text)).toEqual(['Hello there', 'Aside']);
    expect(rowsOf([event('1', 'user', 1, [{ text: 'hi' }])], live).map((r) => r.key)).toEqual(['1', 'live-p', 'live-q']);
  });
});

describe('timeline', () => {
  const run: Run = { id: 'e-1', appName: 'a', userId: 'u', sessionId: 's', status: 'completed', createTime: 10, endTime: 16 };
  const events = [
    event('u', 'user', 10, [{ text: 'hi' }]),
    event('c', 'agent', 11, [{ functionCall: { id: '1', name: 'f' } }], { longRunningToolIds: [] }),
    event('r', 'agent', 14, [{ functionResponse: { id: '1', name: 'f', response: { status: 'error' } } }]),
    event('t', 'agent', 16, [{ text: 'bye' }]),
  ];
  test('bars of agents, models and tools', () => {
    expect(timelineOf(events, run, 'e-1').bars.map((b) => [b.kind, b.label, b.start, b.end, b.failed ?? false])).toEqual([
      ['agent', 'agent', 10, 16, false],
      ['model', 'model', 10, 11, false],
      ['tool', 'f', 11, 14, true],
      ['model', 'model', 14, 16, false],
    ]);
  });
  test('what continues has no end', () => {
    const live = timelineOf(events.slice(0, 2), { ...run, status: 'running', endTime: undefined } as Run, 'e-1');
    expect(live.end).toBeUndefined();
    expect(live.bars.filter((b) => b.end === undefined).map((b) => b.label)).toEqual(['agent', 'f']);
  });
  test('a wait ends with the answer in another run', () => {
    const asked = event('w', 'agent', 12, [{ functionCall: { id: 'x', name: 'adk_request_confirmation' } }], { longRunningToolIds: ['x'] });
    const given = event('g', 'user', 30, [{ functionResponse: { id: 'x', name: 'adk_request_confirmation', response: {} } }], { invocationId: 'e-2' });
    const bar = (all: Event[]) => timelineOf(all, { ...run, status: 'waiting' }, 'e-1').bars.find((b) => b.kind === 'wait');
    expect(bar([asked])?.end).toBeUndefined();
    expect(bar([asked, given])?.end).toBe(30);
  });
  test('lengths in words', () => {
    expect([0.0001, 0.25, 2.5, 42, 75, 3700].map(seconds)).toEqual(['<1 ms', '250 ms', '2.50 s', '42.0 s', '1 m 15 s', '1 h 1 m']);
  });
});

test('labels and searches', () => {
  expect(parseLabels('kind:trip, url:http://x ,,')).toEqual({ kind: 'trip', url: 'http://x' });
  expect(labelsText({ a: '1', b: '2' })).toBe('a:1, b:2');
  expect(parseSearch('new york  kind:trip')).toEqual({ text: 'new york', labels: ['kind:trip'] });
});

describe('forms', () => {
  const schema: JsonObject = { type: 'object', required: ['n'], properties: { n: { type: 'integer' }, c: { enum: ['a', 1] }, b: { type: 'boolean' }, o: { type: 'object' } } };
  test('fields of a schema', () => {
    expect(fieldsOf(schema, { n: 4 }).map((f) => [f.name, f.kind, f.required, f.initial])).toEqual([['n', 'integer', true, '4'], ['c', 'choice', false, ''], ['b', 'boolean', false, ''], ['o', 'json', false, '']]);
  });
  test('values, and what is wrong with them', () => {
    const n = fieldOf('n', { type: 'integer' }, true);
    expect(valueOf(n, '4')).toBe(4);
    expect(() => valueOf(n, '')).toThrow('required');
    expect(() => valueOf(n, '4.5')).toThrow('whole number');
    expect(() => valueOf(fieldOf('o', {}, false), '{')).toThrow('not JSON');
    expect(valueOf(fieldOf('c', { enum: ['a', 1] }, false), '1')).toBe(1);
  });
});

test('a graph has every agent once on its way, and stops at circles', () => {
  const agent = (subAgents: string[], tools: string[] = []) => ({ description: '', kind: 'LlmAgent', subAgents, tools: tools.length ? [{ functionDeclarations: tools.map((name) => ({ name, description: '', parameters: {} })) }] : [] });
  const info = { name: 'x', rootAgentName: 'root', description: '', language: 'go', agents: { root: agent(['left', 'right']), left: agent([], ['t1', 't2']), right: agent(['root']) } } as never as AppInfo;
  const graph = graphOf(info);
  expect(graph.boxes.map((b) => b.label).sort()).toEqual(['left', 'right', 'root', 't1', 't2']);
  expect(graph.edges).toHaveLength(4);
  for (const [i, a] of graph.boxes.entries()) for (const b of graph.boxes.slice(i + 1)) expect(a.x < b.x + b.width && b.x < a.x + a.width && a.y < b.y + b.height && b.y < a.y + a.height, `${a.label} and ${b.label} overlap`).toBe(false);
});

test('questions of the server and their answers are told in words', () => {
  const asks = (name: string) => summary(event('a', 'agent', 1, [{ functionCall: { id: 'c', name, args: { authConfig: {} } } }]));
  const answers = (name: string, response: JsonObject, author = 'user') => summary(event('a', author, 1, [{ functionResponse: { id: 'c', name, response } }]));
  expect(['svc_request_credential', 'adk_request_confirmation', 'adk_request_input', 'get_user_choice', 'look_up'].map(asks)).toEqual(['asks for a login', 'asks for a confirmation', 'asks for an answer', 'asks for a choice', 'calls look_up']);
  expect(answers('svc_request_credential', { authScheme: {}, exchangedAuthCredential: {} })).toBe('answered the login');
  expect(answers('adk_request_confirmation', { confirmed: true })).toBe('approved it');
  expect(answers('adk_request_confirmation', { confirmed: false })).toBe('rejected it');
  expect(answers('look_up', {})).toBe('look_up responds');
  expect(answers('get_user_choice', { result: 'x' }, 'agent')).toBe('get_user_choice responds');
});

test('operations of a document', () => {
  const doc: JsonObject = {
    paths: { '/a/{id}': { parameters: [{ $ref: '#/components/parameters/Id' }], post: { operationId: 'make', summary: 'Make', requestBody: { content: { 'application/json': { examples: { one: { value: { x: 1 } } } } } }, parameters: [{ name: 'q', in: 'query' }, { name: 'r', in: 'query', required: true }], responses: { 200: { description: 'Made.' } } } } },
    components: { parameters: { Id: { name: 'id', in: 'path' } } },
  };
  const [op] = operationsOf(doc);
  expect(expand(op!, { id: 'x/y', q: 'a b' })).toBe('/a/x%2Fy?q=a+b');
  expect(exampleBody(op!, doc)).toEqual({ x: 1 });
  expect(op!.parameters.map((p) => [p.name, p.required])).toEqual([['id', true], ['q', false], ['r', true]]);
});
