// Names for the schemas of the server's OpenAPI document that callers use.
import type { components } from './schema.js';

/** Every schema of the server's OpenAPI document, by name. */
export type Schemas = components['schemas'];

export type Session = Schemas['Session'];
export type ListedSession = Schemas['ListedSession'];
/** An event that a search has found. */
export type FoundEvent = Schemas['FoundEvent'];
export type Event = Schemas['Event'];
export type Content = NonNullable<Event['content']>;
export type Part = Schemas['Part'];
export type FunctionCall = Schemas['FunctionCall'];
export type FunctionResponse = Schemas['FunctionResponse'];
export type MessagePart = Schemas['MessagePart'];
export type Run = Schemas['Run'];
export type Feedback = Schemas['Feedback'];
export type GivenFeedback = Schemas['GivenFeedback'];
export type Concurrency = Schemas['Concurrency'];
export type OnDisconnect = Schemas['OnDisconnect'];
export type ArtifactVersion = Schemas['ArtifactVersion'];

export type State = Record<string, unknown>;

/** A message: a text, a part, or several parts. */
export type Message = string | MessagePart | MessagePart[];

/** Identifies a session. A `Session` is one, too. */
export interface SessionRef {
  appName: string;
  userId: string;
  id: string;
}

/** The text of an event, without the model's thoughts. */
export function textOf(event: Event): string {
  return (event.content?.parts ?? []).map((part) => (part.thought ? '' : (part.text ?? ''))).join('');
}
