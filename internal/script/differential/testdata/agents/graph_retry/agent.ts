// > go
import { Workflow, node } from "@google/adk";

let calls = 0;
const flaky = node(
  (ctx: any, input: string) => {
    if (++calls < 3) throw new RangeError(`attempt ${ctx.attemptCount} failed`);
    return `${input} after ${ctx.attemptCount} attempts`;
  },
  { name: "flaky", retryConfig: { maxAttempts: 3, initialDelay: 0.001, jitter: 0, exceptions: [RangeError] } },
);

export const rootAgent = new Workflow({ name: "root", edges: [["START", flaky]] });
