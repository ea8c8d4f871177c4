// What can be done on the screen that is shown: the palette lists it, and so does
// the menu of commands for a terminal.
import { useEffect, useRef, type RefObject } from 'react';

import type { Calls } from './api/calls';

/** What an action asks the server for; a function, if that is only known when it is asked for. */
export type Asks = Calls | (() => Calls);

export interface Command {
  label: string;
  keys?: string;
  act: () => void;
  /** It changes something, which not every caller may. */
  changes?: boolean;
  /** It is about one item of a list, and is only offered to those who search. */
  searched?: boolean;
}

interface Request {
  label: string;
  call: Asks;
  /** Where it is on the screen. */
  element: Element | null;
}

const commands = new Set<() => Command[]>();
const requests = new Set<() => Request>();

/** Adds what is read to a set for as long as the component is there. */
function useRegistered<T>(set: Set<() => T>, read: () => T) {
  const now = useRef(read);
  now.current = read;
  useEffect(() => {
    const one = () => now.current();
    set.add(one);
    return () => void set.delete(one);
  }, [set]);
}

/** Adds commands to the palette. */
export const useCommands = (list: Command[]) => useRegistered(commands, () => list);

/** Makes a request one that can be copied, while its element can be seen. */
export const useRequest = (label: string, call: Asks, element: RefObject<Element | null>) => useRegistered(requests, () => ({ label, call, element: element.current }));

/** The commands of what is shown, each label once. */
export const commandsNow = (): Command[] => [...new Map([...commands].flatMap((read) => read()).map((one) => [one.label, one])).values()];

/** The requests of what can be seen: in a dialog, or outside of all dialogs. Those of the same name are numbered. */
export function requestsNow(dialog: Element | null): Request[] {
  const seen = new Map<string, number>();
  return [...requests]
    .map((read) => read())
    .filter(({ element }) => element !== null && element.checkVisibility() && element.closest('[role=dialog]') === dialog)
    .sort((a, b) => (a.element!.compareDocumentPosition(b.element!) & Node.DOCUMENT_POSITION_FOLLOWING ? -1 : 1))
    .map((one) => {
      const count = (seen.get(one.label) ?? 0) + 1;
      seen.set(one.label, count);
      return count > 1 ? { ...one, label: `${one.label} (${count})` } : one;
    });
}
