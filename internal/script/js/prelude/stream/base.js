// Streams of Node.js, as far as libraries pass data through them. They are
// functions and not classes: old code calls them without new.
import EventEmitter from "../../node/events.cjs";

export function Stream() {
  EventEmitter.call(this);
}
derive(Stream, EventEmitter, {
  pipe(target, { end = true } = {}) {
    this.on("data", (chunk) => {
      if (target.write(chunk) !== false || !this.pause) return;
      this.pause();
      target.once("drain", () => this.resume());
    });
    if (end && target !== process.stdout && target !== process.stderr) this.once("end", () => target.end());
    target.emit("pipe", this);
    return target;
  },
});

export function derive(type, parent, methods) {
  Object.setPrototypeOf(type, parent);
  type.prototype = Object.create(parent.prototype, {
    constructor: { value: type, writable: true, configurable: true },
  });
  Object.defineProperties(type.prototype, Object.getOwnPropertyDescriptors(methods));
}

/** The private state of a stream; made on demand for those that were not constructed here. */
export function state(stream, key, make) {
  if (!Object.hasOwn(stream, key))
    Object.defineProperty(stream, key, { value: make(), writable: true, configurable: true });
  return stream[key];
}

export const invalidChunk = () =>
  Object.assign(new TypeError('The "chunk" argument must be of type string or an instance of Buffer or Uint8Array'), {
    code: "ERR_INVALID_ARG_TYPE",
  });

export function destroy(error) {
  if (this.destroyed) return this;
  this.destroyed = true;
  const done = (failure) => {
    process.nextTick(() => {
      if (failure) {
        this.errored = failure;
        if (this.listenerCount("error")) this.emit("error", failure);
      }
      this.closed = true;
      this.emit("close");
    });
  };
  if (typeof this._destroy === "function") this._destroy(error ?? null, (e) => done(e ?? error));
  else done(error);
  return this;
}
