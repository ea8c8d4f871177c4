// Where the nodes of a workflow go: in layers from top to bottom, by the longest
// way from the start. Nodes of one layer are in the order that crosses few edges,
// and as near to their neighbours as the others let them be.
import { routeLabel, type EdgeState, type Flow, type NodeState } from './workflow';

export interface Placed {
  key: string;
  /** undefined for the start. */
  node?: NodeState;
  x: number;
  y: number;
  width: number;
  height: number;
  /** What is inside a nested workflow, from its own corner. */
  inner?: Layout;
}

export interface Path {
  key: string;
  d: string;
  label: string;
  labelX: number;
  labelY: number;
  edge: EdgeState;
}

export interface Layout {
  places: Placed[];
  paths: Path[];
  width: number;
  height: number;
}

const gap = { x: 14, y: 26, labelled: 42 };
const inside = { side: 10, top: 44, bottom: 10 };
const startSize = 14;
export const nodeHeight = 40;

/** An item of a layer: a node, or the place where a long edge passes. */
interface Item {
  key: string;
  layer: number;
  width: number;
  height: number;
  x: number; // of its middle
}

export function layoutOf(flow: Flow): Layout {
  if (flow.dynamic) return column(flow);
  const sizes = new Map(flow.nodes.map((n) => [n.name, sizeOf(n)]));
  const { layers: layerOf, back } = layered(flow);
  const items = new Map<string, Item>();
  const add = (key: string, layer: number, width: number, height: number) => items.set(key, { key, layer, width, height, x: 0 });
  add('', 0, startSize, startSize);
  for (const node of flow.nodes) add(node.name, layerOf.get(node.name)!, sizes.get(node.name)!.width, sizes.get(node.name)!.height);

  // An edge over several layers passes through all of them.
  const chains = new Map<EdgeState, string[]>();
  for (const [i, edge] of flow.edges.entries()) {
    if (back.has(edge)) continue;
    const chain = [edge.from];
    for (let layer = layerOf.get(edge.from)! + 1; layer < layerOf.get(edge.to)!; layer++) {
      add(`${i}/${layer}`, layer, 8, 0);
      chain.push(`${i}/${layer}`);
    }
    chains.set(edge, [...chain, edge.to]);
  }
  const layers: Item[][] = [];
  for (const item of items.values()) (layers[item.layer] ??= []).push(item);
  const above = new Map<string, string[]>();
  const below = new Map<string, string[]>();
  for (const chain of chains.values()) {
    for (let i = 1; i < chain.length; i++) {
      above.set(chain[i]!, [...(above.get(chain[i]!) ?? []), chain[i - 1]!]);
      below.set(chain[i - 1]!, [...(below.get(chain[i - 1]!) ?? []), chain[i]!]);
    }
  }
  arrange(layers, items, above, below);

  const tops: number[] = [];
  const heights = layers.map((layer) => Math.max(...layer.map((item) => item.height)));
  let y = 0;
  const gapBelow = layers.map((_, layer) => (flow.edges.some((e) => e.routes.length > 0 && !back.has(e) && layerOf.get(e.from) === layer) ? gap.labelled : gap.y));
  for (const [layer, height] of heights.entries()) {
    tops.push(y);
    y += height + (layer < heights.length - 1 ? gapBelow[layer]! : 0);
  }
  const left = Math.min(...[...items.values()].map((i) => i.x - i.width / 2));
  for (const item of items.values()) item.x -= left;
  const places: Placed[] = ['', ...flow.nodes.map((n) => n.name)].map((key) => {
    const item = items.get(key)!;
    const node = flow.nodes.find((n) => n.name === key);
    return {
      key, x: item.x - item.width / 2, y: tops[item.layer]! + (heights[item.layer]! - item.height) / 2, width: item.width, height: item.height,
      ...(node ? { node } : {}), ...(sizes.get(key)?.inner ? { inner: sizes.get(key)!.inner! } : {}),
    };
  });
  const place = new Map(places.map((p) => [p.key, p]));
  let right = Math.max(...[...items.values()].map((i) => i.x + i.width / 2));

  const paths = flow.edges.map((edge, i): Path => {
    const key = `${edge.from} ${edge.to} ${i}`;
    const label = routeLabel(edge);
    const from = place.get(edge.from)!;
    const to = place.get(edge.to)!;
    const chain = chains.get(edge);
    if (!chain) {
      right += label ? 18 + label.length * 6.6 : 16;
      return { key, label, edge, ...loop(from, to, right - (label ? label.length * 6.6 : 0)) };
    }
    const points = chain.map((name) => items.get(name)!);
    let d = `M${round(points[0]!.x)} ${round(from.y + from.height)}`;
    let at = { x: points[0]!.x, y: from.y + from.height };
    for (const point of points.slice(1)) {
      const node = place.get(point.key);
      const top = node ? node.y : tops[point.layer]!;
      const middle = round((at.y + top) / 2);
      d += `C${round(at.x)} ${middle} ${round(point.x)} ${middle} ${round(point.x)} ${round(top)}`;
      at = { x: point.x, y: top };
      if (!node) {
        at.y += heights[point.layer]!;
        d += `V${round(at.y)}`;
      }
    }
    // Above the first place that the edge comes to; between both if others come there, too.
    const first = points[1]!;
    const crowded = flow.edges.filter((e) => e.to === edge.to && e.routes.length > 0).length > 1 && chain.length === 2;
    const end = place.get(first.key)?.y ?? tops[first.layer]!;
    const labelX = crowded ? (points[0]!.x + first.x) / 2 : first.x;
    return { key, label, edge, d, labelX: round(labelX), labelY: round(end - (crowded ? gap.labelled / 2 : 13)) };
  });
  return { places, paths, width: Math.ceil(right), height: y };
}

const round = (n: number) => Math.round(n * 10) / 10;

function sizeOf(node: NodeState): { width: number; height: number; inner?: Layout } {
  const width = Math.max(100, Math.min(190, node.name.length * 7 + 40));
  if (!node.inner || node.inner.nodes.length === 0) return { width, height: nodeHeight };
  const inner = layoutOf(node.inner);
  return { width: Math.max(width, inner.width + 2 * inside.side), height: inner.height + inside.top + inside.bottom, inner };
}

/** Where the drawing of a nested workflow begins in its box. */
export const innerCorner = (box: Placed) => ({ x: (box.width - box.inner!.width) / 2, y: inside.top });

/** Layers by the longest way from the start. Edges that close a cycle lead back. */
function layered(flow: Flow): { layers: Map<string, number>; back: Set<EdgeState> } {
  const back = new Set<EdgeState>();
  const sorted: string[] = [];
  const seen = new Map<string, 'open' | 'done'>();
  const visit = (name: string) => {
    seen.set(name, 'open');
    for (const edge of flow.edges) {
      if (edge.from !== name) continue;
      if (seen.get(edge.to) === 'open') back.add(edge);
      else if (!seen.has(edge.to)) visit(edge.to);
    }
    seen.set(name, 'done');
    sorted.unshift(name);
  };
  visit('');
  const layers = new Map([['', 0]]);
  for (const node of flow.nodes) layers.set(node.name, 1);
  for (const name of sorted) {
    for (const edge of flow.edges) {
      if (edge.from === name && !back.has(edge)) layers.set(edge.to, Math.max(layers.get(edge.to)!, layers.get(name)! + 1));
    }
  }
  return { layers, back };
}

const average = (list: number[]) => list.reduce((sum, n) => sum + n, 0) / list.length;

function arrange(layers: Item[][], items: Map<string, Item>, above: Map<string, string[]>, below: Map<string, string[]>) {
  for (const layer of layers) spread(layer, layer.map(() => 0));
  const near = (item: Item, map: Map<string, string[]>) => {
    const found = map.get(item.key) ?? [];
    return found.length > 0 ? average(found.map((key) => items.get(key)!.x)) : item.x;
  };
  for (let round = 0; round < 6; round++) {
    const down = round % 2 === 0;
    for (const layer of down ? layers : [...layers].reverse()) {
      const wanted = new Map(layer.map((item) => [item, near(item, down ? above : below)]));
      layer.sort((a, b) => wanted.get(a)! - wanted.get(b)!);
      spread(layer, layer.map((item) => wanted.get(item)!));
    }
  }
  // The order is fixed now: between what is above and what is below.
  for (let round = 0; round < 5; round++) {
    for (const layer of round % 2 === 0 ? [...layers].reverse() : layers) {
      spread(layer, layer.map((item) => {
        const both = [...(above.get(item.key) ?? []), ...(below.get(item.key) ?? [])];
        return both.length > 0 ? average(both.map((key) => items.get(key)!.x)) : item.x;
      }));
    }
  }
}

/** Puts items where they want to be, as near as their order and widths allow: what collides moves together. */
function spread(layer: Item[], wanted: number[]) {
  const offsets: number[] = [];
  let offset = 0;
  for (const [i, item] of layer.entries()) {
    if (i > 0) offset += (layer[i - 1]!.width + item.width) / 2 + gap.x;
    offsets.push(offset);
  }
  const blocks: { sum: number; count: number }[] = [];
  for (const [i, want] of wanted.entries()) {
    blocks.push({ sum: want - offsets[i]!, count: 1 });
    while (blocks.length > 1 && blocks.at(-2)!.sum / blocks.at(-2)!.count > blocks.at(-1)!.sum / blocks.at(-1)!.count) {
      const last = blocks.pop()!;
      blocks.at(-1)!.sum += last.sum;
      blocks.at(-1)!.count += last.count;
    }
  }
  let i = 0;
  for (const block of blocks) {
    for (let n = 0; n < block.count; n++, i++) layer[i]!.x = block.sum / block.count + offsets[i]!;
  }
}

/** An edge that leads back, on the right of all nodes. */
function loop(from: Placed, to: Placed, x: number) {
  const y1 = from.y + from.height / 2;
  const y2 = to.y + Math.min(to.height / 2, nodeHeight / 2);
  const bend = y1 === y2 ? 0 : 8 * Math.sign(y2 - y1);
  const d = `M${round(from.x + from.width)} ${round(y1)}H${round(x - 8)}Q${round(x)} ${round(y1)} ${round(x)} ${round(y1 + bend)}V${round(y2 - bend)}Q${round(x)} ${round(y2)} ${round(x - 8)} ${round(y2)}H${round(to.x + to.width)}`;
  return { d, labelX: round(x), labelY: round((y1 + y2) / 2) };
}

/** Nodes that a function runs, in the order in which they ran. */
function column(flow: Flow): Layout {
  let y = 0;
  const places = flow.nodes.map((node): Placed => {
    const { width, height } = sizeOf(node);
    const place = { key: node.name, node, x: 0, y, width: Math.max(width, 140), height };
    y += height + 10;
    return place;
  });
  const width = Math.max(0, ...places.map((p) => p.width));
  return { places: places.map((p) => ({ ...p, width })), paths: [], width, height: Math.max(0, y - 10) };
}
