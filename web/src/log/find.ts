// Finding a text in a conversation, of which a browser only has what is in view.
import { partsOf, type Event } from '../api/types';

const texts = new WeakMap<Event, string>();

/** All that an event shows, in lower case. */
function textOfAll(event: Event): string {
  let text = texts.get(event);
  if (text === undefined) {
    const parts = partsOf(event).map((part) => {
      const { functionCall: call, functionResponse: response } = part;
      if (call) return `${call.name} ${JSON.stringify(call.args ?? {})}`;
      if (response) return `${response.name} ${JSON.stringify(response.response ?? {})}`;
      return [part.text, part.executableCode?.code, part.codeExecutionResult?.output, part.inlineData?.displayName].filter(Boolean).join(' ');
    });
    const delta = Object.entries(event.actions?.stateDelta ?? {}).map(([key, value]) => `${key} = ${JSON.stringify(value)}`);
    text = [event.author, ...parts, event.errorCode, event.errorMessage, ...delta].filter(Boolean).join('\n').toLowerCase();
    texts.set(event, text);
  }
  return text;
}

/** The places of the events that have a text in them. */
export function eventsWith(events: Event[], text: string): number[] {
  const wanted = text.trim().toLowerCase();
  return wanted === '' ? [] : events.flatMap((event, i) => (textOfAll(event).includes(wanted) ? [i] : []));
}
