// Runs the agents that a file names under @google/adk, and writes what happened
// to another file.
import { readFileSync, writeFileSync } from "node:fs";
import { InMemoryRunner, LogLevel, setLogLevel } from "@google/adk";

import { responseProcessor } from "./node_modules/@google/adk/dist/esm/agents/processors/code_execution_request_processor.js";

// Version 2.0.0 has what runs the code of a response, and gives it to no agent.
function withCode(agent) {
  if (agent.codeExecutor && agent.responseProcessors.length === 0) agent.responseProcessors.push(responseProcessor);
  (agent.subAgents ?? []).forEach(withCode);
}

setLogLevel(LogLevel.ERROR + 1);
const [, , plan, out] = process.argv;
const results = {};
for (const { name, file, state, turns, stream } of JSON.parse(readFileSync(plan, "utf8"))) {
  const requests = [];
  console.log = (text) => void (String(text).startsWith("REQUEST ") && requests.push(JSON.parse(text.slice(8))));
  const result = (results[name] = { requests, events: [] });
  try {
    const { rootAgent, app } = await import(file);
    withCode(app?.rootAgent ?? rootAgent);
    const runner = new InMemoryRunner({ appName: name, agent: app?.rootAgent ?? rootAgent, plugins: app?.plugins });
    await runner.sessionService.createSession({ appName: name, userId: "u", sessionId: "s", state });
    const calls = {};
    for (const turn of turns) {
      const message = turn.answers ? { functionResponse: { id: calls[turn.answers], name: turn.answers, response: turn.response } } : { text: turn.text };
      try {
        const events = runner.runAsync({ userId: "u", sessionId: "s", newMessage: { role: "user", parts: [message] }, ...(stream && { runConfig: { streamingMode: "sse" } }) });
        for await (const event of events) {
          for (const { functionCall } of event.content?.parts ?? []) if (functionCall) calls[functionCall.name] = functionCall.id;
          result.events.push(JSON.parse(JSON.stringify(event)));
        }
      } catch (error) {
        result.events.push({ failed: String(error?.message ?? error) });
      }
    }
    const session = await runner.sessionService.getSession({ appName: name, userId: "u", sessionId: "s" });
    result.state = JSON.parse(JSON.stringify(session.state));
  } catch (error) {
    result.events.push({ failed: String(error?.stack ?? error) });
  }
}
writeFileSync(out, JSON.stringify(results));
process.exit(0);
