import * as yaml from "js-yaml";
import { agent, failure } from "./lib/agent.js";

const run = async () => [yaml.load("a: &x [1, 2.5, ~]\nb: *x\nc: |\n  text\n  more\nd: 2026-01-02"), yaml.dump({ a: [1, { b: "x: y" }] }), (await failure(() => yaml.load("a: [")))[0]];

export const rootAgent = agent(run);
