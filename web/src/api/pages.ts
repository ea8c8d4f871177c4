import type { Call } from './calls';
import { nextPage, request } from './client';

/** The items of a list, and whether there are more than were asked for. */
export interface Pages<T> {
  rows: T[];
  more: boolean;
}

/** Reads the pages of a list until its end, but not more than so many. */
export async function readPages<T>(call: Call, most: number, signal?: AbortSignal): Promise<Pages<T>> {
  const rows: T[] = [];
  let next: string | undefined = call.path;
  for (let i = 0; next !== undefined && i < most; i++) {
    const { value, response }: { value: T[]; response: Response } = await request<T[]>({ ...call, path: next }, signal);
    rows.push(...value);
    next = nextPage(response);
  }
  return { rows, more: next !== undefined };
}
