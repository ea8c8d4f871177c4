// The keys of node:crypto.
import { bytesOf, encodeUTF8, fromBase64, isBytes } from "../prelude/bytes.js";
import { ask, bytesOfKey, derive, exportKey, importKey, secret } from "../prelude/keys.js";
import { CryptoKey, fromKeyObject, keyOf } from "../prelude/subtle.js";

export const invalid = (message, code = "ERR_INVALID_ARG_TYPE") => Object.assign(new TypeError(message), { code });
export const toBytes = (data, encoding) =>
  typeof data === "string" ? Buffer.from(data, encoding) : bytesOf(data);
export const buffer = (bytes) => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);

const curves = { "P-224": "secp224r1", "P-256": "prime256v1", "P-384": "secp384r1", "P-521": "secp521r1" };
const natives = new WeakMap();

export class KeyObject {
  constructor(native) {
    if (!["secret", "public", "private"].includes(native?.type))
      throw invalid("The argument 'type' is invalid", "ERR_INVALID_ARG_VALUE");
    natives.set(this, native);
  }
  static from(key) {
    if (!(key instanceof CryptoKey)) throw invalid('The "key" argument must be an instance of CryptoKey.');
    return new KeyObject(keyOf(key));
  }
  get type() {
    return natives.get(this).type;
  }
  get symmetricKeySize() {
    return this.type === "secret" ? bytesOfKey(natives.get(this)).length : undefined;
  }
  get asymmetricKeyType() {
    return natives.get(this).kind;
  }
  get asymmetricKeyDetails() {
    const { type, bits, exponent, curve } = natives.get(this);
    if (type === "secret") return undefined;
    if (bits) return { modulusLength: bits, publicExponent: BigInt(exponent) };
    return curve ? { namedCurve: curves[curve] } : {};
  }
  export(options = {}) {
    const native = natives.get(this);
    const { format, type } = options;
    if (native.type === "secret") {
      const copy = buffer(bytesOfKey(native));
      return format === "jwk" ? { kty: "oct", k: copy.toString("base64url") } : copy;
    }
    if (format === "jwk") return exportKey(native, "jwk");
    if (format !== "pem" && format !== "der")
      throw invalid("The property 'options.format' is invalid.", "ERR_INVALID_ARG_VALUE");
    const types = native.type === "public" ? ["pkcs1", "spki"] : ["pkcs1", "pkcs8", "sec1"];
    if (!types.includes(type)) throw invalid("The property 'options.type' is invalid.", "ERR_INVALID_ARG_VALUE");
    if ((type === "pkcs1" && native.kind !== "rsa") || (type === "sec1" && native.kind !== "ec"))
      throw Object.assign(new Error(`The selected key encoding ${type} does not support this key type.`), {
        code: "ERR_CRYPTO_INCOMPATIBLE_KEY_OPTIONS",
      });
    const { cipher, passphrase } = options;
    if (cipher !== undefined && typeof passphrase !== "string" && !isBytes(passphrase))
      throw invalid("The property 'options.passphrase' is invalid.", "ERR_INVALID_ARG_VALUE");
    if (cipher !== undefined && format === "der" && type !== "pkcs8")
      throw Object.assign(new Error(`The selected key encoding ${type} does not support encryption.`), {
        code: "ERR_CRYPTO_INCOMPATIBLE_KEY_OPTIONS",
      });
    const out = exportKey(native, format, type, cipher && { cipher, passphrase: toBytes(passphrase) });
    return format === "pem" ? out : buffer(fromBase64(out));
  }
  equals(other) {
    return other instanceof KeyObject && other.type === this.type && natives.get(other).der === natives.get(this).der;
  }
  toCryptoKey(algorithm, extractable, usages) {
    return fromKeyObject(natives.get(this), algorithm, extractable, usages);
  }
  get [Symbol.toStringTag]() {
    return "KeyObject";
  }
}

/** What Go knows of a key, of whatever Node.js takes as one. */
export function native(key, wanted) {
  if (key instanceof KeyObject) key = { key };
  else if (key instanceof CryptoKey) key = { key: new KeyObject(keyOf(key)) };
  else if (typeof key === "string" || isBytes(key)) key = { key };
  else if (key === null || typeof key !== "object")
    throw invalid(
      'The "key" argument must be of type string or an instance of ArrayBuffer, Buffer, TypedArray, DataView, KeyObject, or CryptoKey.',
    );
  const { format = "pem", type, encoding } = key;
  let source = key.key;
  if (source instanceof CryptoKey) source = new KeyObject(keyOf(source));
  if (source instanceof KeyObject) {
    const found = natives.get(source);
    if (found.type === wanted || wanted === "either" || (found.type === "private" && wanted === "public")) {
      return found.type === "private" && wanted === "public" ? publicOf(found) : found;
    }
    throw Object.assign(new TypeError(`Invalid key object type ${found.type}, expected ${wanted}.`), {
      code: "ERR_CRYPTO_INVALID_KEY_OBJECT_TYPE",
    });
  }
  if (format === "jwk") {
    const made = importKey({ format, jwk: source, public: wanted === "public" });
    return checked(made, wanted);
  }
  if (typeof source !== "string" && !isBytes(source))
    throw invalid(
      'The "key.key" property must be of type string or an instance of ArrayBuffer, Buffer, TypedArray, DataView, KeyObject, or CryptoKey.',
    );
  const passphrase = key.passphrase === undefined ? undefined : toBytes(key.passphrase, encoding);
  const data = toBytes(source, encoding);
  return checked(importKey({ format, type, data, passphrase, public: wanted === "public" }), wanted);
}

function checked(key, wanted) {
  if (wanted === "private" && key.type !== "private")
    throw Object.assign(new Error("error:1E08010C:DECODER routines::unsupported"), { code: "ERR_OSSL_UNSUPPORTED" });
  return key;
}

const publicOf = (key) => importKey({ format: "der", type: "pkcs8", data: bytesOfKey(key), public: true });

export const createPrivateKey = (key) => new KeyObject(native(key, "private"));
export const createPublicKey = (key) => new KeyObject(native(key, "public"));

export function createSecretKey(key, encoding) {
  if (typeof key !== "string" && !isBytes(key))
    throw invalid(
      'The "key" argument must be of type string or an instance of ArrayBuffer, Buffer, TypedArray, or DataView',
    );
  return new KeyObject(secret(toBytes(key, encoding)));
}

/** The bytes of a secret key, of whatever Node.js takes as one. */
export function secretBytes(key, encoding) {
  if (key instanceof CryptoKey) key = new KeyObject(keyOf(key));
  if (!(key instanceof KeyObject)) return toBytes(key, encoding);
  if (key.type !== "secret")
    throw Object.assign(new TypeError(`Invalid key object type ${key.type}, expected secret.`), {
      code: "ERR_CRYPTO_INVALID_KEY_OBJECT_TYPE",
    });
  return bytesOfKey(natives.get(key));
}

const pairWork = (type, options = {}) => ({
  op: "generate",
  kind: type === "rsa-pss" ? "rsa" : type,
  bits: options.modulusLength,
  curve: options.namedCurve,
});

function pair({ publicKey, privateKey }, options = {}) {
  const encode = (key, how) => (how ? key.export(how) : key);
  return {
    publicKey: encode(new KeyObject(publicKey), options.publicKeyEncoding),
    privateKey: encode(new KeyObject(privateKey), options.privateKeyEncoding),
  };
}

export const generateKeyPairSync = (type, options) => pair(ask("derive", pairWork(type, options)), options);

export function generateKeyPair(type, options, callback) {
  if (typeof options === "function") [options, callback] = [undefined, options];
  derive(pairWork(type, options))
    .then((keys) => pair(keys, options))
    .then(
      ({ publicKey, privateKey }) => callback(null, publicKey, privateKey),
      (error) => callback(error),
    );
}
generateKeyPair[Symbol.for("nodejs.util.promisify.custom")] = async (type, options) =>
  pair(await derive(pairWork(type, options)), options);
