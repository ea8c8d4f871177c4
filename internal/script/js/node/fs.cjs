// Files, to be read: those in the agent's own directory.
const { host, missing } = require("../prelude/host.js");
const { fileURLToPath } = require("./url.cjs");
const { resolve, join } = require("./path.cjs");

const errnos = { ENOENT: -2, EACCES: -13, ENOTDIR: -20, EISDIR: -21, EFBIG: -27, ELOOP: -40 };
const constants = {
  F_OK: 0,
  X_OK: 1,
  W_OK: 2,
  R_OK: 4,
  O_RDONLY: 0,
  O_WRONLY: 1,
  O_RDWR: 2,
  O_CREAT: 64,
  O_EXCL: 128,
  O_TRUNC: 512,
  O_APPEND: 1024,
  COPYFILE_EXCL: 1,
  S_IFMT: 61440,
  S_IFREG: 32768,
  S_IFDIR: 16384,
  S_IFLNK: 40960,
};

function pathOf(path) {
  if (path instanceof URL) return fileURLToPath(path);
  if (path instanceof Uint8Array) return new TextDecoder().decode(path);
  if (typeof path === "string") return path;
  throw Object.assign(
    new TypeError(
      'The "path" argument must be of type string or an instance of Buffer or URL. Descriptors are not available in this runtime',
    ),
    { code: "ERR_INVALID_ARG_TYPE" },
  );
}

function ask(op, call, given) {
  const path = pathOf(given);
  try {
    return host("files", { op, call, path: path === "" ? "" : resolve(path), shown: path });
  } catch (error) {
    throw failure(error.message, error.code, call, path);
  }
}

function failure(message, code, syscall, path) {
  const error = new Error(message);
  return Object.assign(error, { errno: errnos[code], code, syscall, path });
}

function refuse(call, path) {
  return failure(
    `EACCES: permission denied, ${call} '${path}': this runtime gives agents read-only access to their own directory`,
    "EACCES",
    call,
    path,
  );
}

class Stats {
  constructor(info) {
    const type = { file: constants.S_IFREG, directory: constants.S_IFDIR, link: constants.S_IFLNK }[info.kind] ?? 0;
    const time = new Date(info.mtime);
    Object.assign(this, {
      dev: 0,
      ino: 0,
      nlink: 1,
      uid: 1000,
      gid: 1000,
      rdev: 0,
      blksize: 4096,
      blocks: Math.ceil(info.size / 512),
      mode: info.mode | type,
      size: info.size,
    });
    Object.assign(this, {
      atimeMs: info.mtime,
      mtimeMs: info.mtime,
      ctimeMs: info.mtime,
      birthtimeMs: info.mtime,
      atime: time,
      mtime: time,
      ctime: time,
      birthtime: time,
    });
    kinds(this, info.kind);
  }
}

class Dirent {
  constructor(info, dir) {
    Object.assign(this, { name: info.name, parentPath: dir, path: dir });
    kinds(this, info.kind);
  }
}

function kinds(object, kind) {
  for (const [name, of] of [
    ["isFile", "file"],
    ["isDirectory", "directory"],
    ["isSymbolicLink", "link"],
    ["isSocket"],
    ["isFIFO"],
    ["isBlockDevice"],
    ["isCharacterDevice"],
  ]) {
    Object.defineProperty(object, name, { value: () => kind === of });
  }
}

const sync = {
  readFile(path, options) {
    const bytes = Buffer.from(ask("read", "open", path), "base64");
    const encoding = typeof options === "string" ? options : options?.encoding;
    if (options?.flag && !/^r/.test(options.flag)) throw refuse("open", pathOf(path));
    return encoding && encoding !== "buffer" ? bytes.toString(encoding) : bytes;
  },
  stat(path, options) {
    return statOf("stat", path, options);
  },
  lstat(path, options) {
    return statOf("lstat", path, options);
  },
  access(path, mode = 0) {
    ask("stat", "access", path);
    if (mode & constants.W_OK) throw refuse("access", pathOf(path));
  },
  readdir(path, options) {
    const { withFileTypes, recursive } = typeof options === "object" && options ? options : {};
    const top = pathOf(path);
    const list = (dir, under) =>
      ask("list", "scandir", dir).flatMap((info) => {
        const name = under ? `${under}/${info.name}` : info.name;
        const entry = withFileTypes ? new Dirent(info, dir) : name;
        return recursive && info.kind === "directory" ? [entry, ...list(join(dir, info.name), name)] : [entry];
      });
    return list(top, "");
  },
  realpath(path) {
    ask("stat", "realpath", path);
    return resolve(pathOf(path));
  },
  opendir: missing("opendir of node:fs", "use readdir with withFileTypes"),
};

function statOf(call, path, options) {
  try {
    return new Stats(ask(call, call, path));
  } catch (error) {
    if (options?.throwIfNoEntry === false && error.code === "ENOENT") return undefined;
    throw error;
  }
}

// Writing fails with an error that says why.
const writing =
  "appendFile chmod chown copyFile cp fchmod fchown fdatasync fsync ftruncate futimes lchown link lutimes mkdir mkdtemp rename rm rmdir symlink truncate unlink utimes write writeFile writev";
for (const name of writing.split(" ")) {
  sync[name] = (path) => {
    throw refuse(name, typeof path === "number" ? `fd ${path}` : pathOf(path));
  };
}
// Libraries that log write to what others print to.
const outputs = { 1: process.stdout, 2: process.stderr };
const { write, fsync } = sync;
sync.write = (fd, data, offset, length) => {
  if (!outputs[fd]) return write(fd);
  const bytes = typeof data === "string" ? Buffer.from(data) : Buffer.from(data).subarray(offset ?? 0, length === undefined ? undefined : (offset ?? 0) + length);
  outputs[fd].write(bytes.toString());
  return bytes.length;
};
sync.fsync = (fd) => (outputs[fd] ? undefined : fsync(fd));
for (const name of "open close read readv fstat readlink statfs watch watchFile unwatchFile openAsBlob".split(" ")) {
  sync[name] = missing(`${name} of node:fs`, "read whole files with readFile");
}

const callback = (fn) =>
  function (...args) {
    const done = args.pop();
    if (typeof done !== "function")
      throw Object.assign(new TypeError('The "cb" argument must be of type function'), {
        code: "ERR_INVALID_ARG_TYPE",
      });
    let outcome;
    try {
      outcome = [null, fn(...args)];
    } catch (error) {
      outcome = [error];
    }
    process.nextTick(done, ...outcome);
  };

const promises = { constants };
const fs = { constants, Stats, Dirent, promises, ...constants };
for (const [name, fn] of Object.entries(sync)) {
  fs[`${name}Sync`] = fn;
  fs[name] = callback(fn);
  promises[name] = async (...args) => fn(...args);
}
fs.watch = sync.watch;
fs.watchFile = sync.watchFile;
fs.unwatchFile = () => {};
fs.realpathSync.native = sync.realpath;
fs.existsSync = (path) => {
  try {
    return ask("stat", "access", path) !== null;
  } catch {
    return false;
  }
};
fs.exists = (path, done) => process.nextTick(done, fs.existsSync(path));
fs.createReadStream = (path, options) => {
  const { Readable } = require("./stream.cjs");
  const encoding = typeof options === "string" ? options : options?.encoding;
  const stream = Readable.from(
    (async function* () {
      const data = sync.readFile(path, encoding);
      const { start = 0, end = Infinity } = typeof options === "object" && options ? options : {};
      yield data.slice(start, end === Infinity ? undefined : end + 1);
    })(),
    { objectMode: false },
  );
  return Object.assign(stream, { path });
};
fs.createWriteStream = (path) => {
  throw refuse("open", pathOf(path));
};
module.exports = fs;
