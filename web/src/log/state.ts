// Objects and filters, as texts that a form has.

/** The object that a text is; null for an empty text, and undefined for one that is not an object. */
export function readState(text: string): Record<string, unknown> | null | undefined {
  if (text.trim() === '') return null;
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}

export const stateText = (state: Record<string, unknown> | undefined) => (state ? JSON.stringify(state, null, 2) : '');

/** The values for each path of lines such as body.ref=main; null for none, and undefined if a line is not one. */
export function readMatch(text: string): Record<string, string[]> | null | undefined {
  const match: Record<string, string[]> = {};
  for (const line of text.split('\n').filter((one) => one.trim() !== '')) {
    const at = line.indexOf('=');
    if (at < 1) return undefined;
    const path = line.slice(0, at).trim();
    (match[path] ??= []).push(line.slice(at + 1).trim());
  }
  return Object.keys(match).length > 0 ? match : null;
}

export const matchText = (match: Record<string, string[]> | undefined) =>
  Object.entries(match ?? {}).flatMap(([path, values]) => values.map((value) => `${path}=${value}`)).join('\n');
