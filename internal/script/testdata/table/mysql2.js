import mysql from "mysql2/promise";
import { agent, closed, failure } from "./lib/agent.js";

const run = async () => [mysql.format("SELECT ?? WHERE a = ? AND b IN (?)", ["c", "it's", [1, 2]]), (await failure(() => mysql.createConnection({ host: "127.0.0.1", port: closed }))).slice(0, 2)];

export const rootAgent = agent(run);
