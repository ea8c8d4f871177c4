import nunjucks from "nunjucks";
import { agent } from "./lib/agent.js";

const run = () => nunjucks.renderString("{% for x in xs %}{{ loop.index }}{{ x | upper }}{% endfor %} {{ a | default('d') }} {{ '<' }}", { xs: ["a", "b"] });

export const rootAgent = agent(run);
