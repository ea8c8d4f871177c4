import { DateTime, Duration, Interval } from "luxon";
import { agent } from "./lib/agent.js";

const run = () => {
  const at = DateTime.fromISO("2026-03-29T01:30", { zone: "Europe/Paris" });
  return [
    at.plus({ hours: 1 }).toISO(),
    at.setLocale("fr").toLocaleString(DateTime.DATE_FULL),
    Duration.fromObject({ minutes: 90 }).shiftTo("hours", "minutes").toObject(),
    Interval.after(at, { days: 1 }).toDuration("hours").hours,
  ];
};

export const rootAgent = agent(run);
