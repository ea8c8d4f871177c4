// File descriptors. Go keeps no file open for one: a descriptor is a path with a
// position, so code that forgets to close it costs the server nothing.
import { ask, bytesOf, failure, flagsOf, invalid, modeOf, pathOf, refuse } from "./ask.js";
import { Stats } from "./stats.js";
import { resolve } from "../node/path.cjs";

const open = new Map();
const most = 1024;
let next = 3; // after those of the process

// Libraries that log write to what others print to.
const outputs = { 1: process.stdout, 2: process.stderr };

function of(fd, call) {
  if (typeof fd !== "number") throw invalid('The "fd" argument must be of type number.');
  const file = open.get(fd);
  if (!file) throw failure("EBADF: bad file descriptor, " + call, "EBADF", call);
  return file;
}

export const isDescriptor = (path) => typeof path === "number";
export const pathOfDescriptor = (fd, call) => of(fd, call).path;

export const sync = {
  open(path, flags = "r", mode) {
    const file = { ...flagsOf(flags ?? "r"), path: resolve(pathOf(path)), position: 0 };
    if (file.write) {
      const { create, exclusive, truncate } = file;
      ask("write", "open", path, { create, exclusive, truncate, at: 0, data: "", mode: modeOf(mode, 0o666) });
    } else ask("stat", "open", path);
    if (open.size >= most)
      throw failure(`EMFILE: too many open files, open '${pathOf(path)}'`, "EMFILE", "open", pathOf(path));
    open.set(next, file);
    return next++;
  },

  close(fd) {
    of(fd, "close");
    open.delete(fd);
  },

  read(fd, buffer, offset, length, position) {
    if (buffer && !ArrayBuffer.isView(buffer)) ({ buffer, offset, length, position } = buffer);
    else if (typeof offset === "object" && offset) ({ offset, length, position } = offset);
    const file = of(fd, "read");
    if (!file.read) throw failure("EBADF: bad file descriptor, read", "EBADF", "read");
    offset ??= 0;
    length ??= buffer.byteLength - offset;
    if (offset < 0 || length < 0 || offset + length > buffer.byteLength)
      throw invalid('The value of "length" is out of range.', "ERR_OUT_OF_RANGE", RangeError);
    if (length === 0) return 0;
    const given = typeof position === "bigint" || (typeof position === "number" && position >= 0);
    const at = given ? Number(position) : file.position;
    const bytes = Buffer.from(ask("read", "read", file.path, { at, length }), "base64");
    bytes.copy(new Uint8Array(buffer.buffer, buffer.byteOffset + offset, length));
    if (!given) file.position += bytes.length;
    return bytes.length;
  },

  write(fd, data, offset, length, position) {
    let bytes;
    if (typeof data === "string") {
      bytes = Buffer.from(data, typeof length === "string" ? length : "utf8");
      position = offset;
    } else {
      if (typeof offset === "object" && offset) ({ offset, length, position } = offset);
      bytes = bytesOf(data);
      offset ??= 0;
      bytes = bytes.subarray(offset, length === undefined || length === null ? undefined : offset + length);
    }
    if (outputs[fd]) {
      outputs[fd].write(bytes.toString());
      return bytes.length;
    }
    const file = of(fd, "write");
    if (!file.write) throw failure("EBADF: bad file descriptor, write", "EBADF", "write");
    const given = typeof position === "number" && position >= 0;
    const at = file.append ? -1 : given ? position : file.position;
    ask("write", "write", file.path, { at, data: bytes.toString("base64") });
    if (!given && !file.append) file.position += bytes.length;
    return bytes.length;
  },

  readv(fd, buffers, position) {
    let all = 0;
    for (const buffer of buffers) {
      const n = sync.read(fd, buffer, 0, buffer.byteLength, typeof position === "number" ? position + all : null);
      all += n;
      if (n < buffer.byteLength) break;
    }
    return all;
  },

  writev(fd, buffers, position) {
    let all = 0;
    for (const buffer of buffers)
      all += sync.write(fd, buffer, 0, buffer.byteLength, typeof position === "number" ? position + all : null);
    return all;
  },

  fstat: (fd) => new Stats(ask("stat", "fstat", of(fd, "fstat").path)),
  ftruncate(fd, size = 0) {
    const file = of(fd, "ftruncate");
    if (!file.write) throw failure("EINVAL: invalid argument, ftruncate", "EINVAL", "ftruncate");
    ask("truncate", "ftruncate", file.path, { at: size });
  },
  futimes: (fd, atime, mtime) => times("futimes", of(fd, "futimes").path, atime, mtime),
  fchmod: (fd, mode) => void ask("chmod", "fchmod", of(fd, "fchmod").path, { mode: modeOf(mode) }),
  fsync: (fd) => void (outputs[fd] || of(fd, "fsync")),
  fdatasync: (fd) => void (outputs[fd] || of(fd, "fdatasync")),
  fchown(fd) {
    throw refuse("fchown", of(fd, "fchown").path);
  },
};

/** Sets the times of a file: dates, or seconds. */
export function times(call, path, atime, mtime) {
  const ms = (time) => (time instanceof Date ? time.getTime() : Number(time) * 1000);
  ask("utimes", call, path, { atime: ms(atime), mtime: ms(mtime) });
}
