import { generateText, jsonSchema, tool } from "ai";
import { agent } from "./lib/agent.js";

const model = {
  specificationVersion: "v2",
  provider: "own",
  modelId: "m",
  supportedUrls: {},
  doGenerate: async ({ prompt }) => ({
    finishReason: prompt.length > 1 ? "stop" : "tool-calls",
    usage: { inputTokens: 1, outputTokens: 2, totalTokens: 3 },
    warnings: [],
    content:
      prompt.length > 1
        ? [{ type: "text", text: "done" }]
        : [{ type: "tool-call", toolCallId: "1", toolName: "add", input: '{"a":1}' }],
  }),
};
const run = async () => {
  const { text, steps } = await generateText({
    model,
    prompt: "hi",
    tools: { add: tool({ inputSchema: jsonSchema({ type: "object" }), execute: async ({ a }) => a + 1 }) },
    stopWhen: ({ steps }) => steps.length > 1,
  });
  return [text, steps.map((s) => s.toolResults.map((r) => r.output))];
};

export const rootAgent = agent(run);
