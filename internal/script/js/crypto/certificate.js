// X509Certificate of node:crypto.
import { bytesOf, fromBase64, isBytes } from "../prelude/bytes.js";
import { ask } from "../prelude/keys.js";
import { buffer, invalid, KeyObject, native, toBytes } from "./keyobject.js";

export class X509Certificate {
  #is;
  constructor(data) {
    if (typeof data !== "string" && !isBytes(data))
      throw invalid('The "buffer" argument must be of type string or an instance of Buffer, TypedArray, or DataView.');
    this.#is = ask("x509", { data: typeof data === "string" ? toBytes(data) : bytesOf(data) });
  }
  #check(question) {
    return ask("x509.check", { der: this.#is.der, ...question }) ?? undefined;
  }
  static {
    for (const name of [
      "subject",
      "subjectAltName",
      "issuer",
      "infoAccess",
      "validFrom",
      "validTo",
      "fingerprint",
      "fingerprint256",
      "fingerprint512",
      "keyUsage",
      "serialNumber",
      "ca",
    ]) {
      Object.defineProperty(this.prototype, name, {
        get() {
          return this.#is[name];
        },
        configurable: true,
      });
    }
  }
  get raw() {
    return buffer(fromBase64(this.#is.der));
  }
  get publicKey() {
    return new KeyObject(this.#is.key);
  }
  get issuerCertificate() {
    return undefined; // only certificates of connections have it
  }
  checkHost(host) {
    return this.#check({ host: `${host}` });
  }
  checkIP(ip) {
    return this.#check({ ip: `${ip}` });
  }
  checkEmail(email) {
    return this.#check({ email: `${email}` });
  }
  checkIssued(other) {
    if (!(other instanceof X509Certificate)) throw invalid('The "otherCert" argument must be an instance of X509Certificate.');
    return this.#check({ issuer: other.#is.der });
  }
  checkPrivateKey(key) {
    return this.#check({ key: keyOfType(key, "private") });
  }
  verify(key) {
    return this.#check({ key: keyOfType(key, "public") });
  }
  toString() {
    return this.#is.pem;
  }
  toJSON() {
    return this.#is.pem;
  }
  [Symbol.for("nodejs.util.inspect.custom")](depth, options, inspect) {
    const { pem, der, key, ca, ...shown } = this.#is;
    const order = ["subject", "subjectAltName", "issuer", "infoAccess", "validFrom", "validTo", "fingerprint"];
    const members = Object.fromEntries([...order, "fingerprint256", "fingerprint512", "keyUsage", "serialNumber"].map((name) => [name, shown[name]]));
    return `X509Certificate ${inspect(members, { ...options, depth: depth === null ? null : options.depth })}`;
  }
}

function keyOfType(key, type) {
  if (!(key instanceof KeyObject)) throw invalid('The "pkey" argument must be an instance of KeyObject.');
  if (key.type !== type) throw invalid(`Invalid key object type ${key.type}, expected ${type}.`, "ERR_INVALID_ARG_VALUE");
  return native(key, type);
}
