import Handlebars from "handlebars";
import { agent } from "./lib/agent.js";

const run = () => {
  Handlebars.registerHelper("loud", (text) => text.toUpperCase());
  return Handlebars.compile("{{#each xs}}{{@index}}:{{loud this}}{{#unless @last}},{{/unless}}{{/each}} {{{raw}}} {{raw}}")({ xs: ["a", "b"], raw: "<i>" });
};

export const rootAgent = agent(run);
