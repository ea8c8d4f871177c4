import _ from "lodash";
import { agent } from "./lib/agent.js";

const run = () => [
  _.groupBy([1.2, 1.8, 2.1], Math.floor),
  _.merge({ a: [{ b: 1 }] }, { a: [{ c: 2 }] }),
  _.camelCase("foo bar-baz"),
  _.template("<%= a %>!")({ a: "x" }),
  _.isEqual(new Map([[1, { a: 1 }]]), new Map([[1, { a: 1 }]])),
];

export const rootAgent = agent(run);
