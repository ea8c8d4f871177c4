import * as v from "valibot";
import { agent } from "./lib/agent.js";

const run = () => {
  const schema = v.object({ mail: v.pipe(v.string(), v.email()), n: v.optional(v.number(), 5) });
  return [v.parse(schema, { mail: "a@b.co" }), v.safeParse(schema, { mail: "x" }).issues.map((i) => i.message)];
};

export const rootAgent = agent(run);
