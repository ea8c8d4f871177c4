import EventEmitter from "../../node/events.cjs";
import { StringDecoder } from "../../node/string_decoder.cjs";
import { derive, destroy, invalidChunk, state, Stream } from "./base.js";

function readState(stream) {
  return state(stream, "_readableState", () => ({
    buffer: [],
    length: 0,
    flowing: null,
    ended: false,
    endEmitted: false,
    reading: false,
    objectMode: false,
    highWaterMark: 65536,
    decoder: null,
    encoding: null,
    scheduled: false,
  }));
}

export function Readable(options = {}) {
  if (!(this instanceof Readable)) return new Readable(options);
  Stream.call(this);
  const s = readState(this);
  s.objectMode = Boolean(options.objectMode ?? options.readableObjectMode);
  s.highWaterMark = options.highWaterMark ?? options.readableHighWaterMark ?? (s.objectMode ? 16 : 65536);
  if (options.encoding) this.setEncoding(options.encoding);
  if (typeof options.read === "function") this._read = options.read;
  if (typeof options.destroy === "function") this._destroy = options.destroy;
  options.signal?.addEventListener("abort", () => this.destroy(options.signal.reason), { once: true });
}

derive(Readable, Stream, {
  destroyed: false,
  errored: null,
  closed: false,
  readable: true,
  destroy,
  _read() {},
  get readableFlowing() {
    return readState(this).flowing;
  },
  get readableEnded() {
    return readState(this).endEmitted;
  },
  get readableLength() {
    return readState(this).length;
  },
  get readableObjectMode() {
    return readState(this).objectMode;
  },
  get readableHighWaterMark() {
    return readState(this).highWaterMark;
  },
  setEncoding(encoding) {
    const s = readState(this);
    s.decoder = new StringDecoder(encoding);
    s.encoding = encoding;
    s.buffer = s.buffer.map((chunk) => s.decoder.write(chunk));
    return this;
  },
  push(chunk, encoding) {
    const s = readState(this);
    s.reading = false;
    if (chunk === null) {
      const rest = s.decoder?.end();
      if (rest) s.buffer.push(rest);
      s.ended = true;
    } else if (s.ended) {
      this.destroy(Object.assign(new Error("stream.push() after EOF"), { code: "ERR_STREAM_PUSH_AFTER_EOF" }));
      return false;
    } else {
      if (!s.objectMode) {
        if (typeof chunk === "string") chunk = s.encoding ? chunk : Buffer.from(chunk, encoding);
        else if (!(chunk instanceof Uint8Array)) throw invalidChunk();
        else if (s.decoder) chunk = s.decoder.write(chunk);
        else if (!Buffer.isBuffer(chunk)) chunk = Buffer.from(chunk);
      }
      if (s.objectMode || chunk.length) {
        s.buffer.push(chunk);
        s.length += s.objectMode ? 1 : chunk.length;
      }
    }
    schedule(this);
    return s.length < s.highWaterMark;
  },
  unshift(chunk) {
    const s = readState(this);
    s.buffer.unshift(chunk);
    s.length += s.objectMode ? 1 : chunk.length;
    schedule(this);
  },
  read(size) {
    const s = readState(this);
    let chunk = null;
    if (s.buffer.length && size !== 0) {
      if (s.objectMode) chunk = s.buffer.shift();
      else {
        const all = s.buffer.length === 1 ? s.buffer[0] : s.encoding ? s.buffer.join("") : Buffer.concat(s.buffer);
        if (size !== undefined && size < all.length) {
          chunk = all.slice(0, size);
          s.buffer = [all.slice(size)];
        } else if (size === undefined || size === all.length || s.ended) {
          chunk = all;
          s.buffer = [];
        }
      }
      if (chunk !== null) s.length -= s.objectMode ? 1 : chunk.length;
      if (chunk !== null) this.emit("data", chunk);
    }
    fill(this);
    schedule(this);
    return chunk;
  },
  on(name, listener) {
    EventEmitter.prototype.on.call(this, name, listener);
    return listened(this, name);
  },
  once(name, listener) {
    EventEmitter.prototype.once.call(this, name, listener);
    return listened(this, name);
  },
  addListener(name, listener) {
    return this.on(name, listener);
  },
  resume() {
    readState(this).flowing = true;
    schedule(this);
    return this;
  },
  pause() {
    readState(this).flowing = false;
    return this;
  },
  isPaused() {
    return readState(this).flowing === false;
  },
  unpipe() {
    this.removeAllListeners("data");
    return this;
  },
  async *[Symbol.asyncIterator]() {
    const s = readState(this);
    let wake = () => {};
    let failure = null;
    const poke = () => wake();
    this.once("error", (error) => {
      failure = { error };
      poke();
    });
    this.once("close", poke);
    this.once("end", poke);
    this.on("readable", poke);
    try {
      for (;;) {
        const chunk = this.read();
        if (chunk !== null) yield chunk;
        else if (failure) throw failure.error;
        else if (s.endEmitted || this.closed) return;
        else await new Promise((resolve) => (wake = resolve));
      }
    } finally {
      this.removeListener("readable", poke);
      if (!s.endEmitted) this.destroy();
    }
  },
  async toArray() {
    return Array.fromAsync(this);
  },
});

/** A listener for data, or for when there is some, makes a stream read. */
function listened(stream, name) {
  const s = readState(stream);
  if (name === "data" && s.flowing !== false) stream.resume();
  if (name === "readable") {
    s.flowing = false;
    fill(stream);
    schedule(stream);
  }
  return stream;
}

/** Asks for more if there is room. */
function fill(stream) {
  const s = readState(stream);
  if (s.ended || s.reading || stream.destroyed || s.length >= s.highWaterMark) return;
  s.reading = true;
  try {
    stream._read(s.highWaterMark);
  } catch (error) {
    stream.destroy(error);
  }
}

/** Hands out what is there, a little later. */
function schedule(stream) {
  const s = readState(stream);
  if (s.scheduled) return;
  s.scheduled = true;
  process.nextTick(() => {
    s.scheduled = false;
    if (stream.destroyed) return;
    while (s.flowing && s.buffer.length) {
      const chunk = s.buffer.shift();
      s.length -= s.objectMode ? 1 : chunk.length;
      stream.emit("data", chunk);
    }
    if (s.flowing) fill(stream);
    if (s.buffer.length || s.ended) stream.emit("readable");
    if (s.ended && !s.buffer.length && !s.endEmitted && s.flowing !== null) {
      s.endEmitted = true;
      stream.emit("end");
      if (!stream._writableState || stream._writableState.finished) stream.destroy();
    }
  });
}

Readable.from = (source, options = {}) => {
  if (typeof source === "string" || source instanceof Uint8Array) source = [source];
  const iterator = source[Symbol.asyncIterator]?.() ?? source[Symbol.iterator]();
  return new Readable({
    objectMode: true,
    ...options,
    async read() {
      try {
        const { done, value } = await iterator.next();
        this.push(done ? null : await value);
      } catch (error) {
        this.destroy(error);
      }
    },
    destroy(error, done) {
      Promise.resolve(iterator.return?.()).then(() => done(error), done);
    },
  });
};
Readable.fromWeb = (stream, options) => Readable.from(stream, { objectMode: false, ...options });
Readable.toWeb = (stream) => ReadableStream.from(stream);
