// Sockets with TLS, which Go speaks.
import { ask } from "../guest.js";
import { fromBase64 } from "./bytes.js";
import { begin, connection, settled, Socket, systemError } from "./socket.js";
import { derive } from "./derive.js";
import { missing } from "./host.js";

const texts = (value) => (value === undefined || value === null ? [] : [value].flat(2).map(String));

export function createSecureContext(options = {}) {
  if (options.pfx)
    throw new Error("The option pfx of node:tls is not available in this runtime: give cert and key in PEM form");
  return { context: {}, options };
}

/** A socket with TLS, over one that is open or will be, or to be connected. */
export function TLSSocket(socket, options = {}) {
  if (!(this instanceof TLSSocket)) return new TLSSocket(socket, options);
  if (options.isServer) throw new Error("Servers with TLS are not available in this runtime");
  Socket.call(this, { allowHalfOpen: options.allowHalfOpen, signal: options.signal });
  this.options = { ...options.secureContext?.options, ...options };
  createSecureContext(this.options); // complains
  this.authorized = false;
  this.authorizationError = null;
  this.alpnProtocol = null;
  this.servername = this.options.servername;
  this.handshaking = true;
  if (socket) this.takeOver(socket);
}

derive(TLSSocket, Socket, {
  encrypted: true,
  /** What Go needs to know for the handshake. */
  handshake() {
    const o = this.options;
    const alpn = o.ALPNProtocols;
    return {
      servername: this.peerName(),
      ca: texts(o.ca),
      cert: texts(o.cert).join("\n"),
      key: texts(o.key?.pem ?? o.key)[0] ?? "",
      alpn: Array.isArray(alpn) ? alpn.map(String) : [],
      minVersion: o.minVersion ?? "",
      maxVersion: o.maxVersion ?? "",
      unverified: o.rejectUnauthorized === false,
      anyName: typeof o.checkServerIdentity === "function",
    };
  },
  peerName() {
    return String(this.options.servername || this.options.host || this._host || "localhost");
  },
  takeOver(socket) {
    // Libraries make such sockets to look at their parts, and do not use them.
    if (!(socket instanceof Socket)) {
      this._handle = { _parentWrap: { constructor: missing("TLS over a stream that is not a net.Socket", "give it one") } };
      return;
    }
    this._host = socket._host;
    this.connecting = true;
    const start = async (failure) => {
      try {
        if (failure) throw failure;
        const made = (this[connection] = socket[connection]);
        made.owner = this;
        await made.sent;
        void made.receive();
        this[settled](await ask("socket.secure", { socket: made.head.socket, tls: this.handshake() }));
      } catch (error) {
        this.destroy(systemError(error, "read"));
      }
    };
    socket.on("error", (error) => this.destroy(error));
    socket.once("close", () => this.destroy());
    this.once("close", () => socket.destroy());
    if (socket.destroyed) process.nextTick(() => this.destroy(new Error("the socket is closed")));
    else socket.write("", start); // what it has not sent yet goes out before the handshake
  },
  [settled](tls) {
    if (this.destroyed) return;
    this.connecting = false;
    this.handshaking = false;
    this.tls = tls;
    this.alpnProtocol = tls.alpn || false;
    this.authorized = tls.authorized;
    this.authorizationError = tls.error ?? null;
    const { checkServerIdentity, rejectUnauthorized } = this.options;
    const wrong = checkServerIdentity?.(this.peerName(), this.getPeerCertificate());
    if (wrong && rejectUnauthorized !== false) return void this.destroy(wrong);
    if (wrong) [this.authorized, this.authorizationError] = [false, wrong.code ?? wrong.message];
    for (const name of ["connect", "ready", "secure", "secureConnect"]) this.emit(name);
    this[begin]();
  },
  getPeerCertificate() {
    const peer = this.tls?.peer;
    return peer ? { ...peer, raw: Buffer.from(fromBase64(peer.raw)) } : {};
  },
  getCipher() {
    const { cipher, protocol } = this.tls ?? {};
    return { name: cipher, standardName: cipher, version: protocol };
  },
  getProtocol: function () {
    return this.tls?.protocol ?? null;
  },
  isSessionReused() {
    return Boolean(this.tls?.resumed);
  },
  getSession() {},
  setSession() {},
  getTLSTicket() {},
  getFinished() {},
  getPeerFinished() {},
  getCertificate: () => ({}),
  getEphemeralKeyInfo: () => ({}),
  disableRenegotiation() {},
  setMaxSendFragment: () => true,
  setServername(name) {
    this.options.servername = this.servername = name;
  },
});
