// The session's state, by method, state.get("k"), and by key, state.k.

const methods = {
  get: (s) => (key, fallback) => (s.has(key) ? s.read(key) : fallback),
  set: (s) => (key, value) => s.write(key, value),
  has: (s) => (key) => s.has(key),
  delete: (s) => (key) => s.remove(key),
  hasDelta: (s) => () => Object.keys(s.delta).length > 0,
  getDelta: (s) => () => ({ ...s.delta }),
  update: (s) => (values) => {
    for (const [key, value] of Object.entries(values)) s.write(key, value);
  },
  setdefault: (s) => (key, value) => {
    if (!s.has(key)) s.write(key, value);
    return s.read(key);
  },
  toRecord: (s) => () => s.all(),
  getAll: (s) => () => s.all(),
  toDict: (s) => () => s.all(),
  toJSON: (s) => () => s.all(),
};

// The values of the session and what was changed. They are fetched from Go when
// somebody first looks.
class Values {
  constructor(fetch, delta, frozen, secret, isOver) {
    Object.assign(this, { fetch, delta, frozen, secret, isOver, base: undefined });
  }
  stored() {
    return (this.base ??= this.fetch());
  }
  /** What is stored for a key. Those that start with secret: are in no list,
   * and each has to be asked for. */
  find(key) {
    if (this.secret && key.startsWith(State.SECRET_PREFIX)) return this.secret(key) ?? undefined;
    return Object.hasOwn(this.stored(), key) ? this.stored()[key] : undefined;
  }
  has(key) {
    return Object.hasOwn(this.delta, key) ? this.delta[key] !== null && this.delta[key] !== undefined : this.find(key) !== undefined;
  }
  read(key) {
    if (Object.hasOwn(this.delta, key)) return this.delta[key] ?? undefined;
    return this.find(key);
  }
  write(key, value) {
    if (this.frozen) throw new Error(`The state is read-only here: "${String(key)}" cannot be set. Set it in a tool or a callback.`);
    if (this.isOver?.()) throw new Error("the call that this context belongs to is over"); // as Go says
    this.delta[key] = value === undefined ? null : value;
  }
  remove(key) {
    if (!this.has(key)) return false;
    this.write(key, null);
    if (this.find(key) === undefined) delete this.delta[key];
    return true;
  }
  keys() {
    return [...new Set([...Object.keys(this.stored()), ...Object.keys(this.delta)])].filter((key) => this.has(key));
  }
  all() {
    return Object.fromEntries(this.keys().map((key) => [key, this.read(key)]));
  }
}

function look(values, key) {
  if (typeof key !== "string") return undefined;
  if (Object.hasOwn(methods, key)) return methods[key](values);
  // Code may ask state.hasOwnProperty("k"), or print it.
  return !values.has(key) && key in Object.prototype ? Object.prototype[key] : values.read(key);
}

/** A state over values that fetch gives; what is written goes to delta. */
export function makeState(fetch, delta = {}, frozen = false, secret = undefined, isOver = undefined) {
  const values = new Values(fetch, delta, frozen, secret, isOver);
  const proxy = new Proxy(Object.create(State.prototype), {
    get: (_, key) => look(values, key),
    set: (_, key, value) => (values.write(key, value), true),
    has: (_, key) => values.has(key),
    deleteProperty: (_, key) => (values.remove(key), true),
    ownKeys: () => values.keys(),
    getOwnPropertyDescriptor: (_, key) =>
      values.has(key) ? { value: values.read(key), writable: true, enumerable: true, configurable: true } : undefined,
  });
  return { proxy, values };
}

export class State {
  static APP_PREFIX = "app:";
  static USER_PREFIX = "user:";
  static TEMP_PREFIX = "temp:";
  static SECRET_PREFIX = "secret:";

  constructor(value = {}, delta = {}) {
    return makeState(() => value, delta).proxy;
  }
}
