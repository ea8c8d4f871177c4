// The streams of Node.js, and what they have for those of the web.
const Stream = require("../third_party/readable-stream/lib/stream.js");
const { partial } = require("../prelude/absent.js");

const { Readable, Writable, Duplex, finished } = Stream;

Readable.fromWeb = (stream, options) => {
  const reader = stream.getReader();
  return new Readable({
    ...options,
    read() {
      reader.read().then(
        ({ done, value }) => this.push(done ? null : value),
        (error) => this.destroy(error),
      );
    },
    destroy(error, done) {
      const end = () => done(error);
      reader.cancel(error ?? undefined).then(end, end);
    },
  });
};
Readable.toWeb = (stream) => {
  const items = stream[Symbol.asyncIterator]();
  return new ReadableStream({
    async pull(controller) {
      const { done, value } = await items.next();
      if (done) controller.close();
      else controller.enqueue(value instanceof Uint8Array && !stream.readableObjectMode ? new Uint8Array(value) : value);
    },
    async cancel(reason) {
      stream.destroy(reason);
    },
  });
};
Writable.fromWeb = (stream, options) => {
  const writer = stream.getWriter();
  const settle = (promise, done) => void promise.then(() => done(), done);
  return new Writable({
    ...options,
    write: (chunk, encoding, done) => settle(writer.write(chunk), done),
    final: (done) => settle(writer.close(), done),
    destroy: (error, done) => settle(error ? writer.abort(error) : Promise.resolve(), () => done(error)),
  });
};
Writable.toWeb = (stream) =>
  new WritableStream({
    start: (controller) => void finished(stream, { readable: false }, (error) => error && controller.error(error)),
    write: (chunk) => new Promise((resolve, reject) => stream.write(chunk, (error) => (error ? reject(error) : resolve()))),
    close: () => new Promise((resolve) => stream.end(resolve)),
    abort: (reason) => void stream.destroy(reason),
  });
Duplex.toWeb = (stream) => ({ readable: Readable.toWeb(stream), writable: Writable.toWeb(stream) });
Duplex.fromWeb = ({ readable, writable }, options) =>
  Duplex.from({ readable: Readable.fromWeb(readable, options), writable: Writable.fromWeb(writable, options) });

module.exports = partial("node:stream", Stream, "duplexPair", "use pipeline, or the streams of the web");
