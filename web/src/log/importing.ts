// Sessions as other programs write them.
import type { JsonObject } from '../api/types';

/**
 * The lines of an export. A file that is one session as JSON, as adk-web exports it and as `parley run --save_session`
 * writes it, is made into lines; any other text is returned as it is.
 */
export function exportLines(text: string): string {
  let session: JsonObject;
  try {
    session = JSON.parse(text) as JsonObject;
  } catch {
    return text; // lines, or nothing that can be read: the server says what is wrong
  }
  const events = session?.['events'];
  if (!Array.isArray(events)) return text;
  return [{ parley: 1, state: session['state'] ?? {} }, ...events].map((line) => JSON.stringify(line)).join('\n');
}
