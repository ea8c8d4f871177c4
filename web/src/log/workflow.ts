// How far a workflow has come: the states of its nodes and edges, from the graph
// of the application and the events of a run. A node has no event when it begins:
// it is active if one before it has ended, an edge to it was taken, and it has not
// ended itself.
import type { AppInfo, Event, Json, Run } from '../api/types';
import { pendingOf, type Pending } from './pending';

export type NodeStatus = 'idle' | 'active' | 'waiting' | 'answered' | 'done' | 'failed' | 'stopped' | 'skipped';

type Graph = NonNullable<AppInfo['agents'][string]['workflow']>;
type GraphNode = Graph['nodes'][number];

export interface NodeState {
  name: string;
  /** What the node is, in one or two words. */
  kind: string;
  status: NodeStatus;
  /** How often it has run. */
  runs: number;
  /** The attempt of its last run, and how many it may have. */
  attempt: number;
  maxAttempts?: number;
  /** The routes that it chose last. */
  routes: string[];
  error?: string;
  /** The last event of the node. */
  event?: string;
  /** The runs of nodes that it runs itself. */
  children: { name: string; status: NodeStatus }[];
  /** How many of the nodes before a join have ended. */
  arrived?: { done: number; of: number };
  /** The nodes of a workflow that is a node. */
  inner?: Flow;
}

export interface EdgeState {
  /** Empty for the start. */
  from: string;
  to: string;
  routes: string[];
  /** How often it was taken. */
  taken: number;
}

export interface Flow {
  name: string;
  scope: string;
  status: NodeStatus;
  nodes: NodeState[];
  edges: EdgeState[];
  /** A function runs the nodes: there are no edges. */
  dynamic: boolean;
}

interface NodeInfo {
  path: string;
  runId?: string;
  attemptCount?: number;
  more?: boolean;
}

/** What the log tells of one run of a node. */
interface Record {
  path: string;
  scope: string;
  ended: boolean;
  output: boolean;
  routes: string[];
  attempt: number;
  error?: string;
  event: string;
  asked: string[];
}

const defaultRoute = '__DEFAULT__';

export function nodeOf(event: Event): NodeInfo | undefined {
  const info = event.nodeInfo as NodeInfo | undefined;
  return info?.path ? info : undefined;
}

/** What identifies the run of a node: its path, with the number of the run from the second on. */
export function scopeOf({ path, runId }: NodeInfo): string {
  return !runId || runId === '1' || path.endsWith(`@${runId}`) ? path : `${path}@${runId}`;
}

const within = (scope: string, outer: string) => scope.startsWith(outer) && (scope.length === outer.length || scope[outer.length] === '.');

function routesOf(event: Event): string[] {
  const route = (event.actions as { route?: Json } | undefined)?.route;
  return route === undefined || route === null ? [] : [route].flat().map(String);
}

/** A run and those that it resumes: the nodes that have ended in them do not run again. */
export function resumed(runs: Run[], id: string): Set<string> {
  const all = new Set<string>();
  for (let next: string | undefined = id; next && !all.has(next); next = runs.find((r) => r.id === next)?.resumes) all.add(next);
  return all;
}

function recordsOf(events: Event[]): Map<string, Record> {
  const records = new Map<string, Record>();
  for (const event of events) {
    const info = nodeOf(event);
    if (!info || event.author === 'user' || event.partial) continue;
    const scope = scopeOf(info);
    const routes = routesOf(event);
    const output = event.output !== undefined;
    const before = records.get(scope);
    const end = Boolean((event.actions as { endOfAgent?: boolean } | undefined)?.endOfAgent);
    records.set(scope, {
      path: info.path, scope, event: event.id,
      ended: end || ((output || routes.length > 0) && !info.more),
      output: output || (before?.output ?? false),
      routes: routes.length > 0 ? routes : (before?.routes ?? []),
      attempt: Math.max(info.attemptCount ?? 1, before?.attempt ?? 1),
      asked: [...(before?.asked ?? []), ...(event.longRunningToolIds ?? [])],
      ...(end && event.errorCode ? { error: event.errorMessage || event.errorCode } : {}),
    });
  }
  return records;
}

/** What flowsOf needs to know. */
export interface Source {
  info: AppInfo;
  events: Event[];
  runs: Run[];
  /** The run that is shown. Without one nothing has run. */
  run: string | undefined;
  /** It is running or queued. */
  live: boolean;
  /** Attempts that have begun, by the scope of the node. */
  attempts?: { [scope: string]: number };
}

/** The workflows that are the root of the application or took part in a run. */
export function flowsOf(source: Source): Flow[] {
  const { info, run } = source;
  const chain = run ? resumed(source.runs, run) : new Set<string>();
  const own = source.events.filter((e) => chain.has(e.invocationId));
  const records = recordsOf(own);
  const roots = new Set<string>();
  if (info.agents[info.rootAgentName]?.workflow) roots.add(info.rootAgentName);
  for (const { path } of records.values()) {
    const first = path.split('.')[0]!;
    if (info.agents[first.split('@')[0]!]?.workflow) roots.add(first);
  }
  const state = new Reader(source, own, records);
  return [...roots].map((scope) => state.flow(scope.split('@')[0]!, scope, run !== undefined));
}

/** The questions of a flow that wait for an answer, with the name of the node. */
export function questionsOf(flow: Flow, pending: Pending[]): { node: string; pending: Pending }[] {
  return pending.flatMap((one) => {
    const info = nodeOf(one.event);
    if (!info || !within(info.path, flow.scope)) return [];
    return [{ node: nameIn(info.path), pending: one }];
  });
}

const nameIn = (path: string) => path.split('.').at(-1)!.split('@')[0]!;

class Reader {
  private readonly open: Set<string>;
  private readonly answered: Set<string>;

  constructor(private readonly source: Source, own: Event[], private readonly records: Map<string, Record>) {
    this.open = new Set(pendingOf(source.events).map((p) => p.call.id));
    const openHere = new Set(pendingOf(own).map((p) => p.call.id));
    this.answered = new Set([...records.values()].flatMap((r) => r.asked).filter((id) => !openHere.has(id)));
  }

  flow(name: string, scope: string, began: boolean): Flow {
    const graph = this.source.info.agents[name]?.workflow ?? { nodes: [], edges: [] };
    if (graph.nodes.length === 0) return this.dynamic(name, scope, began);
    const edges = graph.edges.map((e): EdgeState => ({ from: e.from ?? '', to: e.to, routes: e.routes ?? [], taken: e.from || !began ? 0 : 1 }));
    const nodes = graph.nodes.map((n) => this.node(n, scope));
    for (const [i, node] of graph.nodes.entries()) {
      for (const run of nodes[i]!.ends) for (const edge of next(edges, node, run)) edge.taken++;
    }
    const states = nodes.map((n) => n.state);
    if (began) {
      for (const [i, node] of graph.nodes.entries()) this.expect(node, states, i, edges);
      skip(states, edges);
    }
    return { name, scope, nodes: states, edges, dynamic: false, status: began ? together(states) : 'idle' };
  }

  /** A workflow whose function runs the nodes: those that have run are known. */
  private dynamic(name: string, scope: string, began: boolean): Flow {
    const record = this.records.get(scope);
    const byName = new Map<string, NodeState>();
    for (const { scope: below } of this.runsBelow(scope)) {
      const child = nameIn(below);
      const status = this.statusOf(below);
      const known = byName.get(child);
      const one = this.records.get(below);
      byName.set(child, {
        name: child, kind: 'node', status, runs: (known?.runs ?? 0) + 1, attempt: this.attempt(below), routes: one?.routes ?? [], children: [],
        ...(one ? { event: one.event } : {}), ...(one?.error ? { error: one.error } : {}),
      });
    }
    const nodes = [...byName.values()];
    const own = record?.error ? 'failed' : record?.ended ? 'done' : this.source.live ? 'active' : 'stopped';
    const inside = together(nodes);
    return { name, scope, nodes, edges: [], dynamic: true, status: !began ? 'idle' : inside === 'waiting' || inside === 'answered' ? inside : own };
  }

  private attempt = (scope: string) => Math.max(this.records.get(scope)?.attempt ?? 1, this.source.attempts?.[scope] ?? 1);

  /** The runs of nodes that the run of a node has run itself. */
  private runsBelow(scope: string): { scope: string }[] {
    const found = new Set<string>();
    for (const { path } of this.records.values()) {
      if (!path.startsWith(`${scope}.`)) continue;
      const first = path.slice(scope.length + 1).split('.')[0]!;
      if (first.includes('@')) found.add(`${scope}.${first}`);
    }
    return [...found].map((one) => ({ scope: one }));
  }

  /** The runs of a node of a graph, in their order, also those that only nodes below have events of. */
  private runsOf(path: string): string[] {
    const found = new Set<string>();
    for (const { scope } of this.records.values()) {
      if (scope === path || scope.startsWith(`${path}.`)) found.add(path);
      else if (scope.startsWith(`${path}@`)) found.add(`${path}@${scope.slice(path.length + 1).split('.')[0]!}`);
    }
    return [...found];
  }

  private statusOf(scope: string, node?: GraphNode): NodeStatus {
    const record = this.records.get(scope);
    if (record?.error) return 'failed';
    if (record?.ended) return 'done';
    const asked = [...this.records.values()].filter((r) => within(r.scope, scope)).flatMap((r) => r.asked);
    const waits = asked.filter((id) => !this.answered.has(id));
    if (waits.some((id) => this.open.has(id))) return 'waiting';
    if (waits.length > 0) return 'answered';
    if (record && record.asked.length > 0 && node?.kind === 'function' && !node.rerunOnResume) return 'done';
    return this.source.live ? 'active' : 'stopped';
  }

  private node(node: GraphNode, scope: string): { state: NodeState; ends: { routes: string[]; output: boolean }[] } {
    const path = `${scope}.${node.name}`;
    const runs = this.runsOf(path);
    const last = runs.at(-1);
    const workflow = node.agent && node.kind === 'agent' ? this.source.info.agents[node.agent]?.workflow : undefined;
    const inner = workflow && this.flow(node.agent!, last ?? path, last !== undefined);
    const statuses = runs.map((one) => {
      const own = this.statusOf(one, node);
      if (!workflow || own === 'failed') return own;
      return (one === last ? inner! : this.flow(node.agent!, one, true)).status;
    });
    const record = last === undefined ? undefined : this.records.get(last);
    const latest = record ?? [...this.records.values()].filter((r) => last !== undefined && within(r.scope, last)).at(-1);
    const children = last === undefined || workflow ? [] : this.runsBelow(last).map((one) => ({ name: one.scope.slice(last.length + 1), status: this.statusOf(one.scope) }));
    const failed = runs.map((one) => this.records.get(one)?.error).find(Boolean);
    return {
      state: {
        name: node.name, kind: kindOf(node, Boolean(workflow)), runs: runs.length,
        status: together(statuses.map((status) => ({ status }))),
        attempt: this.attempt(last ?? path), ...(node.maxAttempts ? { maxAttempts: node.maxAttempts } : {}),
        routes: record?.routes ?? [], children, ...(inner ? { inner } : {}), ...(failed ? { error: failed } : {}), ...(latest ? { event: latest.event } : {}),
      },
      ends: runs.filter((_, i) => statuses[i] === 'done').map((one) => ({ routes: this.records.get(one)?.routes ?? [], output: Boolean(workflow) || (this.records.get(one)?.output ?? false) })),
    };
  }

  /** Says of a node that it runs, if an edge to it was taken and it has not. */
  private expect(node: GraphNode, states: NodeState[], at: number, edges: EdgeState[]) {
    const state = states[at]!;
    const to = edges.filter((e) => e.to === node.name);
    let missing = to.reduce((sum, e) => sum + e.taken, 0) - state.runs;
    if (node.kind === 'join') {
      const before = [...new Set(to.map((e) => e.from))];
      const done = before.filter((name) => to.some((e) => e.from === name && e.taken > 0)).length;
      if (state.runs === 0 && done > 0) state.arrived = { done, of: before.length };
      missing = state.runs === 0 && done === before.length ? 1 : 0;
    }
    if (missing <= 0) return;
    if (!this.source.live) {
      if (state.runs === 0) state.status = 'stopped';
    } else if (state.status !== 'active' && state.status !== 'waiting' && state.status !== 'failed') {
      state.status = 'active';
    }
  }
}

/** The edges that are taken after a run of a node. */
function next(edges: EdgeState[], node: GraphNode, run: { routes: string[]; output: boolean }): EdgeState[] {
  if (node.waitForOutput && !run.output && run.routes.length === 0) return [];
  const out = edges.filter((e) => e.from === node.name);
  const chosen = out.filter((e) => e.routes.some((r) => r !== defaultRoute && run.routes.includes(r)));
  const rest = out.filter((e) => e.routes.length === 0 || (chosen.length === 0 && e.routes.includes(defaultRoute)));
  return [...chosen, ...rest];
}

/** Nodes that have not run, and that nothing leads to any more, are skipped. */
function skip(states: NodeState[], edges: EdgeState[]) {
  const reached = new Set<string>();
  const visit = (name: string) => {
    for (const edge of edges) {
      if (edge.from !== name || reached.has(edge.to)) continue;
      reached.add(edge.to);
      visit(edge.to);
    }
  };
  for (const state of states) if (['active', 'waiting'].includes(state.status)) visit(state.name);
  for (const state of states) if (state.runs === 0 && state.status === 'idle' && !reached.has(state.name)) state.status = 'skipped';
}

const order: NodeStatus[] = ['failed', 'waiting', 'active', 'answered', 'stopped', 'done'];

/** The status of several runs or nodes as one. */
function together(all: { status: NodeStatus }[]): NodeStatus {
  return order.find((status) => all.some((one) => one.status === status)) ?? 'idle';
}

function kindOf(node: GraphNode, workflow: boolean): string {
  if (node.kind === 'worker') return `${node.each ?? 'node'} for each item`;
  return workflow ? 'workflow' : node.kind;
}

const words: { [status in NodeStatus]: string } = {
  idle: 'not yet run', active: 'active', waiting: 'waits for an answer', answered: 'answered in a later run', done: 'done', failed: 'failed',
  stopped: 'did not finish', skipped: 'skipped',
};

/** What there is to say of a node, in words. */
export function describe(node: NodeState): string {
  const parts = [words[node.status]];
  if (node.arrived && node.status === 'idle') parts.push(`${node.arrived.done} of ${node.arrived.of} have arrived`);
  if (node.attempt > 1) parts.push(`attempt ${node.attempt}${node.maxAttempts ? ` of ${node.maxAttempts}` : ''}`);
  if (node.runs > 1) parts.push(`${node.runs} runs`);
  if (node.children.length > 0) parts.push(`has run ${node.children.length === 1 ? 'a node' : `${node.children.length} nodes`}`);
  if (node.routes.length > 0) parts.push(`route ${node.routes.join(', ')}`);
  if (node.error) parts.push(node.error);
  return parts.join(', ');
}

/** The label of an edge. */
export const routeLabel = (edge: EdgeState) => edge.routes.map((r) => (r === defaultRoute ? 'default' : r)).join(', ');
