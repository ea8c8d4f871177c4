import dayjs from "dayjs";
import timezone from "dayjs/plugin/timezone.js";
import utc from "dayjs/plugin/utc.js";
import { agent } from "./lib/agent.js";

dayjs.extend(utc);
dayjs.extend(timezone);
const run = () => [
  dayjs.utc("2026-03-29T00:30:00Z").tz("Europe/Berlin").add(1, "hour").format(),
  dayjs("2026-02-30").isValid(),
  dayjs.utc("2026-01-31").endOf("month").format("YYYY-MM-DD HH:mm:ss.SSS"),
];

export const rootAgent = agent(run);
