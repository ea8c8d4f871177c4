import initSqlJs from "sql.js";
import { agent } from "./lib/agent.js";

const run = async () => {
  const { Database } = await initSqlJs();
  return new Database().exec("SELECT 1 + 1 AS two, upper('x') AS x");
};

export const rootAgent = agent(run);
