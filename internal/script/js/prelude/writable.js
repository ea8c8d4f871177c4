// WritableStream, TransformStream, and what decodes and encodes text on the way.
import { TextDecoder, TextEncoder } from "./encoding.js";
import { ReadableStream } from "./readable.js";

const settled = (promise) => void promise.catch(() => {});

export class WritableStream {
  #sink;
  #controller;
  #state = "writable"; // then closing, closed or errored
  #error;
  #last; // the write before the next: they follow each other
  #pending = 0;
  #highWaterMark;
  #writer = null;
  #ready = Promise.withResolvers();
  #closed = Promise.withResolvers();

  constructor(sink = {}, { highWaterMark = 1 } = {}) {
    this.#sink = sink ?? {};
    this.#highWaterMark = Number(highWaterMark);
    const abort = new AbortController();
    this.#controller = {
      signal: abort.signal,
      error: (reason) => this.#fail(reason),
      stop: (reason) => abort.abort(reason),
    };
    settled(this.#closed.promise);
    settled(this.#ready.promise);
    this.#last = Promise.resolve(this.#sink.start?.(this.#controller));
    this.#last.catch((error) => this.#fail(error));
    if (this.#highWaterMark > 0) this.#ready.resolve();
  }
  get locked() {
    return this.#writer !== null;
  }

  #fail(reason) {
    if (this.#state === "errored" || this.#state === "closed") return;
    this.#state = "errored";
    this.#error = reason;
    this.#ready = Promise.withResolvers();
    settled(this.#ready.promise);
    this.#ready.reject(reason);
    this.#closed.reject(reason);
  }

  #write(chunk) {
    if (this.#state === "errored") return Promise.reject(this.#error);
    if (this.#state !== "writable")
      return Promise.reject(new TypeError("The stream is closed and takes no more chunks"));
    this.#pending++;
    if (this.#pending >= this.#highWaterMark) {
      this.#ready = Promise.withResolvers();
      settled(this.#ready.promise);
    }
    const done = this.#last.then(() => {
      if (this.#state === "errored") throw this.#error;
      return this.#sink.write?.(chunk, this.#controller);
    });
    this.#last = done.then(
      () => {
        this.#pending--;
        if (this.#state === "writable" && this.#pending < this.#highWaterMark) this.#ready.resolve();
      },
      (error) => this.#fail(error),
    );
    return done.then(() => undefined);
  }

  #close() {
    if (this.#state === "errored") return Promise.reject(this.#error);
    if (this.#state !== "writable") return Promise.reject(new TypeError("The stream is closed already"));
    this.#state = "closing";
    const done = this.#last.then(async () => {
      if (this.#state === "errored") throw this.#error;
      await this.#sink.close?.();
      this.#state = "closed";
      this.#closed.resolve();
    });
    done.catch((error) => this.#fail(error));
    return done;
  }

  async #abort(reason) {
    if (this.#state === "errored" || this.#state === "closed") return;
    this.#fail(reason);
    this.#controller.stop(reason);
    await this.#last.catch(() => {});
    await this.#sink.abort?.(reason);
  }

  close() {
    return this.locked
      ? Promise.reject(new TypeError("The stream is locked: close it through its writer"))
      : this.#close();
  }
  abort(reason) {
    return this.locked
      ? Promise.reject(new TypeError("The stream is locked: abort it through its writer"))
      : this.#abort(reason);
  }

  getWriter() {
    if (this.locked) throw new TypeError("The stream is locked to a writer already");
    const stream = this;
    const held = () => {
      if (stream.#writer !== writer) throw new TypeError("The writer has been released");
    };
    const writer = {
      get ready() {
        return stream.#ready.promise;
      },
      get closed() {
        return stream.#closed.promise;
      },
      get desiredSize() {
        held();
        return stream.#state === "errored"
          ? null
          : stream.#state === "closed"
            ? 0
            : stream.#highWaterMark - stream.#pending;
      },
      async write(chunk) {
        held();
        return stream.#write(chunk);
      },
      async close() {
        held();
        return stream.#close();
      },
      async abort(reason) {
        held();
        return stream.#abort(reason);
      },
      releaseLock() {
        if (stream.#writer === writer) stream.#writer = null;
      },
    };
    return (this.#writer = writer);
  }
  get [Symbol.toStringTag]() {
    return "WritableStream";
  }
}

export class TransformStream {
  constructor(transformer = {}, writableStrategy, readableStrategy = { highWaterMark: 0 }) {
    let out;
    // Until a reader asks, nothing more is accepted: a write waits for wanted,
    // and a pull is over when it has been sated.
    let wanted = Promise.withResolvers();
    let sated = Promise.withResolvers();
    const controller = {
      get desiredSize() {
        return out.desiredSize;
      },
      enqueue: (chunk) => {
        out.enqueue(chunk);
        if (out.desiredSize > 0) return;
        wanted = Promise.withResolvers();
        sated.resolve();
      },
      error: (reason) => {
        out.error(reason);
        sink.error(reason);
      },
      terminate: () => {
        out.close();
        sink.error(new TypeError("The stream was ended by its transformer"));
      },
    };
    let sink;
    this.readable = new ReadableStream(
      {
        start: (c) => void (out = c),
        pull: () => {
          sated = Promise.withResolvers();
          wanted.resolve();
          return sated.promise;
        },
        cancel: (reason) => {
          wanted.resolve();
          sink.error(reason);
          return transformer.cancel?.(reason);
        },
      },
      readableStrategy,
    );
    this.writable = new WritableStream(
      {
        start: (c) => {
          sink = c;
          return transformer.start?.(controller);
        },
        async write(chunk) {
          await wanted.promise;
          try {
            if (transformer.transform) await transformer.transform(chunk, controller);
            else controller.enqueue(chunk);
          } catch (error) {
            out.error(error);
            throw error;
          }
        },
        async close() {
          try {
            await transformer.flush?.(controller);
            out.close();
          } catch (error) {
            out.error(error);
            throw error;
          }
        },
        abort: (reason) => out.error(reason),
      },
      writableStrategy,
    );
  }
}

export class TextDecoderStream extends TransformStream {
  constructor(label, options) {
    const decoder = new TextDecoder(label, options);
    super({
      transform(chunk, controller) {
        const text = decoder.decode(chunk, { stream: true });
        if (text) controller.enqueue(text);
      },
      flush(controller) {
        const text = decoder.decode();
        if (text) controller.enqueue(text);
      },
    });
    Object.assign(this, { encoding: decoder.encoding, fatal: decoder.fatal, ignoreBOM: decoder.ignoreBOM });
  }
}

export class TextEncoderStream extends TransformStream {
  constructor() {
    let half = ""; // the first half of a character whose second comes with the next chunk
    const encoder = new TextEncoder();
    super({
      transform(chunk, controller) {
        let text = half + chunk;
        half = /[\ud800-\udbff]$/.test(text) ? text.at(-1) : "";
        text = half ? text.slice(0, -1) : text;
        if (text) controller.enqueue(encoder.encode(text));
      },
      flush(controller) {
        if (half) controller.enqueue(encoder.encode(half));
      },
    });
    this.encoding = "utf-8";
  }
}

export class CountQueuingStrategy {
  constructor({ highWaterMark }) {
    this.highWaterMark = highWaterMark;
    this.size = () => 1;
  }
}

export class ByteLengthQueuingStrategy {
  constructor({ highWaterMark }) {
    this.highWaterMark = highWaterMark;
    this.size = (chunk) => chunk.byteLength;
  }
}
