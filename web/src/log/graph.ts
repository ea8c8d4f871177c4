// Where the boxes of an application go: agents from left to right by depth, the
// tools of each beside it.
import type { AgentInfo, AppInfo } from '../api/types';

export interface Box {
  key: string;
  kind: 'agent' | 'tool';
  label: string;
  note: string;
  x: number;
  y: number;
  width: number;
  height: number;
}

export interface Edge {
  from: Box;
  to: Box;
  kind: 'agent' | 'tool';
}

export interface Graph {
  boxes: Box[];
  edges: Edge[];
  width: number;
  height: number;
}

const agentSize = { width: 190, height: 48 };
const toolSize = { width: 170, height: 26 };
const gap = { x: 56, y: 14 };
const lowest = 120; // how far below the first of its tools an agent is

export const toolsOf = (agent: AgentInfo | undefined) => (agent?.tools ?? []).flatMap((t) => t.functionDeclarations);

export function graphOf(info: AppInfo): Graph {
  const boxes: Box[] = [];
  const edges: Edge[] = [];
  let bottom = 0;

  function place(name: string, depth: number, seen: Set<string>): Box | undefined {
    const agent = info.agents[name];
    if (!agent || seen.has(name)) return undefined;
    const inside = new Set(seen).add(name);
    const x = depth * (agentSize.width + gap.x);
    const top = bottom;
    const box: Box = { key: name, kind: 'agent', label: name, note: agent.model ?? agent.kind, x, y: top, ...agentSize };
    boxes.push(box);
    const below: Box[] = [];
    for (const tool of toolsOf(agent)) {
      const one: Box = { key: `${name}/${tool.name}`, kind: 'tool', label: tool.name, note: tool.description, x: x + agentSize.width + gap.x, y: bottom, ...toolSize };
      bottom += toolSize.height + gap.y / 2;
      boxes.push(one);
      below.push(one);
      edges.push({ from: box, to: one, kind: 'tool' });
    }
    if (below.length > 0) bottom += gap.y / 2;
    for (const sub of agent.subAgents) {
      const child = place(sub, depth + 1, inside);
      if (!child) continue;
      below.push(child);
      edges.push({ from: box, to: child, kind: 'agent' });
    }
    bottom = Math.max(bottom, top + agentSize.height + gap.y);
    if (below.length > 0) {
      const middle = (below[0]!.y + below.at(-1)!.y + below.at(-1)!.height) / 2;
      box.y = Math.max(top, Math.min(middle - agentSize.height / 2, top + lowest)); // a phone shows no more of many tools at first
    }
    return box;
  }
  place(info.rootAgentName, 0, new Set());
  const width = Math.max(0, ...boxes.map((b) => b.x + b.width));
  const height = Math.max(0, ...boxes.map((b) => b.y + b.height));
  return { boxes, edges, width, height };
}
