// Files: to be read in the agent's own directory, and to be written below os.tmpdir().
const { missing } = require("../prelude/host.js");
const { ask, bytesOf, encodingOf, failure, flagsOf, invalid, modeOf, pathOf, refuse } = require("../fs/ask.js");
const descriptors = require("../fs/descriptors.js");
const { constants, Dirent, Stats } = require("../fs/stats.js");
const { join, resolve } = require("./path.cjs");

const { isDescriptor, times } = descriptors;

const sync = {
  ...descriptors.sync,
  readFile(path, options) {
    const flags = flagsOf(options?.flag);
    if (flags.write && !isDescriptor(path)) descriptors.sync.close(descriptors.sync.open(path, options.flag));
    const bytes = isDescriptor(path) ? rest(path) : Buffer.from(ask("read", "open", path), "base64");
    const encoding = encodingOf(options);
    return encoding && encoding !== "buffer" ? bytes.toString(encoding) : bytes;
  },
  writeFile(path, data, options) {
    const bytes = bytesOf(data, encodingOf(options));
    if (isDescriptor(path)) {
      descriptors.sync.write(path, bytes);
      return;
    }
    const { write, create, exclusive, truncate, append } = flagsOf(options?.flag ?? "w");
    if (!write) throw failure("EBADF: bad file descriptor, write", "EBADF", "write");
    const at = append ? -1 : 0;
    ask("write", "open", path, {
      create,
      exclusive,
      truncate,
      at,
      data: bytes.toString("base64"),
      mode: modeOf(options?.mode, 0o666),
    });
  },
  appendFile(path, data, options) {
    sync.writeFile(path, data, { flag: "a", ...(typeof options === "string" ? { encoding: options } : options) });
  },
  stat(path, options) {
    return statOf("stat", path, options);
  },
  lstat(path, options) {
    return statOf("lstat", path, options);
  },
  access(path, mode = 0) {
    ask("stat", "access", path);
    if (mode & constants.W_OK) ask("writable", "access", path);
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
  mkdir(path, options) {
    const { recursive = false, mode } = typeof options === "object" && options ? options : { mode: options };
    return ask("mkdir", "mkdir", path, { recursive, mode: modeOf(mode, 0o777) }) ?? undefined;
  },
  mkdtemp(prefix) {
    const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
    for (;;) {
      let path = pathOf(prefix, "prefix");
      for (let i = 0; i < 6; i++) path += letters[Math.floor(Math.random() * letters.length)];
      try {
        ask("mkdir", "mkdtemp", path, { mode: 0o700 });
        return path;
      } catch (error) {
        if (error.code !== "EEXIST") throw error;
      }
    }
  },
  rm(path, { recursive = false, force = false } = {}) {
    try {
      if (!recursive && sync.lstat(path).isDirectory())
        throw Object.assign(new Error(`Path is a directory: rm returned EISDIR (is a directory) ${pathOf(path)}`), {
          name: "SystemError",
          code: "ERR_FS_EISDIR",
          errno: 21,
          syscall: "rm",
          path: pathOf(path),
        });
      ask("rm", "rm", path, { recursive });
    } catch (error) {
      if (error.code !== "ENOENT" || !force) throw error;
    }
  },
  rmdir(path, options) {
    if (options?.recursive) ask("rm", "rmdir", path, { recursive: true });
    else ask("rmdir", "rmdir", path);
  },
  unlink: (path) => void ask("unlink", "unlink", path),
  rename: (from, to) => move("rename", "rename", from, to),
  copyFile: (from, to, mode = 0) =>
    move("copy", "copyfile", from, to, { exclusive: (mode & constants.COPYFILE_EXCL) !== 0 }),
  cp(from, to, options = {}) {
    const { recursive = false, force = true, errorOnExist = false, filter } = options;
    const [source, target] = [pathOf(from), pathOf(to)];
    if (filter && !filter(source, target)) return;
    if (sync.stat(source).isDirectory()) {
      if (!recursive)
        throw Object.assign(
          new Error(`Recursive option not enabled, cannot copy a directory: cp returned EISDIR (${source} is a directory (not copied)) ${source}`),
          { name: "SystemError", code: "ERR_FS_EISDIR", errno: 21, syscall: "cp", path: source },
        );
      sync.mkdir(target, { recursive: true });
      for (const name of sync.readdir(source)) sync.cp(join(source, name), join(target, name), options);
      return;
    }
    sync.mkdir(join(target, ".."), { recursive: true });
    const there = sync.stat(target, { throwIfNoEntry: false }) !== undefined;
    if (there && !force) {
      if (!errorOnExist) return;
      throw Object.assign(new Error(`Target already exists: cp returned EEXIST (${target} already exists) ${target}`), {
        name: "SystemError",
        code: "ERR_FS_CP_EEXIST",
        errno: 17,
        syscall: "cp",
        path: target,
      });
    }
    sync.copyFile(source, target);
  },
  truncate(path, size = 0) {
    if (isDescriptor(path)) sync.ftruncate(path, size);
    else ask("truncate", "open", path, { at: size ?? 0 });
  },
  utimes: (path, atime, mtime) => times("utime", path, atime, mtime),
  lutimes: (path, atime, mtime) => times("lutime", path, atime, mtime),
  chmod: (path, mode) => void ask("chmod", "chmod", path, { mode: modeOf(mode) }),
  opendir(path) {
    return new Dir(pathOf(path), sync.readdir(path, { withFileTypes: true }));
  },
};

// Links could lead the server's own programs elsewhere, and there is one user.
for (const name of ["chown", "lchown", "link", "symlink"]) {
  sync[name] = (path) => {
    throw refuse(name, pathOf(path));
  };
}
for (const name of "readlink statfs watch watchFile unwatchFile openAsBlob".split(" ")) {
  sync[name] = missing(`${name} of node:fs`, "read files with readFile, and directories with readdir");
}

// The rest of an open file.
function rest(fd) {
  const parts = [];
  for (;;) {
    const part = Buffer.alloc(1 << 20);
    const length = descriptors.sync.read(fd, part, 0, part.length, null);
    if (length === 0) return Buffer.concat(parts);
    parts.push(part.subarray(0, length));
  }
}

function move(op, call, from, to, more) {
  const dest = pathOf(to, "dest");
  try {
    ask(op, call, from, { to: resolve(dest), ...more });
  } catch (error) {
    error.message = error.message.replace(`${call} '${error.path}'`, `${call} '${error.path}' -> '${dest}'`);
    throw Object.assign(error, { dest });
  }
}

function statOf(call, path, options) {
  try {
    return new Stats(ask(call, call, path));
  } catch (error) {
    if (options?.throwIfNoEntry === false && error.code === "ENOENT") return undefined;
    throw error;
  }
}

class Dir {
  #entries;
  constructor(path, entries) {
    this.path = path;
    this.#entries = entries;
  }
  readSync() {
    return this.#entries.shift() ?? null;
  }
  read(done) {
    if (!done) return Promise.resolve(this.readSync());
    process.nextTick(done, null, this.readSync());
  }
  closeSync() {}
  close(done) {
    if (!done) return Promise.resolve();
    process.nextTick(done, null);
  }
  async *[Symbol.asyncIterator]() {
    for (let entry = this.readSync(); entry; entry = this.readSync()) yield entry;
  }
}

// What the callbacks of these get after the number, and the promises beside it.
const second = { read: "buffer", write: "buffer", readv: "buffers", writev: "buffers" };
const firstName = { read: "bytesRead", write: "bytesWritten", readv: "bytesRead", writev: "bytesWritten" };
const promisified = Symbol.for("nodejs.util.promisify.custom");

const callback = (name, fn) => {
  const called = function (...args) {
    const done = args.pop();
    if (typeof done !== "function") throw invalid('The "cb" argument must be of type function');
    let outcome;
    try {
      outcome = [null, fn(...args)];
      if (second[name]) outcome.push(args[1]);
    } catch (error) {
      if (error.code === "ERR_INVALID_ARG_TYPE") throw error;
      outcome = [error];
    }
    process.nextTick(done, ...outcome);
  };
  if (second[name])
    called[promisified] = async (...args) => ({ [firstName[name]]: fn(...args), [second[name]]: args[1] });
  return called;
};

const promises = { constants };
const fs = { constants, Stats, Dirent, Dir, promises, ...constants };
for (const [name, fn] of Object.entries(sync)) {
  fs[`${name}Sync`] = fn;
  fs[name] = callback(name, fn);
  if (!(name in descriptors.sync)) promises[name] = async (...args) => fn(...args);
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
fs.exists[promisified] = async (path) => fs.existsSync(path);

// Streams are loaded when they are needed.
const handled = (promise) => promise.fd ?? promise;
promises.open = async (...args) => {
  const { handles } = require("../fs/handle.js");
  promises.FileHandle ??= handles(sync);
  return new promises.FileHandle(sync.open(...args));
};
for (const name of ["readFile", "writeFile", "appendFile"]) {
  const fn = sync[name];
  promises[name] = async (path, ...args) => {
    if (name === "writeFile" && args[0]?.[Symbol.asyncIterator]) args[0] = Buffer.concat(await Array.fromAsync(args[0], (part) => Buffer.from(part)));
    args.at(-1)?.signal?.throwIfAborted();
    return fn(handled(path), ...args);
  };
}
for (const name of ["ReadStream", "WriteStream"]) {
  let own;
  Object.defineProperty(fs, name, {
    enumerable: true,
    configurable: true,
    get: () => own ?? require("../fs/streams.js")[name],
    set: (other) => (own = other),
  });
  fs[`create${name}`] = (path, options) => new (require("../fs/streams.js")[name])(path, options);
}
module.exports = fs;
