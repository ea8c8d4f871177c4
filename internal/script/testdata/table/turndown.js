import Turndown from "turndown";
import { agent } from "./lib/agent.js";

const run = () => new Turndown({ headingStyle: "atx" }).turndown("<h1>T</h1><p>a <b>b</b> <a href='https://x.example'>l</a></p><ul><li>1</li></ul>");

export const rootAgent = agent(run);
