import type { Event, Json, JsonObject } from '../api/types';

/** A state with the change of one event applied. null deletes a key. */
export function apply(state: JsonObject, delta: JsonObject | undefined): JsonObject {
  if (!delta || Object.keys(delta).length === 0) return state;
  const next: JsonObject = { ...state };
  for (const [key, value] of Object.entries(delta)) {
    if (key.startsWith('temp:')) continue;
    if (value === null) delete next[key];
    else next[key] = value as Json;
  }
  return next;
}

export const deltaOf = (event: Event) => (event.actions?.stateDelta ?? {}) as JsonObject;

/**
 * The state before and after an event, made of what the session began with. What
 * sessions share may have been changed by others since: what no event of this
 * session has set is taken as it is now.
 */
export function stateAt(initial: JsonObject, events: Event[], index: number, now: JsonObject): { before: JsonObject; after: JsonObject } {
  let before: JsonObject = { ...initial };
  for (const [key, value] of Object.entries(now)) {
    if ((key.startsWith('user:') || key.startsWith('app:')) && !(key in before) && !events.some((e) => key in deltaOf(e))) before[key] = value;
  }
  for (const event of events.slice(0, index)) before = apply(before, deltaOf(event));
  const event = events[index];
  return { before, after: event ? apply(before, deltaOf(event)) : before };
}
