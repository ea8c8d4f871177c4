import { Ajv } from "ajv";
import { agent } from "./lib/agent.js";

const run = () => {
  const check = new Ajv({ allErrors: true }).compile({
    type: "object",
    properties: { a: { type: "integer", minimum: 2 }, b: { pattern: "^x", type: "string" } },
    required: ["a"],
    additionalProperties: false,
  });
  return [check({ a: 2 }), check({ a: 1, b: "y", c: 0 }), check.errors];
};

export const rootAgent = agent(run);
