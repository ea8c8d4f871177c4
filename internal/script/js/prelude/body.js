// What Request and Response have in common: a body, which can be used once.
import { ReadableStream } from "../third_party/web-streams-polyfill/ponyfill.js";
import { Blob, FormData, multipart, peek, streamOf } from "./blob.js";
import { bytesOf, concat, decodeUTF8, encodeUTF8, isBytes, toBase64 } from "./bytes.js";
import { URLSearchParams } from "./query.js";

/** Whether a stream was read from or cancelled. */
const disturbed = (stream) => stream._disturbed;

/** A body's bytes or stream, and the content type that goes with it. */
export function extract(body) {
  if (body === null || body === undefined) return null;
  if (body instanceof ReadableStream) {
    if (body.locked || disturbed(body)) throw new TypeError("The body is locked, or was read already");
    return { stream: body };
  }
  if (isBytes(body)) return { bytes: bytesOf(body).slice() };
  if (body instanceof Blob) return { bytes: peek(body), type: body.type || undefined };
  if (body instanceof FormData) return multipart(body);
  if (body instanceof URLSearchParams)
    return { bytes: encodeUTF8(body.toString()), type: "application/x-www-form-urlencoded;charset=UTF-8" };
  if (typeof body === "object" && typeof body[Symbol.asyncIterator] === "function")
    return { stream: ReadableStream.from(body) };
  return { bytes: encodeUTF8(String(body).toWellFormed()), type: "text/plain;charset=UTF-8" };
}

async function collect(stream) {
  const chunks = [];
  for await (const chunk of stream) {
    if (!isBytes(chunk)) throw new TypeError("The chunks of a body must be Uint8Arrays");
    chunks.push(bytesOf(chunk));
  }
  return chunks.length === 1 ? chunks[0] : concat(chunks);
}

export class Body {
  #source; // { bytes } or { stream }, or null
  #stream; // made at the first access
  #used = false;

  constructor(source) {
    this.#source = source;
  }

  get body() {
    if (!this.#source) return null;
    if (this.#source.stream) return this.#source.stream;
    this.#stream ??= streamOf(this.#source.bytes);
    return this.#stream;
  }
  get bodyUsed() {
    const stream = this.#source?.stream ?? this.#stream;
    return this.#used || Boolean(stream && disturbed(stream));
  }

  async bytes() {
    if (this.bodyUsed) throw new TypeError("Body is unusable: Body has already been read");
    if (!this.#source) return new Uint8Array(0);
    const stream = this.#source.stream ?? this.#stream;
    if (stream?.locked) throw new TypeError("Body is unusable: its stream is locked");
    this.#used = true;
    return stream ? collect(stream) : this.#source.bytes;
  }
  async text() {
    return decodeUTF8(await this.bytes()).replace(/^\ufeff/, "");
  }
  async json() {
    return JSON.parse(await this.text());
  }
  async arrayBuffer() {
    const bytes = await this.bytes();
    return bytes.byteLength === bytes.buffer.byteLength ? bytes.buffer : bytes.slice().buffer;
  }
  async blob() {
    return new Blob([await this.bytes()], { type: this.headers.get("content-type") ?? "" });
  }
  async formData() {
    const type = this.headers.get("content-type") ?? "";
    if (!type.startsWith("application/x-www-form-urlencoded")) {
      throw new TypeError(`formData() of the type "${type}" is not available in this runtime: read text() or bytes()`);
    }
    const form = new FormData();
    for (const [name, value] of new URLSearchParams(await this.text())) form.append(name, value);
    return form;
  }

  /** Two bodies where there was one. */
  static fork(body) {
    if (body.bodyUsed || body.body?.locked) throw new TypeError("The body was read already, and cannot be cloned");
    if (!body.#source?.stream) return body.#source;
    const [mine, other] = body.#source.stream.tee();
    body.#source = { ...body.#source, stream: mine };
    return { ...body.#source, stream: other };
  }

  /** The body as Go takes it. */
  static async encode(body) {
    return body.#source ? toBase64(await body.bytes()) : null;
  }

  /** Moves the body to another request. */
  static take(body) {
    if (body.bodyUsed)
      throw new TypeError("Cannot construct a Request with a Request object that has already been used.");
    if (body.#source) body.#used = true;
    return body.#source;
  }
}

const { fork, encode, take } = Body;
delete Body.fork;
delete Body.encode;
delete Body.take;
export { fork, encode, take };
