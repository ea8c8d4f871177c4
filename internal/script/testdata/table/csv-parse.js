import { parse } from "csv-parse";
import { parse as sync } from "csv-parse/sync";
import { agent } from "./lib/agent.js";

const run = async () => {
  const records = [];
  const parser = parse({ delimiter: ";" });
  parser.write("a;b\n");
  parser.end("c;d\n");
  for await (const record of parser) records.push(record);
  return [records, sync("h1,h2\n1,2\n", { columns: true, cast: true })];
};

export const rootAgent = agent(run);
