import * as cheerio from "cheerio";
import { agent } from "./lib/agent.js";

const run = () => {
  const $ = cheerio.load("<ul><li class=a>One</li><li>Two &amp; <b>three</b></li></ul>");
  $("li").first().addClass("b").append("<i>!</i>");
  return [$("li").map((_, e) => $(e).text()).get(), $.html($("ul"))];
};

export const rootAgent = agent(run);
