const { digest, randomBytes, randomUUID } = require("../prelude/crypto.js");
const { bytesOf, concat } = require("../prelude/bytes.js");
const { partial } = require("../prelude/absent.js");

const hashes = ["md5", "sha1", "sha224", "sha256", "sha384", "sha512"];
const toBytes = (data, encoding) => (typeof data === "string" ? Buffer.from(data, encoding) : bytesOf(data));
const buffer = (bytes) => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
const invalid = (message, code = "ERR_INVALID_ARG_TYPE") => Object.assign(new TypeError(message), { code });

/** What is added is kept, and hashed at the end: Go holds nothing for JavaScript in between. */
class Hash {
  #algorithm;
  #key;
  #parts = [];
  #done = false;
  constructor(algorithm, key) {
    digest(algorithm, new Uint8Array(0)); // an unknown name fails here
    this.#algorithm = algorithm;
    this.#key = key;
  }
  update(data, encoding) {
    if (this.#done) throw Object.assign(new Error("Digest already called"), { code: "ERR_CRYPTO_HASH_FINALIZED" });
    if (typeof data !== "string" && !ArrayBuffer.isView(data))
      throw invalid('The "data" argument must be of type string or an instance of Buffer, TypedArray, or DataView');
    this.#parts.push(toBytes(data, encoding).slice());
    return this;
  }
  digest(encoding) {
    if (this.#done) throw Object.assign(new Error("Digest already called"), { code: "ERR_CRYPTO_HASH_FINALIZED" });
    this.#done = true;
    const out = buffer(digest(this.#algorithm, concat(this.#parts), this.#key));
    return encoding && encoding !== "buffer" ? out.toString(encoding) : out;
  }
  copy() {
    const other = new Hash(this.#algorithm, this.#key);
    other.#parts = [...this.#parts];
    return other;
  }
}

/** A key that is shared: of all kinds, HMAC needs no other. */
class KeyObject {
  #bytes;
  type = "secret";
  constructor(bytes) {
    this.#bytes = bytes;
  }
  get symmetricKeySize() {
    return this.#bytes.length;
  }
  export({ format } = {}) {
    const copy = Buffer.from(this.#bytes);
    return format === "jwk" ? { kty: "oct", k: copy.toString("base64url") } : copy;
  }
  equals(other) {
    return other instanceof KeyObject && this.export().equals(other.export());
  }
}

/** Calls back if asked to, as Node.js does. */
const either =
  (make) =>
  (...args) => {
    if (typeof args.at(-1) !== "function") return make(...args);
    const done = args.pop();
    const value = make(...args);
    process.nextTick(done, null, value);
    return undefined;
  };

function randomInt(min, max) {
  if (max === undefined) [min, max] = [0, min];
  if (!Number.isSafeInteger(min) || !Number.isSafeInteger(max)) throw invalid("randomInt takes safe integers");
  const range = max - min;
  if (!(range > 0 && range < 2 ** 48))
    throw Object.assign(
      new RangeError(
        `The value of "max" is out of range. It must be greater than the value of "min" (${min}). Received ${max}`,
      ),
      { code: "ERR_OUT_OF_RANGE" },
    );
  const limit = 2 ** 48 - (2 ** 48 % range); // what is above would make some numbers likelier
  for (;;) {
    const n = buffer(randomBytes(6)).readUIntBE(0, 6);
    if (n < limit) return min + (n % range);
  }
}

function randomFill(target, offset = 0, size = target.byteLength - offset) {
  bytesOf(target).set(randomBytes(size), offset);
  return target;
}

function timingSafeEqual(a, b) {
  const [x, y] = [bytesOf(a), bytesOf(b)];
  if (x.length !== y.length)
    throw Object.assign(new RangeError("Input buffers must have the same byte length"), {
      code: "ERR_CRYPTO_TIMING_SAFE_EQUAL_LENGTH",
    });
  let difference = 0;
  for (let i = 0; i < x.length; i++) difference |= x[i] ^ y[i];
  return difference === 0;
}

module.exports = partial(
  "node:crypto",
  {
    createHash: (algorithm) => new Hash(algorithm),
    createHmac(algorithm, key) {
      if (key === undefined || key === null)
        throw invalid('The "key" argument must be of type string or an instance of Buffer');
      return new Hash(algorithm, key instanceof KeyObject ? key.export() : toBytes(key));
    },
    createSecretKey(key, encoding) {
      if (typeof key !== "string" && !ArrayBuffer.isView(key) && !(key instanceof ArrayBuffer))
        throw invalid('The "key" argument must be of type string or an instance of ArrayBuffer, Buffer, TypedArray, or DataView');
      return new KeyObject(toBytes(key, encoding).slice());
    },
    KeyObject,
    hash: (algorithm, data, encoding = "hex") => new Hash(algorithm).update(data).digest(encoding),
    getHashes: () => [...hashes],
    randomUUID: () => randomUUID(),
    randomBytes: either((size) => {
      if (!Number.isInteger(size) || size < 0) throw invalid('The "size" argument must be a number of bytes');
      return buffer(randomBytes(size));
    }),
    randomInt: either(randomInt),
    randomFillSync: randomFill,
    randomFill: either(randomFill),
    getRandomValues: (array) => crypto.getRandomValues(array),
    timingSafeEqual,
    webcrypto: crypto,
    subtle: crypto.subtle,
    constants: {},
    Hash,
    Hmac: Hash,
  },
  "createCipheriv createDecipheriv createSign createVerify createECDH createDiffieHellman createPrivateKey createPublicKey generateKeyPair generateKeyPairSync generateKey generateKeySync generatePrime generatePrimeSync hkdf hkdfSync pbkdf2 pbkdf2Sync scrypt scryptSync sign verify publicEncrypt privateDecrypt privateEncrypt publicDecrypt getCiphers getCurves diffieHellman X509Certificate Sign Verify checkPrime checkPrimeSync",
  "this runtime has hashes, HMAC and random numbers; ciphers, keys and signatures belong into a tool in Go or a service",
);
