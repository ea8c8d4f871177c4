// > hi
import { BasePlugin, LlmAgent, Workflow, createEvent, node } from "@google/adk";
import { Scripted } from "../model";

const seen: string[] = [];

class Around extends BasePlugin {
  async beforeNodeCallback({ node, nodeContext, input }: any): Promise<any> {
    if (node.name === "root") return undefined;
    seen.push(`before ${nodeContext.nodePath} ${JSON.stringify(input)}`);
    return node.name === "cached" ? { from: "cache" } : undefined;
  }
  async afterNodeCallback({ node, nodeContext, output }: any): Promise<any> {
    if (node.name === "root") return undefined;
    seen.push(`after ${nodeContext.nodePath} ${JSON.stringify(output)}`);
    return node.name === "changed" || node.name === "agent" ? "other" : undefined;
  }
}

const plain = node((_: any, input: string) => `${input}!`, { name: "plain" });
const cached = node(() => "never", { name: "cached" });
const changed = node((_: any, input: any) => input, { name: "changed" });
const agent = new LlmAgent({ name: "agent", model: new Scripted("Said.") });
const end = node(() => createEvent({ output: "the end", content: { role: "model", parts: [{ text: "The end." }] } } as any), { name: "end" });
const tell = node(() => seen.join("\n"), { name: "tell" });

export const app = {
  name: "graph_plugin",
  rootAgent: new Workflow({ name: "root", edges: [["START", plain, cached, changed, agent, end, tell]] }),
  plugins: [new Around("around")],
};
