// What people see of a session is in its state, under one key.
import type { Event, JsonObject, Part, Session } from '../api/types';
import { textOf } from './rows';

export const metadataKey = '__session_metadata__';

export interface Metadata {
  displayName?: string;
  labels?: Record<string, string>;
}

export function metadataOf(state: JsonObject): Metadata {
  const kept = state[metadataKey];
  return typeof kept === 'object' && kept !== null && !Array.isArray(kept) ? (kept as Metadata) : {};
}

/** What a session is called: its title, or what was said first, or its id. */
export const titleOf = (session: Session) => nameOf(session.id, session.state as JsonObject, session.events as Event[]);

export const nameOf = (id: string, state: JsonObject, events: Event[]) => metadataOf(state).displayName || firstWords(events) || id;

const maxTitle = 80;
const cut = (text: string) => (text.length > maxTitle ? `${text.slice(0, maxTitle - 1)}…` : text);
const onOneLine = (text: string) => cut(text.trim().replaceAll(/\s+/g, ' '));

const firstWords = (events: Event[]) => onOneLine(textOf(events.find((e) => e.author === 'user' && textOf(e)) ?? ({} as Event)));

/** What the first message of a session without a title changes in the state: adk-web keeps titles in the same place. */
export function titledBy(parts: Part[], state: JsonObject, events: Event[]): JsonObject | undefined {
  const displayName = onOneLine(parts.map((p) => p.text ?? '').join(' '));
  if (!displayName || metadataOf(state).displayName || firstWords(events)) return undefined;
  return { [metadataKey]: { ...metadataOf(state), displayName } as JsonObject };
}

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

/** What was typed into the search box: words, and labels with a colon. */
export function parseSearch(text: string): { text: string; labels: string[] } {
  const words = text.trim().split(/\s+/).filter(Boolean);
  const isLabel = (w: string) => /^[^:\s]+:[^:\s]+$/.test(w);
  return { text: words.filter((w) => !isLabel(w)).join(' '), labels: words.filter(isLabel) };
}
