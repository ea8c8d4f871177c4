// crypto.subtle, as the Web Cryptography API says.
import { bytesOf, concat, encodeUTF8, fromBase64, decodeUTF8 } from "./bytes.js";
import { DOMException } from "./exception.js";
import { ask, askBytes, bytesOfKey, derive, exportKey, importKey, secret } from "./keys.js";

const natives = new WeakMap();
const making = Symbol("only this module makes keys");

export class CryptoKey {
  constructor(token, native, algorithm, extractable, usages) {
    if (token !== making) throw new TypeError("Illegal constructor");
    natives.set(this, native);
    Object.defineProperties(this, {
      type: { value: native.type, enumerable: true },
      extractable: { value: extractable, enumerable: true },
      algorithm: { value: algorithm, enumerable: true },
      usages: { value: usages, enumerable: true },
    });
  }
  get [Symbol.toStringTag]() {
    return "CryptoKey";
  }
}

/** What Go knows of a key. */
export const keyOf = (key) => natives.get(key);

const fail = (name, message) => {
  throw new DOMException(message, name);
};
const buffer = (bytes) => bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength);
const hashName = (hash) => {
  const name = String(hash?.name ?? hash).toUpperCase();
  if (!["SHA-1", "SHA-256", "SHA-384", "SHA-512"].includes(name)) fail("NotSupportedError", "Unrecognized algorithm name");
  return name;
};
const hashBits = { "SHA-1": 160, "SHA-256": 256, "SHA-384": 384, "SHA-512": 512 };
const blockBits = { "SHA-1": 512, "SHA-256": 512, "SHA-384": 1024, "SHA-512": 1024 };

const names = [
  "HMAC",
  "RSASSA-PKCS1-v1_5",
  "RSA-PSS",
  "RSA-OAEP",
  "ECDSA",
  "ECDH",
  "Ed25519",
  "X25519",
  "AES-CBC",
  "AES-CTR",
  "AES-GCM",
  "AES-KW",
  "PBKDF2",
  "HKDF",
];

/** An algorithm as an object, with the spelling of the standard. */
function normal(algorithm) {
  const given = typeof algorithm === "object" && algorithm !== null ? algorithm : { name: algorithm };
  const name = names.find((known) => known.toLowerCase() === String(given.name).toLowerCase());
  if (!name) fail("NotSupportedError", "Unrecognized algorithm name");
  return { ...given, name };
}

const kinds = {
  "RSASSA-PKCS1-v1_5": "rsa",
  "RSA-PSS": "rsa",
  "RSA-OAEP": "rsa",
  ECDSA: "ec",
  ECDH: "ec",
  Ed25519: "ed25519",
  X25519: "x25519",
};
const uses = {
  HMAC: { secret: ["sign", "verify"] },
  PBKDF2: { secret: ["deriveKey", "deriveBits"] },
  HKDF: { secret: ["deriveKey", "deriveBits"] },
  "AES-KW": { secret: ["wrapKey", "unwrapKey"] },
  "RSA-OAEP": { public: ["encrypt", "wrapKey"], private: ["decrypt", "unwrapKey"] },
  ECDH: { public: [], private: ["deriveKey", "deriveBits"] },
  X25519: { public: [], private: ["deriveKey", "deriveBits"] },
};
const usesOf = (name, type) => {
  if (uses[name]) return uses[name][type] ?? [];
  if (name.startsWith("AES")) return ["encrypt", "decrypt", "wrapKey", "unwrapKey"];
  return type === "private" ? ["sign"] : ["verify"];
};

function make(native, algorithm, extractable, usages) {
  const allowed = usesOf(algorithm.name, native.type);
  const list = [...new Set(usages)];
  if (list.some((use) => !allowed.includes(use)))
    fail("SyntaxError", `Unsupported key usage for ${/^[AEIOHRX]/.test(algorithm.name) ? "an" : "a"} ${algorithm.name} key`);
  if (native.type !== "public" && list.length === 0)
    fail("SyntaxError", "Usages cannot be empty when importing a private key.");
  return new CryptoKey(making, native, algorithm, native.type === "public" || Boolean(extractable), list);
}

/** The algorithm of a key, with what the key itself says. */
function describe(algorithm, native) {
  const { name } = algorithm;
  if (native.type === "secret") {
    const length = bytesOfKey(native).length * 8;
    if (name === "HMAC") return { name, hash: { name: hashName(algorithm.hash) }, length };
    if (!name.startsWith("AES")) return { name };
    if (![128, 192, 256].includes(length)) fail("DataError", "Invalid key length");
    return { name, length };
  }
  if (native.kind !== kinds[name]) fail("DataError", "Invalid key type");
  if (native.kind === "rsa")
    return {
      name,
      modulusLength: native.bits,
      publicExponent: Uint8Array.from([native.exponent >> 16, (native.exponent >> 8) & 255, native.exponent & 255]),
      hash: { name: hashName(algorithm.hash) },
    };
  if (native.kind === "ec" && algorithm.namedCurve !== native.curve) fail("DataError", "Named curve mismatch");
  return native.kind === "ec" ? { name, namedCurve: native.curve } : { name };
}

/** The key of a KeyObject of node:crypto. */
export function fromKeyObject(native, algorithm, extractable, usages) {
  const how = normal(algorithm);
  return make(native, describe(how, native), extractable, usages);
}

function opened(key, algorithm, use) {
  if (!(key instanceof CryptoKey)) throw new TypeError("a CryptoKey is needed");
  const how = normal(algorithm);
  if (how.name !== key.algorithm.name) fail("InvalidAccessError", "Key algorithm mismatch");
  if (!key.usages.includes(use)) fail("InvalidAccessError", `Unable to use this key to ${use}`);
  return { how, native: natives.get(key) };
}

function refusing(make) {
  try {
    return make();
  } catch (error) {
    if (error instanceof DOMException) throw error;
    throw new DOMException(error.message, "DataError");
  }
}

function imported(format, data, algorithm, extractable, usages) {
  const { name } = algorithm;
  if (!(name in kinds)) {
    let bytes;
    if (format === "raw" || format === "raw-secret") bytes = bytesOf(data).slice();
    else if (format === "jwk" && data.kty === "oct")
      bytes = refusing(() => fromBase64(data.k, { alphabet: "base64url" }));
    else fail("NotSupportedError", `Unable to import ${name} using ${format} format`);
    if (name === "HMAC" && bytes.length === 0) fail("DataError", "Zero-length key is not supported");
    const native = secret(bytes);
    return make(native, describe(algorithm, native), extractable, usages);
  }
  const native = refusing(() => {
    switch (format) {
      case "jwk":
        return importKey({ format, jwk: data });
      case "spki":
      case "pkcs8":
        return importKey({ format: "der", type: format, data: bytesOf(data) });
      case "raw":
      case "raw-public":
        return ask("key.raw", { kind: kinds[name], curve: algorithm.namedCurve, data: bytesOf(data) });
    }
    return fail("NotSupportedError", `Unable to import ${name} using ${format} format`);
  });
  return make(native, describe(algorithm, native), extractable, usages);
}

function exported(format, key) {
  if (!key.extractable) fail("InvalidAccessError", "key is not extractable");
  const native = natives.get(key);
  const { name, hash } = key.algorithm;
  if (format === "jwk") {
    const facts = { key_ops: [...key.usages], ext: key.extractable };
    if (native.type !== "secret") return { ...exportKey(native, "jwk"), ...jwkName(name, hash), ...facts };
    const k = bytesOfKey(native).toBase64({ alphabet: "base64url", omitPadding: true });
    const alg =
      name === "HMAC" ? `HS${hash.name.slice(4).replace(/^$/, "1")}` : `A${key.algorithm.length}${name.slice(4)}`;
    return { kty: "oct", k, alg, ...facts };
  }
  if (native.type === "secret") {
    if (format !== "raw" && format !== "raw-secret") fail("NotSupportedError", `Unable to export a secret as ${format}`);
    return buffer(bytesOfKey(native));
  }
  if (format === "raw" || format === "raw-public") return buffer(refusing(() => fromBase64(exportKey(native, "raw"))));
  if (format !== (native.type === "public" ? "spki" : "pkcs8"))
    fail("InvalidAccessError", `Unable to export a ${native.type} key as ${format}`);
  return buffer(bytesOfKey(native));
}

function jwkName(name, hash) {
  const bits = hash?.name.slice(4);
  switch (name) {
    case "Ed25519":
      return { alg: name };
    case "RSASSA-PKCS1-v1_5":
      return { alg: `RS${bits}` };
    case "RSA-PSS":
      return { alg: `PS${bits}` };
    case "RSA-OAEP":
      return { alg: bits === "1" ? "RSA-OAEP" : `RSA-OAEP-${bits}` };
  }
  return {};
}

const signature = (how, key, native, data) => ({
  key: native,
  hash: how.name === "ECDSA" ? hashName(how.hash) : (key.algorithm.hash?.name ?? "SHA-256"),
  padding: how.name === "RSA-PSS" ? "pss" : "pkcs1",
  salt: how.saltLength ?? 0,
  encoding: "ieee-p1363",
  data,
});

const hmac = (key, native, data) =>
  askBytes("hash", { algorithm: key.algorithm.hash.name, data, key: bytesOfKey(native) });

const failing = (make) => {
  try {
    return make();
  } catch (error) {
    if (error instanceof DOMException) throw error;
    throw new DOMException("The operation failed for an operation-specific reason", "OperationError");
  }
};

function equal(a, b) {
  if (a.length !== b.length) return false;
  let difference = 0;
  for (let i = 0; i < a.length; i++) difference |= a[i] ^ b[i];
  return difference === 0;
}

/** Encrypts or decrypts; the key may do it. */
function crypt(how, native, data, decrypt) {
  const key = native.type === "secret" ? bytesOfKey(native) : null;
  const aes = (params) => askBytes("aes", { key, decrypt, ...params });
  switch (how.name) {
    case "RSA-OAEP":
      return askBytes("rsa", { key: native, padding: "oaep", hash: how.hash, label: how.label ?? "", decrypt, data });
    case "AES-CTR":
      return aes({ mode: "ctr", iv: how.counter, data });
    case "AES-KW":
      return aes({ mode: "wrap", data });
    case "AES-CBC": {
      if (!decrypt) {
        const pad = 16 - (data.length % 16);
        return aes({ mode: "cbc", iv: how.iv, data: concat([data, new Uint8Array(pad).fill(pad)]) });
      }
      const out = aes({ mode: "cbc", iv: how.iv, data });
      const pad = out.at(-1);
      if (!(pad >= 1 && pad <= 16) || !out.subarray(-pad).every((byte) => byte === pad)) throw new Error("bad padding");
      return out.slice(0, -pad);
    }
  }
  const { iv, additionalData = new Uint8Array(0), tagLength = 128 } = how;
  if (![32, 64, 96, 104, 112, 120, 128].includes(tagLength))
    fail("OperationError", `${tagLength} is not a valid AES-GCM tag length`);
  const size = tagLength / 8;
  const body = decrypt ? data.subarray(0, -size) : data;
  if (decrypt && data.length < size) fail("OperationError", "The provided data is too small.");
  const out = aes({ mode: "gcm", iv, at: 0, data: body });
  const tag = askBytes("aes.tag", { key, iv, aad: additionalData, data: decrypt ? out : body, tag: size });
  if (!decrypt) return concat([out, tag]);
  if (!equal(tag, data.subarray(-size))) throw new Error("not authentic");
  return out;
}

async function bits(how, key, length) {
  const native = natives.get(key);
  if (how.name === "ECDH" || how.name === "X25519") {
    const theirs = natives.get(how.public);
    if (theirs?.type !== "public") fail("InvalidAccessError", "algorithm.public must be a public key");
    const all = failing(() => askBytes("derive", { op: "agree", private: native, public: theirs }));
    if (length === null || length === undefined) return all;
    if (length > all.length * 8) fail("OperationError", "derived bit length is too large");
    const out = all.slice(0, Math.ceil(length / 8));
    if (length % 8) out[out.length - 1] &= 255 << (8 - (length % 8));
    return out;
  }
  if (!Number.isInteger(length) || length % 8) fail("OperationError", "length must be a multiple of 8");
  const shared = { secret: bytesOfKey(native), salt: bytesOf(how.salt), hash: hashName(how.hash), length: length / 8 };
  if (how.name === "HKDF") return failing(() => askBytes("derive", { op: "hkdf", info: bytesOf(how.info), ...shared }));
  return fromBase64(await derive({ op: "pbkdf2", rounds: how.iterations, ...shared }));
}

const lengthOf = (how) => {
  if (how.name === "HMAC") return how.length ?? blockBits[hashName(how.hash)];
  return how.name.startsWith("AES") ? how.length : null;
};

export const subtle = {
  async digest(algorithm, data) {
    return buffer(askBytes("hash", { algorithm: hashName(algorithm), data: bytesOf(data) }));
  },
  async importKey(format, data, algorithm, extractable, usages) {
    return imported(format, data, normal(algorithm), extractable, usages);
  },
  async exportKey(format, key) {
    return exported(format, key);
  },
  async generateKey(algorithm, extractable, usages) {
    const how = normal(algorithm);
    if (!(how.name in kinds)) {
      const length = lengthOf(how);
      if (!length || (how.name !== "HMAC" && ![128, 192, 256].includes(length)))
        fail("OperationError", "Invalid key length");
      const native = secret(crypto.getRandomValues(new Uint8Array(length / 8)));
      return make(native, describe(how, native), extractable, usages);
    }
    const made = await derive({ op: "generate", kind: kinds[how.name], bits: how.modulusLength, curve: how.namedCurve });
    const half = (native) => {
      const allowed = usesOf(how.name, native.type);
      const own = usages.filter((use) => allowed.includes(use));
      return new CryptoKey(making, native, describe(how, native), native.type === "public" || Boolean(extractable), own);
    };
    const pair = { publicKey: half(made.publicKey), privateKey: half(made.privateKey) };
    if (pair.privateKey.usages.length === 0)
      fail("SyntaxError", "Usages cannot be empty when creating a key.");
    return pair;
  },
  async sign(algorithm, key, data) {
    const { how, native } = opened(key, algorithm, "sign");
    const bytes = bytesOf(data);
    if (how.name === "HMAC") return buffer(hmac(key, native, bytes));
    return buffer(failing(() => askBytes("sign", signature(how, key, native, bytes))));
  },
  async verify(algorithm, key, signed, data) {
    const { how, native } = opened(key, algorithm, "verify");
    const bytes = bytesOf(data);
    if (how.name === "HMAC") return equal(hmac(key, native, bytes), bytesOf(signed));
    return ask("verify", { ...signature(how, key, native, bytes), signature: bytesOf(signed) });
  },
  async encrypt(algorithm, key, data) {
    const { how, native } = opened(key, algorithm, "encrypt");
    return buffer(failing(() => crypt({ ...how, hash: key.algorithm.hash?.name }, native, bytesOf(data), false)));
  },
  async decrypt(algorithm, key, data) {
    const { how, native } = opened(key, algorithm, "decrypt");
    return buffer(failing(() => crypt({ ...how, hash: key.algorithm.hash?.name }, native, bytesOf(data), true)));
  },
  async deriveBits(algorithm, key, length = null) {
    const { how } = opened(key, algorithm, "deriveBits");
    return buffer(await bits(how, key, length));
  },
  async deriveKey(algorithm, key, wanted, extractable, usages) {
    const { how } = opened(key, algorithm, "deriveKey");
    const made = normal(wanted);
    return imported("raw", await bits(how, key, lengthOf(made)), made, extractable, usages);
  },
  async wrapKey(format, key, wrapping, algorithm) {
    const { how, native } = opened(wrapping, algorithm, "wrapKey");
    const plain = exported(format, key);
    const bytes = format === "jwk" ? encodeUTF8(JSON.stringify(plain)) : new Uint8Array(plain);
    return buffer(failing(() => crypt({ ...how, hash: wrapping.algorithm.hash?.name }, native, bytes, false)));
  },
  async unwrapKey(format, wrapped, unwrapping, algorithm, wanted, extractable, usages) {
    const { how, native } = opened(unwrapping, algorithm, "unwrapKey");
    const bytes = failing(() =>
      crypt({ ...how, hash: unwrapping.algorithm.hash?.name }, native, bytesOf(wrapped), true),
    );
    const data = format === "jwk" ? JSON.parse(decodeUTF8(bytes)) : bytes;
    return imported(format, data, normal(wanted), extractable, usages);
  },
};

export class SubtleCrypto {
  constructor() {
    throw new TypeError("Illegal constructor");
  }
}
Object.setPrototypeOf(subtle, SubtleCrypto.prototype);
