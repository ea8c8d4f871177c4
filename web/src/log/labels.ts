// What people see of a session is in its state, under one key.
import type { JsonObject, Session } from '../api/types';

export const metadataKey = '__session_metadata__';

export interface Metadata {
  displayName?: string;
  labels?: Record<string, string>;
}

export function metadataOf(state: JsonObject): Metadata {
  const kept = state[metadataKey];
  return typeof kept === 'object' && kept !== null && !Array.isArray(kept) ? (kept as Metadata) : {};
}

export const titleOf = (session: Session) => metadataOf(session.state as JsonObject).displayName || session.id;

/** Labels as text, name:value with commas, and back. */
export const labelsText = (labels: Record<string, string> | undefined) =>
  Object.entries(labels ?? {})
    .map(([name, value]) => `${name}:${value}`)
    .join(', ');

export function parseLabels(text: string): Record<string, string> {
  const labels: Record<string, string> = {};
  for (const one of text.split(',')) {
    const [name, ...rest] = one.split(':');
    if (name!.trim()) labels[name!.trim()] = rest.join(':').trim();
  }
  return labels;
}

/** What was typed into the search box: words of the title, and labels with a colon. */
export function parseSearch(text: string): { title: string; labels: string[] } {
  const words = text.trim().split(/\s+/).filter(Boolean);
  const isLabel = (w: string) => /^[^:\s]+:[^:\s]+$/.test(w);
  return { title: words.filter((w) => !isLabel(w)).join(' '), labels: words.filter(isLabel) };
}
