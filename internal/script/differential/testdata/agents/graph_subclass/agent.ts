// > go
import { Workflow, WorkflowNode } from "@google/adk";

class Greeter extends WorkflowNode {
  async *runNodeImpl(ctx: any, input: any): any {
    yield `hello ${input} at ${ctx.nodePath}`;
  }
}

export const rootAgent = new Workflow({ name: "root", edges: [["START", new Greeter({ name: "greeter" })]] });
