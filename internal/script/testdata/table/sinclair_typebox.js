import { Type } from "@sinclair/typebox";
import { Value } from "@sinclair/typebox/value";
import { agent } from "./lib/agent.js";

const run = () => {
  const schema = Type.Object({ a: Type.Number({ minimum: 1 }), b: Type.Optional(Type.String()) });
  return [schema, Value.Check(schema, { a: 2 }), [...Value.Errors(schema, { a: 0, b: 1 })].map((e) => [e.path, e.message])];
};

export const rootAgent = agent(run);
