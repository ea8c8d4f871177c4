// state {"count":1,"user:name":"Ann"}
// > go
// > again
import { FunctionTool, LlmAgent } from "@google/adk";
import { Scripted, call } from "../model";

const count = new FunctionTool({
  name: "count",
  description: "Counts.",
  execute: (_: any, context?: any) => {
    context.state.set("count", context.state.get("count") + 1);
    context.state.set("temp:scratch", "gone");
    context.state.set("app:total", 7);
    return { count: context.state.get("count") };
  },
});
export const rootAgent = new LlmAgent({
  name: "root",
  model: new Scripted([call("count")], "counted", "still here"),
  instruction: "Count for {user:name}, now {count}, {missing?}.",
  tools: [count],
});
