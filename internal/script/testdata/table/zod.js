import { z } from "zod/v4";
import { agent } from "./lib/agent.js";

const run = () => {
  const schema = z.object({ email: z.email(), n: z.coerce.number().int(), tags: z.array(z.enum(["a", "b"])).optional() });
  const bad = schema.safeParse({ email: "x", n: "1.5", tags: ["c"] });
  return [schema.parse({ email: "a@b.co", n: "3" }), bad.error.issues.map((i) => [i.code, i.path, i.message]), z.toJSONSchema(schema)];
};

export const rootAgent = agent(run);
