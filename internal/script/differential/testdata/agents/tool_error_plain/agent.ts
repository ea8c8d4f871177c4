// > go
import { BaseTool, FunctionTool, LlmAgent } from "@google/adk";
import { Scripted, call } from "../model";

class Own extends BaseTool {
  constructor() {
    super({ name: "own", description: "Fails in its own way." });
  }
  override _getDeclaration() {
    return { name: this.name, description: this.description };
  }
  override async runAsync(): Promise<unknown> {
    throw new Error("own boom");
  }
}
const bad = new FunctionTool({ name: "bad", description: "Fails.", execute: () => { throw "a text"; } });
export const rootAgent = new LlmAgent({ name: "root", model: new Scripted([call("bad"), call("own")], "done"), tools: [bad, new Own()] });
