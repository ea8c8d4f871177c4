// Files that were opened with fs.promises.open.
import EventEmitter from "../node/events.cjs";
import { ReadStream, WriteStream } from "./streams.js";
import { sync } from "./descriptors.js";

/** Makes the class of handles, from the functions for whole files. */
export function handles(whole) {
  return class FileHandle extends EventEmitter {
    constructor(fd) {
      super();
      this.fd = fd;
    }
    async close() {
      if (this.fd < 0) return;
      const { fd } = this;
      this.fd = -1;
      sync.close(fd);
      this.emit("close");
    }
    async read(buffer, ...rest) {
      if (!ArrayBuffer.isView(buffer)) {
        const { offset, length, position, buffer: into = Buffer.alloc(16384) } = buffer ?? {};
        return { bytesRead: sync.read(this.fd, into, offset, length, position), buffer: into };
      }
      return { bytesRead: sync.read(this.fd, buffer, ...rest), buffer };
    }
    async write(buffer, ...rest) {
      return { bytesWritten: sync.write(this.fd, buffer, ...rest), buffer };
    }
    async readv(buffers, position) {
      return { bytesRead: sync.readv(this.fd, buffers, position), buffers };
    }
    async writev(buffers, position) {
      return { bytesWritten: sync.writev(this.fd, buffers, position), buffers };
    }
    stat = async () => sync.fstat(this.fd);
    truncate = async (size) => sync.ftruncate(this.fd, size);
    chmod = async (mode) => sync.fchmod(this.fd, mode);
    utimes = async (atime, mtime) => sync.futimes(this.fd, atime, mtime);
    sync = async () => sync.fsync(this.fd);
    datasync = async () => sync.fdatasync(this.fd);
    readFile = async (options) => whole.readFile(this.fd, options);
    writeFile = async (data, options) => whole.writeFile(this.fd, data, options);
    appendFile = async (data, options) => whole.writeFile(this.fd, data, options);
    createReadStream(options) {
      return new ReadStream(undefined, { ...options, fd: this.fd });
    }
    createWriteStream(options) {
      return new WriteStream(undefined, { ...options, fd: this.fd });
    }
    readLines(options) {
      return require("../node/readline.cjs").createInterface({ input: this.createReadStream(options), crlfDelay: Infinity });
    }
    [Symbol.asyncDispose ?? Symbol.for("Symbol.asyncDispose")]() {
      return this.close();
    }
  };
}
