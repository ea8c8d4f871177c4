import { evaluate, matrix, multiply, simplify } from "mathjs";
import { agent } from "./lib/agent.js";

const run = () => [evaluate("sqrt(3^2 + 4^2) + sin(pi / 2)"), `${evaluate("5 inch to cm")}`, simplify("2 x + x").toString(), multiply(matrix([[1, 2], [3, 4]]), [1, 1]).toArray(), evaluate("0.1 + 0.2").toFixed(3)];

export const rootAgent = agent(run);
