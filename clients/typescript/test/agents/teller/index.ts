// Says words one after the other. A word of the form [name] is a gate: the agent
// waits there until a message in another session says "open name". "fail" ends
// the run with an error.
import { BaseAgent, createEvent, Event, InvocationContext } from '@google/adk';

const gates = new Map<string, { opened: Promise<void>; open: () => void }>();

function gate(name: string) {
  let found = gates.get(name);
  if (!found) {
    let open = () => {};
    found = { opened: new Promise<void>((resolve) => { open = resolve; }), open };
    found.open = open;
    gates.set(name, found);
  }
  return found;
}

class Teller extends BaseAgent {
  constructor() {
    super({ name: 'teller', description: 'Says words one after the other.' });
  }

  async *runAsyncImpl(ctx: InvocationContext): AsyncGenerator<Event> {
    const text = ctx.userContent?.parts?.[0]?.text ?? '';
    if (text.startsWith('open ')) gate(text.slice(5)).open();
    let said = '';
    const id = `piece-${ctx.invocationId}`;
    for (const word of text.split(' ')) {
      const name = /^\[(.*)\]$/.exec(word)?.[1];
      if (name) {
        await gate(name).opened;
        continue;
      }
      if (word === 'fail') throw new Error('the teller has failed');
      if (word === '|') { // ends a text
        yield this.says(said);
        said = '';
        continue;
      }
      said += `${word} `;
      yield this.says(`${word} `, { id, partial: true });
    }
    yield this.says(said);
  }

  private says(text: string, more: object = {}): Event {
    return createEvent({ author: this.name, content: { role: 'model', parts: [{ text }] }, ...more });
  }
}

export const rootAgent = new Teller();
