import { marked } from "marked";
import { agent } from "./lib/agent.js";

const run = () => marked.parse("# Title\n\n- a\n- **b**\n\n| x | y |\n|---|---|\n| 1 | 2 |\n\n```js\nlet a = 1;\n```\n");

export const rootAgent = agent(run);
