// > hi
// > stop
import { BasePlugin, LlmAgent, Workflow, node } from "@google/adk";
import { Scripted } from "../model";

const seen: string[] = [];

class Around extends BasePlugin {
  async onUserMessageCallback({ userMessage }: any): Promise<any> {
    seen.push(`message ${userMessage.parts[0].text}`);
  }
  async beforeRunCallback(): Promise<any> {
    seen.push("before run");
  }
  async onEventCallback({ event }: any): Promise<any> {
    if (event.author === "agent") seen.push(`event of ${event.author}`);
  }
  async afterRunCallback(): Promise<any> {
    seen.push("after run");
  }
  async beforeNodeCallback({ node, nodeContext, input }: any): Promise<any> {
    seen.push(`before ${node.name} ${nodeContext.nodePath} ${JSON.stringify(input)}`);
    if (node.name === "root" && input === "stop") return seen.join("\n");
  }
  async afterNodeCallback({ node, nodeContext, output }: any): Promise<any> {
    seen.push(`after ${node.name} ${nodeContext.nodePath} ${JSON.stringify(output)}`);
    if (node.name === "root") return `${output} And more.`;
  }
}

const plain = node((_: any, input: string) => `${input}!`, { name: "plain" });
const agent = new LlmAgent({ name: "agent", model: new Scripted("Said.") });

export const app = {
  name: "graph_plugin_root",
  rootAgent: new Workflow({ name: "root", edges: [["START", plain, agent]] }),
  plugins: [new Around("around")],
};
