import type { Event } from './types.js';

/**
 * How far a run has been read, over all connections. Complete events are told
 * apart by their ids, with which a server goes on. Pieces of a text have none: a
 * server that is asked to go on sends all of the text so far, and what was read
 * before is taken off here.
 */
export class Progress {
  /** The id of the last complete event. */
  after: string | undefined;
  /** The last complete event. */
  last: Event | undefined;
  private readonly said = new Map<string, string>(); // the text so far, by the id that its pieces share
  private begun = new Set<string>(); // ids of which this connection has sent a piece

  /** Another connection goes on. */
  reconnect() {
    this.begun = new Set();
  }

  /** What of an event is new, if anything. */
  take(event: Event): Event | undefined {
    if (!event.partial) {
      this.after = event.id;
      this.last = event;
      return event;
    }
    const before = this.said.get(event.id) ?? '';
    const text = whole(event);
    if (this.begun.has(event.id) || !before) {
      this.begun.add(event.id);
      this.said.set(event.id, before + text);
      return event;
    }
    this.begun.add(event.id);
    this.said.set(event.id, text);
    return text.startsWith(before) ? without(event, before.length) : event;
  }
}

const whole = (event: Event) => (event.content?.parts ?? []).map((part) => part.text ?? '').join('');

/** A piece without the first letters of its text, or nothing if that is all. */
function without(event: Event, letters: number): Event | undefined {
  const parts = [];
  for (const part of event.content?.parts ?? []) {
    const text = (part.text ?? '').slice(letters);
    letters -= Math.min(letters, (part.text ?? '').length);
    if (text) parts.push({ ...part, text });
  }
  return parts.length > 0 ? ({ ...event, content: { ...event.content, parts } } as Event) : undefined;
}
