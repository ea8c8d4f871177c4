import { addMonths, differenceInCalendarDays, format, formatDistance, parseISO } from "date-fns";
import { de } from "date-fns/locale";
import { agent } from "./lib/agent.js";

const run = () => {
  const day = parseISO("2026-01-31T10:20:30Z");
  return [
    addMonths(day, 1).toISOString(),
    format(day, "EEEE, do MMMM yyyy", { locale: de }),
    differenceInCalendarDays(addMonths(day, 1), day),
    formatDistance(day, addMonths(day, 5)),
  ];
};

export const rootAgent = agent(run);
