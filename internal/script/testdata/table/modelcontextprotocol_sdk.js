import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { InMemoryTransport } from "@modelcontextprotocol/sdk/inMemory.js";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { z } from "zod";
import { agent } from "./lib/agent.js";

const run = async () => {
  const server = new McpServer({ name: "s", version: "1" });
  server.registerTool("add", { inputSchema: { a: z.number() } }, async ({ a }) => ({ content: [{ type: "text", text: `${a + 1}` }] }));
  const [one, two] = InMemoryTransport.createLinkedPair();
  const client = new Client({ name: "c", version: "1" });
  await Promise.all([server.connect(one), client.connect(two)]);
  return [(await client.listTools()).tools.map((t) => t.name), await client.callTool({ name: "add", arguments: { a: 1 } })];
};

export const rootAgent = agent(run);
