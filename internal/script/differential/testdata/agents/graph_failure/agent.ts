// > go
import { Workflow, node } from "@google/adk";

class Broken extends Error {
  code = "BROKEN";
}
const first = node((_: any, input: string) => input.length, { name: "first" });
const broken = node(
  () => {
    throw new Broken("it broke");
  },
  { name: "broken", retryConfig: { exceptions: ["TypeError"] } },
);
const never = node(() => "not reached", { name: "never" });

export const rootAgent = new Workflow({ name: "root", edges: [["START", first, broken, never]] });
