// What node:fs says about files.
export const constants = {
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
  COPYFILE_FICLONE: 2,
  COPYFILE_FICLONE_FORCE: 4,
  S_IFMT: 61440,
  S_IFREG: 32768,
  S_IFDIR: 16384,
  S_IFLNK: 40960,
};

export class Stats {
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

export class Dirent {
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
