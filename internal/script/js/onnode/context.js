// prelude/context.js where Node.js runs the code: it keeps contexts across await.
import { AsyncLocalStorage } from "node:async_hooks";

const storage = new AsyncLocalStorage();

export function enter(key, value) {
  const before = storage.getStore();
  storage.enterWith({ key, value, outer: before });
  return before;
}

export function leave(before) {
  storage.enterWith(before);
}

export function lookUp(key) {
  for (let link = storage.getStore(); link; link = link.outer) if (link.key === key) return link.value;
  return undefined;
}
