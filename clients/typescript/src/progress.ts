import type { Event } from './types.js';

/**
 * How far a run has been read, over all connections. A complete event has an id,
 * behind which a server resumes. Pieces of a text have none: after a reconnect the
 * server sends all of the text so far, and Progress removes what was read before.
 */
export class Progress {
  /** The id of the last complete event. */
  after: string | undefined;
  /** The last complete event. */
  last: Event | undefined;
  private readonly texts = new Map<string, string>(); // the text so far, by the id that its pieces share
  private started = new Set<string>(); // ids of which this connection has sent a piece

  /** Continues on a new connection. */
  reconnect() {
    this.started = new Set();
  }

  /** Returns the part of an event that is new, or undefined. */
  take(event: Event): Event | undefined {
    if (!event.partial) {
      this.after = event.id;
      this.last = event;
      return event;
    }
    const before = this.texts.get(event.id) ?? '';
    const text = whole(event);
    if (this.started.has(event.id) || !before) {
      this.started.add(event.id);
      this.texts.set(event.id, before + text);
      return event;
    }
    this.started.add(event.id);
    this.texts.set(event.id, text);
    return text.startsWith(before) ? without(event, before.length) : event;
  }
}

const whole = (event: Event) => (event.content?.parts ?? []).map((part) => part.text ?? '').join('');

/** A piece without the first letters of its text, or undefined if nothing is left. */
function without(event: Event, letters: number): Event | undefined {
  const parts = [];
  for (const part of event.content?.parts ?? []) {
    const text = (part.text ?? '').slice(letters);
    letters -= Math.min(letters, (part.text ?? '').length);
    if (text) parts.push({ ...part, text });
  }
  return parts.length > 0 ? ({ ...event, content: { ...event.content, parts } } as Event) : undefined;
}
