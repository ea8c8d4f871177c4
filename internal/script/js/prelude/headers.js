const token = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;

function nameOf(name) {
  const text = String(name);
  if (!token.test(text)) throw new TypeError(`"${text}" is not the name of a header`);
  return text.toLowerCase();
}

function valueOf(value, name) {
  const text = String(value).replace(/^[\t\n\r ]+|[\t\n\r ]+$/g, "");
  if (/[\0\r\n]|[^\x00-\xff]/.test(text))
    throw new TypeError(`The value of the header ${name} has a character that a header cannot have`);
  return text;
}

export class Headers {
  #values = new Map(); // name → values: of set-cookie there may be several

  constructor(init) {
    if (init == null) return;
    if (typeof init !== "object") throw new TypeError("Headers are made of an object, or of pairs");
    const pairs = typeof init[Symbol.iterator] === "function" ? init : Object.entries(init);
    for (const pair of pairs) {
      const [name, value, ...rest] = pair;
      if ((value === undefined && !(1 in pair)) || rest.length)
        throw new TypeError("A header is a pair of a name and a value");
      this.append(name, value);
    }
  }
  append(name, value) {
    const key = nameOf(name);
    const text = valueOf(value, key);
    const held = this.#values.get(key);
    if (held) held.push(text);
    else this.#values.set(key, [text]);
  }
  set(name, value) {
    const key = nameOf(name);
    this.#values.set(key, [valueOf(value, key)]);
  }
  get(name) {
    return this.#values.get(nameOf(name))?.join(", ") ?? null;
  }
  getSetCookie() {
    return [...(this.#values.get("set-cookie") ?? [])];
  }
  has(name) {
    return this.#values.has(nameOf(name));
  }
  delete(name) {
    this.#values.delete(nameOf(name));
  }
  forEach(callback, self) {
    for (const [name, value] of this.#each()) callback.call(self, value, name, this);
  }
  *#each() {
    for (const name of [...this.#values.keys()].sort()) {
      const values = this.#values.get(name);
      if (name === "set-cookie") for (const value of values) yield [name, value];
      else yield [name, values.join(", ")];
    }
  }
  entries() {
    return this.#each();
  }
  *keys() {
    for (const [name] of this.#each()) yield name;
  }
  *values() {
    for (const [, value] of this.#each()) yield value;
  }
  [Symbol.iterator]() {
    return this.entries();
  }
  [Symbol.for("nodejs.util.inspect.custom")](depth, options, inspect) {
    return `Headers ${inspect(Object.fromEntries(this), options)}`;
  }
  get [Symbol.toStringTag]() {
    return "Headers";
  }
}
