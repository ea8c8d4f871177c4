// Dates as all screens write them: in the language of the browser, with the month in letters.

const format = (date: Date, options: Intl.DateTimeFormatOptions) => date.toLocaleString(undefined, options);

/** A moment, in seconds since 1970. */
export const moment = (time: number, timeZone?: string) => format(new Date(time * 1000), { dateStyle: 'medium', timeStyle: 'short', timeZone });

/** A moment, with its seconds. */
export const exactMoment = (time: number) => format(new Date(time * 1000), { dateStyle: 'medium', timeStyle: 'medium' });

/** The day of a moment. */
export const day = (time: number) => format(new Date(time * 1000), { dateStyle: 'medium' });

/** A day that is written as 2026-10-10. Something else stays as it is. */
export function dayNamed(text: string): string {
  const date = new Date(`${text}T00:00:00Z`);
  return /^\d{4}-\d\d-\d\d$/.test(text) && !Number.isNaN(date.getTime()) ? format(date, { dateStyle: 'medium', timeZone: 'UTC' }) : text;
}
