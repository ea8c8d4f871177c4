import { chromium, devices, selectors } from "playwright-core";
import { agent, failure } from "./lib/agent.js";

const run = async () => [devices["iPhone 13"].viewport, typeof selectors.register, (await failure(() => chromium.launch({ executablePath: "/nowhere" })))[0]];

export const rootAgent = agent(run);
