import qs from "qs";
import { agent } from "./lib/agent.js";

const run = () => [qs.parse("a[b]=1&a[c][]=2&a[c][]=%C3%BC"), qs.stringify({ a: { b: [1, 2] }, c: "ü &" }), qs.stringify({ a: [1, 2] }, { arrayFormat: "repeat" })];

export const rootAgent = agent(run);
