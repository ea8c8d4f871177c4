import Mustache from "mustache";
import { agent } from "./lib/agent.js";

const run = () => Mustache.render("{{#xs}}<{{.}}>{{/xs}}{{^none}}no{{/none}} {{a.b}} {{>p}}", { xs: ["a", "&"], a: { b: 1 } }, { p: "part {{a.b}}" });

export const rootAgent = agent(run);
