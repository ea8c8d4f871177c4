// Sockets of Node.js over those of Go.
import { ask, requestStream } from "../guest.js";
import { fromBase64, toBase64 } from "./bytes.js";
import { derive } from "./derive.js";
import { addAbortSignal, Duplex } from "../node/stream.cjs";

const numbers = {
  EAI_AGAIN: -3001,
  ECONNREFUSED: -111,
  ECONNRESET: -104,
  EHOSTUNREACH: -113,
  ENOTFOUND: -3008,
  EPIPE: -32,
  ETIMEDOUT: -110,
};

/** An error of Go as Node.js words it. */
export function systemError(error, syscall, { host, port } = {}) {
  const code = error.code === "UND_ERR_SOCKET" ? "ECONNRESET" : error.code; // the other one is of fetch
  const errno = numbers[code];
  if (!errno) return error;
  const named = code === "ENOTFOUND" || code === "EAI_AGAIN";
  if (named) syscall = "getaddrinfo";
  const where = host === undefined ? "" : named ? ` ${host}` : ` ${host}:${port}`;
  const made = new Error(`${syscall} ${code}${where}`, { cause: error });
  Object.assign(made, { errno, code, syscall });
  if (host === undefined) return made;
  return Object.assign(made, named ? { hostname: host } : { address: host, port });
}

const pieceSize = 1 << 20; // bytes that are sent at once
const ahead = 64 << 10; // bytes that count as sent before they are, as with the buffer of a kernel

// The connection of a socket; that of a plain one can go over to one with TLS.
class Connection {
  constructor(owner, params) {
    this.owner = owner;
    this.stop = new AbortController();
    this.items = requestStream("socket", params, undefined, this.stop.signal);
    this.receiving = false;
    this.closed = false;
    this.sent = Promise.resolve(); // all that was to be sent so far
    this.unsent = 0; // bytes
  }
  async open() {
    this.head = (await this.items.next()).value;
    return this.head;
  }
  async receive() {
    if (this.receiving || this.closed) return;
    this.receiving = true;
    try {
      const { done, value } = await this.items.next();
      this.receiving = false;
      if (this.closed || done) return;
      if (value.secure !== Boolean(this.owner.encrypted)) {
        const early = new Error("the other side has sent data before TLS has begun");
        throw Object.assign(early, { code: "EPROTO" });
      }
      this.owner[arrived](value.data);
    } catch (error) {
      this.receiving = false;
      if (!this.closed) this.owner.destroy(systemError(error, "read"));
    }
  }
  send(bytes, end) {
    this.unsent += bytes.length;
    this.sent = this.sent.then(async () => {
      for (let at = 0; at < bytes.length; at += pieceSize) await this.put(bytes.subarray(at, at + pieceSize), false);
      if (end) await this.put(new Uint8Array(), true);
      this.unsent -= bytes.length;
    });
    this.sent.catch(() => {});
    return this.sent;
  }
  put(bytes, end) {
    return ask("socket.send", { socket: this.head.socket, data: toBase64(bytes), end });
  }
  close() {
    this.closed = true;
    this.stop.abort(); // while an item is awaited, return would wait, too
    this.items.return().catch(() => {});
  }
}

export const connection = Symbol("the connection of a socket");
export const settled = Symbol("the connection is open");
export const begin = Symbol("do what was asked for before");
const [open, own, whenOpen, arrived, waiting, timer, touch, touched, expect] = Array.from("123456789", (n) => Symbol(`of a socket ${n}`));

export function Socket(options = {}) {
  if (!(this instanceof Socket)) return new Socket(options);
  if (typeof options !== "object" || options?.fd !== undefined || options?.handle)
    throw new Error("Sockets over file descriptors are not available in this runtime");
  Duplex.call(this, { highWaterMark: options?.highWaterMark, allowHalfOpen: Boolean(options?.allowHalfOpen) });
  this.connecting = false;
  this.bytesRead = this.bytesWritten = this.timeout = 0;
  this[connection] = null;
  this[waiting] = [];
  if (options?.signal) addAbortSignal(options.signal, this);
}

const familyOf = (address) => (address?.includes(":") ? "IPv6" : address ? "IPv4" : undefined);

/** The options and the callback in the arguments of connect. */
export function connectArguments(args) {
  const callback = typeof args.at(-1) === "function" ? args.at(-1) : undefined;
  const [first, second, third] = args;
  if (Array.isArray(first)) return connectArguments(first);
  if (first && typeof first === "object") return [first, callback];
  const options = typeof first === "string" && !/^\d+$/.test(first) ? { path: first } : { port: first };
  if (typeof second === "string") options.host = second;
  for (const more of [second, third]) if (more && typeof more === "object") Object.assign(options, more);
  return [options, callback];
}

derive(Socket, Duplex, {
  encrypted: undefined,
  connect(...args) {
    const [options, callback] = connectArguments(args);
    if (options.path)
      throw Object.assign(new Error("Unix sockets are not available in this runtime: connect to a host and a port"), {
        code: "ERR_FEATURE_UNAVAILABLE_ON_PLATFORM",
      });
    const port = Number(options.port);
    if (options.port === undefined || !Number.isInteger(port) || port < 0 || port > 65535)
      throw Object.assign(new RangeError(`Port should be >= 0 and < 65536. Received ${options.port}.`), {
        code: "ERR_SOCKET_BAD_PORT",
      });
    const host = String(options.host ?? "localhost");
    if (callback) this.once(this.encrypted ? "secureConnect" : "connect", callback);
    if (options.timeout) this.setTimeout(options.timeout);
    this._host = host;
    this.connecting = true;
    this[open](host, port, options);
    return this;
  },
  async [open](host, port, options) {
    try {
      const address = typeof options.lookup === "function" ? await lookUp(options, host) : host;
      if (this.destroyed) return;
      const params = { host: address, port, family: Number(options.family) || 0, tls: this.handshake?.() };
      const made = (this[connection] = new Connection(this, params));
      const head = await made.open();
      if (!this.destroyed) this[settled](head.tls);
    } catch (error) {
      this.connecting = false;
      this.destroy(systemError(error, "connect", { host, port }));
    }
  },
  [settled]() {
    this.connecting = false;
    this[touch]();
    this.emit("connect");
    this.emit("ready");
    this[begin]();
  },
  [begin]() {
    for (const next of this[waiting].splice(0)) next();
    if (!this.destroyed) this.read(0);
  },
  [whenOpen](next) {
    if (this[connection]?.head && !this.connecting) next();
    else this[waiting].push(next);
  },
  /** The connection, unless it has gone over to a socket with TLS. */
  get [own]() {
    return this[connection]?.owner === this ? this[connection] : undefined;
  },
  [arrived](data) {
    this[touch]();
    if (data === "") return void this.push(null);
    const bytes = Buffer.from(fromBase64(data).buffer);
    this.bytesRead += bytes.length;
    this.push(bytes);
  },
  _read() {
    this[whenOpen](() => this[own]?.receive());
  },
  _write(chunk, encoding, done) {
    this[whenOpen](() => {
      this[touch]();
      this.bytesWritten += chunk.length;
      const to = this[own];
      if (!to) return void done(gone());
      const sent = to.send(chunk, false).then(() => this[touch]());
      const failed = (error) => systemError(error, "write");
      if (to.unsent > ahead) return void sent.then(() => done(), (error) => done(failed(error)));
      sent.catch((error) => !to.closed && this.destroy(failed(error)));
      done();
    });
  },
  _writev(chunks, done) {
    this._write(Buffer.concat(chunks.map((c) => c.chunk)), "buffer", done);
  },
  _final(done) {
    if (!this[connection] && !this.connecting) return void done();
    this[whenOpen](() => {
      if (!this[own]) return void this[connection].owner.end(done);
      const over = () => done(); // what the other side has closed needs no end
      this[own].send(new Uint8Array(), true).then(over, over);
    });
  },
  _destroy(error, done) {
    this.connecting = false;
    this[waiting] = [];
    clearTimeout(this[timer]);
    this[connection]?.close();
    done(error);
  },
  emit(name, ...args) {
    if (name === "close" && args.length === 0) args = [Boolean(this.errored)];
    return Duplex.prototype.emit.call(this, name, ...args);
  },
  destroySoon() {
    if (!this.writableEnded) this.end();
    if (this.writableFinished) this.destroy();
    else this.once("finish", () => this.destroy());
  },
  resetAndDestroy() {
    return this.destroy();
  },
  setTimeout(ms, callback) {
    this.timeout = Number(ms) || 0;
    clearTimeout(this[timer]);
    if (callback && this.timeout === 0) this.removeListener("timeout", callback);
    else if (callback) this.once("timeout", callback);
    this[touch]();
    if (this.timeout > 0 && !this.destroyed) this[expect](this.timeout);
    return this;
  },
  // The timer is not set again with every byte: when it is over, it looks.
  [expect](ms) {
    this[timer] = setTimeout(() => {
      const left = this[touched] + this.timeout - performance.now();
      if (left <= 0) this.emit("timeout");
      if (!this.destroyed && this.timeout > 0) this[expect](left > 0 ? left : this.timeout);
    }, ms);
  },
  [touch]() {
    this[touched] = performance.now();
  },
  setNoDelay() {
    return this;
  },
  setKeepAlive() {
    return this;
  },
  ref() {
    return this;
  },
  unref() {
    return this;
  },
  address() {
    const { address, port } = this[connection]?.head?.local ?? {};
    return address ? { address, family: familyOf(address), port } : {};
  },
  get pending() {
    return !this[connection]?.head || this.connecting;
  },
  get readyState() {
    if (this.connecting) return "opening";
    if (this.destroyed || !this[connection]) return "closed";
    if (this.writableEnded) return this.readableEnded ? "closed" : "readOnly";
    return this.readableEnded ? "writeOnly" : "open";
  },
  get bufferSize() {
    return this.writableLength;
  },
  get localAddress() {
    return this[connection]?.head?.local.address;
  },
  get localPort() {
    return this[connection]?.head?.local.port;
  },
  get localFamily() {
    return familyOf(this.localAddress);
  },
  get remoteAddress() {
    return this[connection]?.head?.remote.address;
  },
  get remotePort() {
    return this[connection]?.head?.remote.port;
  },
  get remoteFamily() {
    return familyOf(this.remoteAddress);
  },
});

const gone = () => Object.assign(new Error("the socket is closed"), { code: "EPIPE" });

const lookUp = ({ lookup, family = 0 }, host) =>
  new Promise((resolve, reject) =>
    lookup(host, { family, all: false }, (error, found) =>
      error ? reject(error) : resolve(Array.isArray(found) ? found[0].address : found),
    ),
  );
