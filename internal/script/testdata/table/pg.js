import pg from "pg";
import { agent, closed, failure } from "./lib/agent.js";

const run = async () => [pg.escapeIdentifier('a"b'), pg.escapeLiteral("it's"), (await failure(() => new pg.Client({ host: "127.0.0.1", port: closed }).connect())).slice(0, 2)];

export const rootAgent = agent(run);
