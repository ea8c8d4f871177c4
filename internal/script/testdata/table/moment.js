import moment from "moment";
import { agent } from "./lib/agent.js";

const run = () => [
  moment.utc("2026-01-31").add(1, "month").format("LLLL"),
  moment.duration(5400, "s").humanize(),
  moment.utc("31/12/2026", "DD/MM/YYYY").week(),
];

export const rootAgent = agent(run);
