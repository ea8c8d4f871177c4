import { randomUUID } from 'node:crypto';
import { onTestFinished } from 'vitest';

import { Parley, textOf, type Event, type Options, type Session } from '../src/index.js';
import { Proxy, type Fate } from './proxy.js';

export const base = process.env.BASE!;

/** A client without anything in between. */
export const direct = new Parley({ baseUrl: base });

export const begin = (app: string): Promise<Session> => direct.createSession(app, `u-${randomUUID()}`);

/** A client behind a proxy that treats its answers badly. */
export async function behind(fate: (n: number) => Fate, options: Partial<Options> = {}) {
  const proxy = await Proxy.start(base, fate);
  onTestFinished(() => proxy.close());
  return { proxy, client: new Parley({ baseUrl: proxy.url, ...options }) };
}

/** All that a generator hands out, and what it returns. */
export async function collect<T, R>(from: AsyncGenerator<T, R>): Promise<{ list: T[]; result: R }> {
  const list: T[] = [];
  for (;;) {
    const { done, value } = await from.next();
    if (done) return { list, result: value };
    list.push(value);
  }
}

export const complete = (events: Event[]) => events.filter((event) => !event.partial);
export const pieces = (events: Event[]) => events.filter((event) => event.partial).map(textOf);
export const ids = (events: Event[]) => events.map((event) => event.id);

/** The events that the session has of its runs, without the messages of the user. */
export async function stored(session: Session): Promise<Event[]> {
  const { events } = await direct.getSession(session);
  return events.filter((event) => event.author !== 'user');
}

export async function open(gate: string) {
  await direct.run(await begin('teller'), `open ${gate}`);
}
