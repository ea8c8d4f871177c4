import { derive, destroy, invalidChunk, state, Stream } from "./base.js";
import { Readable } from "./readable.js";

function writeState(stream) {
  return state(stream, "_writableState", () => ({
    queue: [],
    length: 0,
    writing: false,
    ending: false,
    finished: false,
    objectMode: false,
    highWaterMark: 16384,
    needDrain: false,
    decodeStrings: true,
    defaultEncoding: "utf8",
  }));
}

export function Writable(options = {}) {
  if (!(this instanceof Writable)) return new Writable(options);
  Stream.call(this);
  writableOptions(this, options);
}

function writableOptions(stream, options) {
  const s = writeState(stream);
  s.objectMode = Boolean(options.objectMode ?? options.writableObjectMode);
  s.highWaterMark = options.highWaterMark ?? options.writableHighWaterMark ?? (s.objectMode ? 16 : 16384);
  s.decodeStrings = options.decodeStrings !== false;
  for (const name of ["write", "writev", "final", "destroy"])
    if (typeof options[name] === "function") stream[`_${name}`] = options[name];
}

const writing = {
  get writableEnded() {
    return writeState(this).ending;
  },
  get writableFinished() {
    return writeState(this).finished;
  },
  get writableLength() {
    return writeState(this).length;
  },
  get writableObjectMode() {
    return writeState(this).objectMode;
  },
  get writableHighWaterMark() {
    return writeState(this).highWaterMark;
  },
  get writableNeedDrain() {
    return writeState(this).needDrain;
  },
  write(chunk, encoding, done) {
    if (typeof encoding === "function") [encoding, done] = [undefined, encoding];
    const s = writeState(this);
    const fail = (error) => {
      if (done) process.nextTick(done, error);
      this.destroy(error);
      return false;
    };
    if (s.ending) return fail(Object.assign(new Error("write after end"), { code: "ERR_STREAM_WRITE_AFTER_END" }));
    if (this.destroyed)
      return fail(
        Object.assign(new Error("Cannot call write after a stream was destroyed"), { code: "ERR_STREAM_DESTROYED" }),
      );
    if (chunk === null)
      throw Object.assign(new TypeError("May not write null values to stream"), { code: "ERR_STREAM_NULL_VALUES" });
    if (!s.objectMode) {
      if (typeof chunk === "string") {
        if (s.decodeStrings) [chunk, encoding] = [Buffer.from(chunk, encoding), "buffer"];
      } else if (chunk instanceof Uint8Array) {
        [chunk, encoding] = [Buffer.isBuffer(chunk) ? chunk : Buffer.from(chunk), "buffer"];
      } else throw invalidChunk();
    }
    const size = s.objectMode ? 1 : chunk.length;
    s.queue.push({ chunk, encoding: encoding ?? "utf8", done, size });
    s.length += size;
    drain(this);
    if (s.length >= s.highWaterMark) s.needDrain = true;
    return s.length < s.highWaterMark;
  },
  end(chunk, encoding, done) {
    if (typeof chunk === "function") [chunk, done] = [undefined, chunk];
    if (typeof encoding === "function") [encoding, done] = [undefined, encoding];
    if (chunk !== undefined && chunk !== null) this.write(chunk, encoding);
    if (done) this.once("finish", done);
    writeState(this).ending = true;
    drain(this);
    return this;
  },
  _write(chunk, encoding, done) {
    done(Object.assign(new Error("The _write() method is not implemented"), { code: "ERR_METHOD_NOT_IMPLEMENTED" }));
  },
  cork() {},
  uncork() {},
  setDefaultEncoding() {
    return this;
  },
};
derive(Writable, Stream, { destroyed: false, errored: null, closed: false, writable: true, destroy });
Object.defineProperties(Writable.prototype, Object.getOwnPropertyDescriptors(writing));

/** Writes one chunk after the other, and finishes behind the last. */
function drain(stream) {
  const s = writeState(stream);
  if (s.writing || stream.destroyed || s.finished) return;
  const next = s.queue.shift();
  if (!next) {
    if (s.ending) finish(stream, s);
    return;
  }
  s.writing = true;
  let called = false;
  const done = (error) => {
    if (called) return;
    called = true;
    process.nextTick(() => {
      s.writing = false;
      s.length -= next.size;
      next.done?.(error ?? null);
      if (error) return void stream.destroy(error);
      if (s.needDrain && s.length === 0 && !s.ending) {
        s.needDrain = false;
        stream.emit("drain");
      }
      drain(stream);
    });
  };
  try {
    stream._write(next.chunk, next.encoding, done);
  } catch (error) {
    done(error);
  }
}

function finish(stream, s) {
  s.writing = true;
  const done = (error) => {
    if (error) return void stream.destroy(error);
    s.finished = true;
    process.nextTick(() => {
      stream.emit("finish");
      if (!stream._readableState || stream._readableState.endEmitted) stream.destroy();
    });
  };
  if (typeof stream._final === "function") stream._final(done);
  else done();
}

export function Duplex(options = {}) {
  if (!(this instanceof Duplex)) return new Duplex(options);
  Readable.call(this, options);
  writableOptions(this, options);
}
derive(Duplex, Readable, { writable: true });
Object.defineProperties(Duplex.prototype, Object.getOwnPropertyDescriptors(writing));
Object.defineProperty(Writable, Symbol.hasInstance, {
  value(object) {
    const own = Function.prototype[Symbol.hasInstance].call(this, object);
    return own || (this === Writable && Function.prototype[Symbol.hasInstance].call(Duplex, object));
  },
});

export function Transform(options = {}) {
  if (!(this instanceof Transform)) return new Transform(options);
  Duplex.call(this, options);
  for (const name of ["transform", "flush"]) if (typeof options[name] === "function") this[`_${name}`] = options[name];
}
derive(Transform, Duplex, {
  _write(chunk, encoding, done) {
    this._transform(chunk, encoding, (error, out) => {
      if (error) return done(error);
      if (out !== undefined && out !== null) this.push(out);
      done();
    });
  },
  _final(done) {
    const end = (error, out) => {
      if (error) return done(error);
      if (out !== undefined && out !== null) this.push(out);
      this.push(null);
      done();
    };
    if (typeof this._flush === "function") this._flush(end);
    else end();
  },
});

export function PassThrough(options) {
  if (!(this instanceof PassThrough)) return new PassThrough(options);
  Transform.call(this, options);
}
derive(PassThrough, Transform, {
  _transform(chunk, encoding, done) {
    done(null, chunk);
  },
});
