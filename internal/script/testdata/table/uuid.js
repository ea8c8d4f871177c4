import { NIL, parse, stringify, v1, v4, v5, v7, validate, version } from "uuid";
import { agent } from "./lib/agent.js";

const run = () => [v5("a.example", v5.DNS), [v1(), v4(), v7()].map((id) => [validate(id), version(id)]), stringify(parse(NIL))];

export const rootAgent = agent(run);
