// What libraries pass data through; see prelude/stream.
const { partial } = require("../prelude/absent.js");
const { Stream } = require("../prelude/stream/base.js");
const { Readable } = require("../prelude/stream/readable.js");
const { Duplex, PassThrough, Transform, Writable } = require("../prelude/stream/writable.js");

/** Calls back when a stream is over, well or not. */
function finished(stream, options, done = options) {
  let over = false;
  const end = (error) => {
    if (over) return;
    over = true;
    done(error);
  };
  const check = () => {
    const read = !stream._readableState || stream._readableState.endEmitted || options?.readable === false;
    const written = !stream._writableState || stream._writableState.finished || options?.writable === false;
    if (read && written) end();
  };
  stream.on("end", check);
  stream.on("finish", check);
  stream.on("error", end);
  stream.on("close", () => {
    check();
    end(Object.assign(new Error("Premature close"), { code: "ERR_STREAM_PREMATURE_CLOSE" }));
  });
  return () => (over = true);
}

function pipeline(...streams) {
  const done = typeof streams.at(-1) === "function" && streams.length > 1 ? streams.pop() : () => {};
  const all = streams.flat().map((s, i) => (i === 0 && !(s instanceof Stream) ? Readable.from(s) : s));
  let left = all.length;
  let failure;
  for (const stream of all) {
    const isLast = stream === all.at(-1);
    finished(stream, { readable: !isLast, writable: stream !== all[0] }, (error) => {
      if (error && !failure) {
        failure = error;
        for (const other of all) other.destroy();
      }
      if (--left === 0) done(failure);
    });
  }
  return all.reduce((from, to) => from.pipe(to));
}

const promised =
  (fn) =>
  (...args) =>
    new Promise((resolve, reject) => void fn(...args, (error) => (error ? reject(error) : resolve())));
const promises = { pipeline: promised(pipeline), finished: promised(finished) };

module.exports = partial(
  "node:stream",
  Object.assign(Stream, {
    Stream,
    Readable,
    Writable,
    Duplex,
    Transform,
    PassThrough,
    pipeline,
    finished,
    promises,
    isReadable: (s) => Boolean(s?.readable),
    isErrored: (s) => Boolean(s?.errored),
    destroy: (s, e) => s.destroy(e),
  }),
  "addAbortSignal compose duplexPair",
  "use pipeline, or the streams of the web",
);
