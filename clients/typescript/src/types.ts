// The names of the schemas that callers meet. They are made from the server's
// OpenAPI document.
import type { components } from './schema.js';

type Schemas = components['schemas'];

export type Session = Schemas['Session'];
export type ListedSession = Schemas['ListedSession'];
export type Event = Schemas['Event'];
export type Content = NonNullable<Event['content']>;
export type Part = Schemas['Part'];
export type FunctionCall = Schemas['FunctionCall'];
export type FunctionResponse = Schemas['FunctionResponse'];
export type MessagePart = Schemas['MessagePart'];
export type Run = Schemas['Run'];
export type Concurrency = Schemas['Concurrency'];
export type OnDisconnect = Schemas['OnDisconnect'];
export type ArtifactVersion = Schemas['ArtifactVersion'];

export type State = Record<string, unknown>;

/** What is said: a text, a part of a message, or several of them. */
export type Message = string | MessagePart | MessagePart[];

/** Which session is meant. A `Session` is one, too. */
export interface SessionRef {
  appName: string;
  userId: string;
  id: string;
}

/** The text of an event, without the model's thoughts. */
export function textOf(event: Event): string {
  return (event.content?.parts ?? []).map((part) => (part.thought ? '' : (part.text ?? ''))).join('');
}
