// Requests to Go about files, and the errors that Node.js has for them.
import { host } from "../prelude/host.js";
import { fileURLToPath } from "../node/url.cjs";
import { resolve } from "../node/path.cjs";

const errnos = {
  ENOENT: -2,
  EBADF: -9,
  EACCES: -13,
  EBUSY: -16,
  EEXIST: -17,
  ENOTDIR: -20,
  EISDIR: -21,
  EINVAL: -22,
  EMFILE: -24,
  EFBIG: -27,
  ENOSPC: -28,
  ENAMETOOLONG: -36,
  ENOTEMPTY: -39,
  ELOOP: -40,
};

export function failure(message, code, syscall, path) {
  const error = Object.assign(new Error(message), { errno: errnos[code], code, syscall });
  if (path !== undefined) error.path = path;
  return error;
}

export function invalid(message, code = "ERR_INVALID_ARG_TYPE", Kind = TypeError) {
  return Object.assign(new Kind(message), { code });
}

export function pathOf(path, name = "path") {
  if (path instanceof URL) return fileURLToPath(path);
  if (path instanceof Uint8Array) return new TextDecoder().decode(path);
  if (typeof path === "string") return path;
  throw invalid(`The "${name}" argument must be of type string or an instance of Buffer or URL.`);
}

/** Asks Go to do something with a file. */
export function ask(op, call, given, more) {
  const path = pathOf(given);
  try {
    return host("files", { ...more, op, call, path: path === "" ? "" : resolve(path), shown: path });
  } catch (error) {
    throw failure(error.message, error.code, call, path);
  }
}

export function refuse(call, path) {
  return failure(
    `EACCES: permission denied, ${call} '${path}': this runtime gives agents read access to their own directory, and write access to os.tmpdir()`,
    "EACCES",
    call,
    path,
  );
}

/** The bytes of what a function of node:fs is given to write. */
export function bytesOf(data, encoding) {
  if (typeof data === "string") return Buffer.from(data, encoding ?? "utf8");
  if (ArrayBuffer.isView(data)) return Buffer.from(data.buffer, data.byteOffset, data.byteLength);
  throw invalid(
    'The "data" argument must be of type string or an instance of Buffer, TypedArray, or DataView.',
  );
}

export const encodingOf = (options) => (typeof options === "string" ? options : options?.encoding);

/** A mode as a number; texts are octal. */
export function modeOf(mode, otherwise) {
  if (mode === undefined || mode === null) return otherwise;
  if (typeof mode === "string") return Number.parseInt(mode, 8);
  return mode;
}

/** The parts of a flag such as "w+". */
export function flagsOf(flags = "r") {
  if (typeof flags === "number") {
    return {
      read: (flags & 3) !== 1,
      write: (flags & 3) !== 0,
      create: (flags & 64) !== 0,
      exclusive: (flags & 128) !== 0,
      truncate: (flags & 512) !== 0,
      append: (flags & 1024) !== 0,
    };
  }
  const known = /^(?:r|rs|sr|w|a|as|sa|wx|xw|ax|xa)\+?$/.test(flags);
  if (!known) throw invalid(`The argument 'flags' is invalid. Received '${flags}'`, "ERR_INVALID_ARG_VALUE");
  const [append, write] = [flags.includes("a"), flags.includes("w")];
  return {
    read: flags.includes("r") || flags.includes("+"),
    write: write || append || flags.includes("+"),
    create: write || append,
    exclusive: flags.includes("x"),
    truncate: write,
    append,
  };
}
