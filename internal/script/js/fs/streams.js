// Streams of files.
import { Readable, Writable } from "../node/stream.cjs";
import { encodingOf, invalid, pathOf } from "./ask.js";
import { sync } from "./descriptors.js";

const optionsOf = (options) => (typeof options === "string" ? { encoding: options } : { ...options });

// Opens the file of a stream on the next tick, as Node.js does, so that listeners are
// there, and calls done when the stream can go on.
function opens(stream, path, flags, { fd, mode }) {
  stream.path = path === undefined || path === null ? undefined : path;
  stream.fd = fd?.fd ?? fd ?? null;
  stream.pending = stream.fd === null;
  if (!stream.pending) return;
  pathOf(path);
  process.nextTick(() => {
    try {
      stream.fd = sync.open(path, flags, mode);
    } catch (error) {
      stream.destroy(error);
      return;
    }
    stream.pending = false;
    stream.emit("open", stream.fd);
    stream.emit("ready");
    stream.opened?.();
  });
}

function closes(stream, error, done) {
  const { fd } = stream;
  stream.fd = null;
  try {
    if (fd !== null && stream.autoClose) sync.close(fd);
  } catch (failed) {
    error ??= failed;
  }
  done(error);
}

function close(stream, done) {
  if (done) stream.destroyed ? process.nextTick(done) : stream.once("close", done);
  stream.destroy();
}

export class ReadStream extends Readable {
  constructor(path, options) {
    const given = optionsOf(options);
    super({
      highWaterMark: given.highWaterMark ?? 64 * 1024,
      encoding: encodingOf(options),
      signal: given.signal,
      emitClose: given.emitClose,
    });
    const { start, end = Infinity, autoClose = true } = given;
    if (start !== undefined && start > end)
      throw invalid(
        `The value of "start" is out of range. It must be <= "end" (here: ${end}). Received ${start}`,
        "ERR_OUT_OF_RANGE",
        RangeError,
      );
    Object.assign(this, { start, end, autoClose, bytesRead: 0, flags: given.flags ?? "r", mode: given.mode ?? 0o666 });
    this.pos = start;
    opens(this, path, this.flags, given);
  }
  _read(size) {
    if (this.pending) {
      this.opened = () => this._read(size);
      return;
    }
    const length = Math.min(size, this.end === Infinity ? Infinity : this.end - (this.start ?? 0) + 1 - this.bytesRead);
    if (length <= 0) return void this.push(null);
    const buffer = Buffer.alloc(length);
    let read;
    try {
      read = sync.read(this.fd, buffer, 0, length, this.pos ?? null);
    } catch (error) {
      this.destroy(error);
      return;
    }
    if (this.pos !== undefined) this.pos += read;
    this.bytesRead += read;
    // A stream asks for more at once if it gets something at once.
    process.nextTick(() => this.push(read > 0 ? buffer.subarray(0, read) : null));
  }
  _destroy(error, done) {
    closes(this, error, done);
  }
  close(done) {
    close(this, done);
  }
}

export class WriteStream extends Writable {
  constructor(path, options) {
    const given = optionsOf(options);
    super({
      highWaterMark: given.highWaterMark,
      decodeStrings: true,
      signal: given.signal,
      emitClose: given.emitClose,
      autoDestroy: given.autoClose ?? true,
    });
    const { start, autoClose = true } = given;
    Object.assign(this, { start, autoClose, bytesWritten: 0, flags: given.flags ?? "w", mode: given.mode ?? 0o666 });
    this.pos = start;
    if (given.encoding) this.setDefaultEncoding(given.encoding);
    opens(this, path, this.flags, given);
  }
  _write(chunk, encoding, done) {
    if (this.pending) {
      this.opened = () => this._write(chunk, encoding, done);
      return;
    }
    try {
      const written = sync.write(this.fd, chunk, 0, chunk.length, this.pos);
      this.bytesWritten += written;
      if (this.pos !== undefined) this.pos += written;
    } catch (error) {
      done(error);
      return;
    }
    done();
  }
  _final(done) {
    if (this.pending) this.opened = done;
    else done();
  }
  _destroy(error, done) {
    closes(this, error, done);
  }
  close(done) {
    if (done) this.destroyed ? process.nextTick(done) : this.once("close", done);
    if (!this.autoClose) this.once("finish", () => this.destroy());
    this.end();
  }
}
