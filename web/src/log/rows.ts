import { partsOf, type Event } from '../api/types';
import { feedbackIn } from '../evals/api';
import { answered, askedFor, isRequest } from './pending';

/** What the log shows as one line of its own. offset is how long after the run's first event it came. */
export type Row =
  | { key: string; kind: 'event'; event: Event; index: number; first: boolean; sameAuthor: boolean; offset: number; queued: boolean }
  | { key: string; kind: 'live'; author: string; text: string; thought: string };

export interface Live {
  id: string;
  author: string;
  text: string;
  thought: string;
}

/** A message that was sent from here, and that is not in the log of the server yet. */
export const isLocal = (event: Event) => event.id.startsWith('local-');

/** The place of the first message that is queued: all after it are. active is the run that is running. */
export function queuedFrom(events: Event[], active: string | undefined): number {
  let from = events.length;
  while (active !== undefined && from > 0 && isLocal(events[from - 1]!) && events[from - 1]!.invocationId !== active) from--;
  return from;
}

/** The places of the events that have a row: feedback is shown with its run. */
export const shownIn = (events: Event[]): number[] => events.flatMap((event, i) => (feedbackIn(event) ? [] : [i]));

/** The place after or before one, or undefined if there is none. The place itself need not be among them. */
export const placeBeside = (places: number[], at: number, step: 1 | -1): number | undefined => (step > 0 ? places.find((i) => i > at) : places.findLast((i) => i < at));

/** The rows of a session: its events, then the text that is being written, then messages that are queued. */
export function rowsOf(events: Event[], live: Live[], active?: string): Row[] {
  let start = 0;
  const from = queuedFrom(events, active);
  const shown = shownIn(events).map((index) => ({ event: events[index]!, index }));
  const rows: Row[] = shown.map(({ event, index }, at) => {
    const before = shown[at - 1]?.event;
    const first = before?.invocationId !== event.invocationId;
    if (first) start = event.timestamp;
    return { key: event.id, kind: 'event', event, index, first, sameAuthor: !first && before!.author === event.author, offset: event.timestamp - start, queued: index >= from };
  });
  rows.splice(shown.filter(({ index }) => index < from).length, 0, ...live.map((one): Row => ({ key: `live-${one.id}`, kind: 'live', author: one.author, text: one.text, thought: one.thought })));
  return rows;
}

/** Adds a piece to the text that is being written. */
export function addPiece(live: Live[], piece: Event): Live[] {
  let text = '';
  let thought = '';
  for (const part of partsOf(piece)) {
    if (part.thought) thought += part.text ?? '';
    else text += part.text ?? '';
  }
  const at = live.findIndex((l) => l.id === piece.id);
  if (at < 0) return [...live, { id: piece.id, author: piece.author, text, thought }];
  return live.map((l, i) => (i === at ? { ...l, text: l.text + text, thought: l.thought + thought } : l));
}

export const textOf = (event: Event) =>
  partsOf(event)
    .filter((p) => !p.thought)
    .map((p) => p.text ?? '')
    .join('');

/** A line about an event, for lists and for screen readers. */
export function summary(event: Event): string {
  for (const part of partsOf(event)) {
    if (part.functionCall) return isRequest(part.functionCall.name) ? `asks for ${askedFor(part.functionCall.name!)}` : `calls ${part.functionCall.name}`;
    if (part.functionResponse) return event.author === 'user' && isRequest(part.functionResponse.name) ? answered(part.functionResponse).slice(0, 120) : `${part.functionResponse.name} responds`;
    if (part.inlineData) return `sends ${part.inlineData.displayName ?? part.inlineData.mimeType ?? 'a file'}`;
    if (part.executableCode) return `writes code${part.executableCode.language ? ` in ${part.executableCode.language.toLowerCase()}` : ''}`;
    if (part.codeExecutionResult) return part.codeExecutionResult.outcome === 'OUTCOME_OK' ? 'the code has run' : 'the code failed';
    if (part.text) return part.text.slice(0, 120);
  }
  if (event.errorCode) return `fails: ${event.errorCode}`;
  if (Object.keys(event.actions?.stateDelta ?? {}).length > 0) return 'changes the state';
  return 'event';
}
