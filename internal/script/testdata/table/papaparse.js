import Papa from "papaparse";
import { agent } from "./lib/agent.js";

const run = () => [Papa.parse('a,b\n1,"x, ""y"""\n2,', { header: true, dynamicTyping: true }), Papa.unparse([{ a: 'q"', b: "," }])];

export const rootAgent = agent(run);
