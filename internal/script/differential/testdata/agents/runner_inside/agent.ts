// > ask the expert
// > again
import { FunctionTool, InMemoryRunner, LlmAgent } from "@google/adk";
import { Scripted, call } from "../model";

const expert = new LlmAgent({ name: "expert", model: new Scripted("It is 42.", "Still 42."), instruction: "Know.", outputKey: "known" });
const runner = new InMemoryRunner({ appName: "inside", agent: expert });
const session = { userId: "inner", sessionId: "one" };
let made = false;

const ask = new FunctionTool({
  name: "ask",
  description: "Asks the expert.",
  execute: async () => {
    if (!made) await runner.sessionService.createSession({ appName: "inside", ...session, state: { a: 1 } });
    made = true;
    const said: any[] = [];
    for await (const event of runner.runAsync({ ...session, newMessage: { role: "user", parts: [{ text: "What is it?" }] } })) {
      said.push([event.author, event.content?.parts?.[0]?.text]);
    }
    const stored = await runner.sessionService.getSession({ appName: "inside", ...session });
    return { said, events: stored?.events.length, state: stored?.state };
  },
});

export const rootAgent = new LlmAgent({ name: "root", model: new Scripted([call("ask")], "Done.", [call("ask")], "Done again."), tools: [ask] });
