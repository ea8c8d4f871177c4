// The session's state, by method, state.get("k"), and by key, state.k.

const methods = {
  get: (s) => (key, fallback) => (s.has(key) ? s.read(key) : fallback),
  set: (s) => (key, value) => s.write(key, value),
  has: (s) => (key) => s.has(key),
  delete: (s) => (key) => s.remove(key),
  hasDelta: (s) => () => Object.keys(s.delta).length > 0,
  getDelta: (s) => () => ({ ...s.delta }),
  update: (s) => (values) => {
    for (const [key, value] of Object.entries(values)) s.check(key, value);
    for (const [key, value] of Object.entries(values)) s.write(key, value);
  },
  setdefault: (s) => (key, value) => {
    if (!s.has(key)) s.write(key, value);
    return s.read(key);
  },
  increment: (s) => (key, by = 1) => s.change({ key, increment: by }),
  append: (s) => (key, ...values) => s.change({ key, append: values }),
  toRecord: (s) => () => s.all(),
  getAll: (s) => () => s.all(),
  toDict: (s) => () => s.all(),
  toJSON: (s) => () => s.all(),
};

// Methods that the State of other servers does not have: a key of that name is the
// value.
const newer = new Set(["increment", "append"]);

// The values of the session and the changes. The values are fetched from Go at the
// first access.
class Values {
  constructor(fetch, delta, frozen, secret, isOver, changes, check) {
    Object.assign(this, { fetch, delta, frozen, secret, isOver, changes, check, base: undefined });
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
  /** Applies the changes of a key to a value. Go does the same when the event is
   * stored; here it is for reads before that. */
  changed(key, value) {
    for (const c of this.changes()) {
      if (c.key === key) value = c.append ? [...(value ?? []), ...c.append] : (value ?? 0) + c.increment;
    }
    return value;
  }
  /** Records a change that is made to the value as it is when the event is stored. */
  change(c) {
    this.writable(c.key);
    const prefix = [State.USER_PREFIX, State.APP_PREFIX, State.SECRET_PREFIX].find((p) => c.key.startsWith(p));
    if (prefix) throw new Error(`state "${c.key}": keys that start with ${prefix} cannot be incremented or appended to, since other sessions may change them at the same time. Use a key of the session, or set()`);
    const value = this.read(c.key) ?? (c.append ? [] : 0);
    if (c.append ? !Array.isArray(value) : typeof value !== "number" || !Number.isFinite(c.increment)) {
      throw new Error(`state "${c.key}": the value is not a ${c.append ? "list" : "number"}`);
    }
    this.check(c.key, c.append ? [...value, ...c.append] : value + c.increment);
    this.changes(true).push(structuredClone(c));
  }
  has(key) {
    if (this.changes().some((c) => c.key === key)) return true;
    return Object.hasOwn(this.delta, key) ? this.delta[key] !== null && this.delta[key] !== undefined : this.find(key) !== undefined;
  }
  read(key) {
    return this.changed(key, Object.hasOwn(this.delta, key) ? (this.delta[key] ?? undefined) : this.find(key));
  }
  writable(key) {
    if (this.frozen) throw new Error(`The state is read-only here: "${String(key)}" cannot be set. Set it in a tool or a callback.`);
    if (this.isOver?.()) throw new Error("the call that this context belongs to is over"); // as Go says
  }
  write(key, value) {
    this.check(key, value);
    this.replace(key, value);
  }
  replace(key, value) {
    this.writable(key);
    const changes = this.changes();
    if (changes.length > 0) changes.splice(0, changes.length, ...changes.filter((c) => c.key !== key));
    this.delta[key] = value === undefined ? null : value;
  }
  remove(key) {
    if (!this.has(key)) return false;
    this.replace(key, null);
    if (this.find(key) === undefined) delete this.delta[key];
    return true;
  }
  keys() {
    return [...new Set([...Object.keys(this.stored()), ...Object.keys(this.delta), ...this.changes().map((c) => c.key)])].filter((key) => this.has(key));
  }
  all() {
    return Object.fromEntries(this.keys().map((key) => [key, this.read(key)]));
  }
}

function look(values, key) {
  if (typeof key !== "string") return undefined;
  if (Object.hasOwn(methods, key) && !(newer.has(key) && values.has(key))) return methods[key](values);
  // Code may ask state.hasOwnProperty("k"), or print it.
  return !values.has(key) && key in Object.prototype ? Object.prototype[key] : values.read(key);
}

/** A state over values that fetch gives; what is written goes to delta. */
export function makeState(fetch, delta = {}, frozen = false, secret = undefined, isOver = undefined, changes = undefined, check = () => {}) {
  const own = [];
  const values = new Values(fetch, delta, frozen, secret, isOver, changes ?? (() => own), check);
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
