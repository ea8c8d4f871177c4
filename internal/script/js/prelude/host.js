// Functions of Go that answer at once: one text in, one text out.
const call = globalThis.__host;

/** An error as Go reports it. */
export class HostError extends Error {
  constructor({ name, message, code }) {
    super(message);
    this.name = name || "Error";
    if (code) this.code = code;
  }
}

/** Calls a function of Go, which answers at once. */
export function host(name, params = null) {
  return valueOf(call(name, JSON.stringify(params)));
}

/** Calls a function of Go on behalf of a call of Go. */
export function hostCall(name, id, params = null) {
  return valueOf(call(name, `${id} ${JSON.stringify(params)}`));
}

function valueOf(answer) {
  const { value, error } = JSON.parse(answer);
  if (error) throw new HostError(error);
  return value;
}

/** Calls a function of Go with a text, without the cost of JSON. */
export const hostText = (name, text) => call(name, text);

/** Defines properties of globalThis that are not enumerable, as engines do. */
export function install(things) {
  for (const [name, value] of Object.entries(things)) {
    Object.defineProperty(globalThis, name, { value, writable: true, enumerable: false, configurable: true });
  }
}

/** A stand-in for what this runtime does not have: it throws when it is called. */
export function missing(name, advice) {
  const fail = () => {
    const error = new Error(`${name} is not available in this runtime: ${advice}`);
    error.code = "ERR_FEATURE_UNAVAILABLE_ON_PLATFORM";
    throw error;
  };
  return new Proxy(function () {}, { apply: fail, construct: fail });
}
