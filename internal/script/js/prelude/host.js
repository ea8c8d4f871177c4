// The way to Go for what is answered at once: one text in, one text out.
const call = globalThis.__host;

/** An error as Go reports it. */
export class HostError extends Error {
  constructor({ name, message, code }) {
    super(message);
    this.name = name || "Error";
    if (code) this.code = code;
  }
}

/** Asks Go for something that is answered at once. */
export function host(name, params = null) {
  const { value, error } = JSON.parse(call(name, JSON.stringify(params)));
  if (error) throw new HostError(error);
  return value;
}

/** Hands Go a text and takes one back, where JSON around it would cost more than the work. */
export const hostText = (name, text) => call(name, text);

/** Puts things on globalThis as engines do: not in the way of whoever lists it. */
export function install(things) {
  for (const [name, value] of Object.entries(things)) {
    Object.defineProperty(globalThis, name, { value, writable: true, enumerable: false, configurable: true });
  }
}

/** Something that this runtime has not got: it may be looked at, and fails where it is used. */
export function missing(name, advice) {
  const fail = () => {
    const error = new Error(`${name} is not available in this runtime: ${advice}`);
    error.code = "ERR_FEATURE_UNAVAILABLE_ON_PLATFORM";
    throw error;
  };
  return new Proxy(function () {}, { apply: fail, construct: fail });
}
