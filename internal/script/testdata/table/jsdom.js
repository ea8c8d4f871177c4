import { JSDOM } from "jsdom";
import { agent } from "./lib/agent.js";

const run = () => {
  const { document } = new JSDOM("<p id=a>x <b>y</b></p>", { url: "https://x.example/" }).window;
  document.querySelector("#a").append(document.createElement("i"));
  return [document.body.innerHTML, document.querySelector("b").textContent, document.URL];
};

export const rootAgent = agent(run);
