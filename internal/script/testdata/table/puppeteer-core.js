import puppeteer, { KnownDevices } from "puppeteer-core";
import { agent, closed, failure } from "./lib/agent.js";

const run = async () => [KnownDevices["iPhone 13"].viewport.width, (await failure(() => puppeteer.connect({ browserURL: `http://127.0.0.1:${closed}` })))[0]];

export const rootAgent = agent(run);
