import { XMLBuilder, XMLParser, XMLValidator } from "fast-xml-parser";
import { agent } from "./lib/agent.js";

const run = () => {
  const doc = new XMLParser({ ignoreAttributes: false }).parse('<r a="1"><i>1</i><i>two</i></r>');
  return [doc, new XMLBuilder({ ignoreAttributes: false }).build(doc), XMLValidator.validate("<a><b></a>")];
};

export const rootAgent = agent(run);
