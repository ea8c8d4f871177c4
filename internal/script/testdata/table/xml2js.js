import { Builder, parseStringPromise } from "xml2js";
import { agent } from "./lib/agent.js";

const run = async () => [await parseStringPromise('<r a="1"><i>x</i><i>&lt;</i></r>'), new Builder({ headless: true }).buildObject({ r: { $: { a: 1 }, i: ["x", "<"] } })];

export const rootAgent = agent(run);
