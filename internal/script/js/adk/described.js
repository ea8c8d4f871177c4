// The agents that were described, and by whom they are used.
import { forget } from "../guest.js";
import { isLasting } from "./agents.js";
import { closeAgent } from "./define-tools.js";
import { isLastingNode } from "./workflow.js";

let describer;

/** Sets the function that describes an agent. Agents and the graphs of workflows have each
 * other as parts, so the modules that describe them know each other through this one. */
export function describeWith(describe) {
  describer = describe;
}

// Agents that were described. Each is described once, so that its functions have one
// number, and kept as long as it is used.
const described = new WeakMap();
const awaited = new Map(); // for agents that are being described, which one they need for that, and what for

/** The tree below and including an agent. The user, if any, is the agent that needs it as a part: a tool or a sub-agent.
 * Without one, it is needed until dropAgent. */
export async function describeAgent(agent, user, part) {
  if (!user) return description(agent);
  const { parts } = described.get(user);
  awaited.set(user, { agent, part });
  try {
    // An agent that awaits itself would wait forever.
    for (let one = agent; one; one = awaited.get(one)?.agent) {
      if (one === user) throw new Error(`The agent "${agent.name}" uses itself through the ${awaited.get(agent).part}`);
    }
    if (parts.has(agent)) return await described.get(agent).tree;
    parts.add(agent);
    return await description(agent);
  } finally {
    awaited.delete(user);
  }
}

function description(agent) {
  let one = described.get(agent);
  if (!one) {
    one = { users: 0, parts: new Set() };
    described.set(agent, one);
    one.tree = describer(agent);
  }
  one.users++;
  return one.tree;
}

/** Undoes one describeAgent. What was made for a run goes with the last of them. */
export function dropAgent(agent) {
  const one = described.get(agent);
  if (--one.users > 0 || isLasting(agent) || isLastingNode(agent)) return;
  described.delete(agent);
  for (const node of agent.graph?.nodes ?? []) forget(node);
  closeAgent(agent);
  forget(agent);
  for (const part of one.parts) dropAgent(part);
}
