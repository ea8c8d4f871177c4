import { bytesOf, concat, decodeUTF8, encodeUTF8, isBytes } from "./bytes.js";
import { ReadableStream } from "../third_party/web-streams-polyfill/ponyfill.js";

/** A stream of bytes that are there already. */
export function streamOf(bytes) {
  return new ReadableStream({
    type: "bytes",
    start(controller) {
      if (bytes.length) controller.enqueue(bytes.slice()); // the stream takes the buffer away
      controller.close();
    },
  });
}

export class Blob {
  #bytes;
  #type;
  constructor(parts = [], { type = "" } = {}) {
    if (typeof parts !== "object" || parts === null || !parts[Symbol.iterator])
      throw new TypeError("The parts of a Blob come in an array");
    this.#bytes = concat(
      Array.from(parts, (part) => {
        if (part instanceof Blob) return part.#bytes;
        return isBytes(part) ? bytesOf(part) : encodeUTF8(String(part).toWellFormed());
      }),
    );
    this.#type = /^[\x20-\x7e]*$/.test(type) ? String(type).toLowerCase() : "";
  }
  get size() {
    return this.#bytes.length;
  }
  get type() {
    return this.#type;
  }
  slice(start, end, type = "") {
    return new Blob([this.#bytes.slice(start, end)], { type });
  }
  async bytes() {
    return this.#bytes.slice();
  }
  async arrayBuffer() {
    return this.#bytes.slice().buffer;
  }
  async text() {
    return decodeUTF8(this.#bytes);
  }
  stream() {
    return streamOf(this.#bytes);
  }
  static peek = (blob) => blob.#bytes;
  get [Symbol.toStringTag]() {
    return this.constructor.name;
  }
}

/** The bytes of a blob, without waiting for them. */
export const { peek } = Blob;
delete Blob.peek;

export class File extends Blob {
  constructor(parts, name, { type = "", lastModified = Date.now() } = {}) {
    super(parts, { type });
    this.name = String(name);
    this.lastModified = Number(lastModified);
    this.webkitRelativePath = "";
  }
}

export class FormData {
  #entries = [];
  constructor(form) {
    if (form !== undefined) throw new TypeError("There are no forms here: make an empty FormData and append to it");
  }
  static #value(value, filename) {
    if (!(value instanceof Blob)) return String(value);
    if (value instanceof File && filename === undefined) return value;
    return new File([value], filename ?? "blob", { type: value.type });
  }
  append(name, value, filename) {
    this.#entries.push([String(name), FormData.#value(value, filename)]);
  }
  set(name, value, filename) {
    const at = this.#entries.findIndex(([n]) => n === String(name));
    if (at < 0) return this.append(name, value, filename);
    this.#entries = this.#entries.filter(([n], i) => n !== String(name) || i === at);
    this.#entries[at] = [String(name), FormData.#value(value, filename)];
  }
  delete(name) {
    this.#entries = this.#entries.filter(([n]) => n !== String(name));
  }
  get(name) {
    return this.#entries.find(([n]) => n === String(name))?.[1] ?? null;
  }
  getAll(name) {
    return this.#entries.filter(([n]) => n === String(name)).map(([, v]) => v);
  }
  has(name) {
    return this.#entries.some(([n]) => n === String(name));
  }
  forEach(callback, self) {
    for (const [name, value] of this.#entries) callback.call(self, value, name, this);
  }
  *entries() {
    yield* this.#entries;
  }
  *keys() {
    for (const [name] of this.#entries) yield name;
  }
  *values() {
    for (const [, value] of this.#entries) yield value;
  }
  [Symbol.iterator]() {
    return this.entries();
  }
  get [Symbol.toStringTag]() {
    return "FormData";
  }
}

/** A form as the bytes of a multipart body, and its content type. */
export function multipart(form) {
  const boundary = `----parley${crypto.randomUUID().replaceAll("-", "")}`;
  const escape = (text) => text.replace(/\r?\n|\r/g, "%0D%0A").replaceAll('"', "%22");
  const parts = [];
  for (const [name, value] of form) {
    const head = `--${boundary}\r\nContent-Disposition: form-data; name="${escape(name)}"`;
    if (typeof value === "string") {
      parts.push(encodeUTF8(`${head}\r\n\r\n${value.replace(/\r?\n|\r/g, "\r\n").toWellFormed()}\r\n`));
    } else {
      const type = value.type || "application/octet-stream";
      parts.push(
        encodeUTF8(`${head}; filename="${escape(value.name)}"\r\nContent-Type: ${type}\r\n\r\n`),
        peek(value),
        encodeUTF8("\r\n"),
      );
    }
  }
  parts.push(encodeUTF8(`--${boundary}--\r\n`));
  return { bytes: concat(parts), type: `multipart/form-data; boundary=${boundary}` };
}
