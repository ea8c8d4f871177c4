// Names that both packages use, and the marks by which their objects are known.

/** The marks of the official package, so that helper packages which are built
 * on it recognise our objects. */
export const mark = (name) => Symbol.for(`google.adk.${name}`);

export const hasMark = (value, name) => typeof value === "object" && value !== null && value[mark(name)] === true;

/** Adds a mark to an object that is not enumerable. */
export const setMark = (object, name) => Object.defineProperty(object, mark(name), { value: true });

/** How the callbacks of an agent are called: with one object, as in
 * @google/adk, or with positional arguments, as in adk-typescript. */
export const STYLE = Symbol("style");

export const REQUEST_CREDENTIAL_FUNCTION_CALL_NAME = "svc_request_credential";
export const REQUEST_CONFIRMATION_FUNCTION_CALL_NAME = "adk_request_confirmation";
export const REQUEST_INPUT_FUNCTION_CALL_NAME = "adk_request_input";

/** Folds snake_case option names, which some documentation uses. */
export function camelOptions(options) {
  const out = {};
  for (const [key, value] of Object.entries(options ?? {})) {
    if (value !== undefined) out[key.replace(/(?<=[a-z0-9])_([a-z])/g, (_, c) => c.toUpperCase())] = value;
  }
  return out;
}

/** Options of a constructor that is called as (options), (name, options) or
 * (name). */
export function optionsOf(args) {
  if (typeof args[0] === "string") return { ...camelOptions(args[1]), name: args[0] };
  return camelOptions(args[0]);
}

/** Arguments of a method that takes them as one object in one package, and one
 * after the other in the other. */
export const objectOrList = (args, ...names) =>
  typeof args[0] === "object" && args[0] !== null ? camelOptions(args[0]) : Object.fromEntries(names.map((name, i) => [name, args[i]]));

export const list = (value) => (value === undefined || value === null ? [] : Array.isArray(value) ? value : [value]);

/** Adds members that do not show when the object is printed or sent. */
export function hide(object, members) {
  for (const [key, value] of Object.entries(members)) Object.defineProperty(object, key, { value, enumerable: false, writable: true, configurable: true });
}

const refused = new WeakMap();

/** Why something cannot be used here, if so. */
export const refusal = (value) => (typeof value === "function" ? refused.get(value) : undefined);

/** Something whose use, in whatever way, is refused with a reason. */
export function unsupported(name, advice) {
  const message = `${name} is not supported by this runtime: ${advice}`;
  const refuse = () => {
    throw new Error(message);
  };
  const target = Object.defineProperty(function () {}, "name", { value: name });
  const proxy = new Proxy(target, {
    apply: refuse,
    construct: refuse,
    get: (t, key) => (key === "prototype" || key === "name" || typeof key === "symbol" ? Reflect.get(t, key) : refuse()),
  });
  refused.set(proxy, message);
  return proxy;
}

/** A CommonJS module in which a name that we lack is something which says so
 * when it is used. Without that, the bundler would refuse the import of it, or
 * the error would be about undefined. */
export function moduleOf(names, from) {
  const strange = new Map();
  const rest = {
    get(_, name) {
      if (typeof name !== "string" || name === "then" || name === "default" || name === "__esModule") return undefined;
      if (name in Object.prototype) return Object.prototype[name];
      if (!strange.has(name)) strange.set(name, unsupported(name, `this version has nothing of that name for ${from}`));
      return strange.get(name);
    },
  };
  return Object.setPrototypeOf({ ...names }, new Proxy({}, rest));
}
