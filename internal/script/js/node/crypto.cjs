const { digest, randomBytes, randomUUID } = require("../prelude/crypto.js");
const { bytesOf, concat, fromBase64 } = require("../prelude/bytes.js");
const { partial } = require("../prelude/absent.js");
const { ask, derive } = require("../prelude/keys.js");
const keys = require("../crypto/keyobject.js");
const { Cipheriv, Decipheriv, ciphers } = require("../crypto/cipher.js");
const signing = require("../crypto/sign.js");
const { X509Certificate } = require("../crypto/certificate.js");

const { buffer, invalid, toBytes } = keys;
const hashes = "md5 sha1 sha224 sha256 sha384 sha512 sha512-224 sha512-256 sha3-224 sha3-256 sha3-384 sha3-512".split(" ");

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

/** The work of a function that derives a key, from the arguments of Node.js. */
const work = {
  pbkdf2(password, salt, iterations, keylen, digest) {
    if (typeof digest !== "string") throw invalid('The "digest" argument must be of type string.');
    if (!Number.isInteger(iterations) || iterations < 1)
      throw Object.assign(new RangeError('The value of "iterations" is out of range.'), { code: "ERR_OUT_OF_RANGE" });
    return { op: "pbkdf2", secret: toBytes(password), salt: toBytes(salt), rounds: iterations, length: keylen, hash: digest };
  },
  scrypt(password, salt, keylen, options = {}) {
    const { N = options.cost ?? 16384, r = options.blockSize ?? 8, p = options.parallelization ?? 1 } = options;
    const memory = options.maxmem ?? 32 << 20;
    return { op: "scrypt", secret: toBytes(password), salt: toBytes(salt), length: keylen, n: N, r, p, memory };
  },
  hkdf: (digest, key, salt, info, keylen) => ({
    op: "hkdf",
    secret: keys.secretBytes(key),
    salt: toBytes(salt),
    info: toBytes(info),
    length: keylen,
    hash: digest,
  }),
};
const results = { hkdf: (bytes) => bytes.buffer };
const derived = (name, out) => (results[name] ?? buffer)(fromBase64(out));
const deriving = {};
for (const name of Object.keys(work)) {
  deriving[`${name}Sync`] = (...args) => derived(name, ask("derive", work[name](...args)));
  deriving[name] = (...args) => {
    const done = args.pop();
    if (typeof done !== "function") throw invalid('The "callback" argument must be of type function.');
    derive(work[name](...args)).then(
      (out) => done(null, derived(name, out)),
      (error) => done(error),
    );
  };
}

const generateKey = (type, { length }) => {
  if (type !== "hmac" && type !== "aes") throw invalid("The argument 'type' must be a supported key type.", "ERR_INVALID_ARG_VALUE");
  if (type === "aes" && ![128, 192, 256].includes(length))
    throw invalid("The property 'options.length' must be one of: 128, 192, 256.", "ERR_INVALID_ARG_VALUE");
  return keys.createSecretKey(randomBytes(Math.floor(length / 8)));
};

module.exports = partial(
  "node:crypto",
  {
    createHash: (algorithm) => new Hash(algorithm),
    createHmac(algorithm, key) {
      if (key === undefined || key === null)
        throw invalid('The "key" argument must be of type string or an instance of Buffer');
      return new Hash(algorithm, keys.secretBytes(key));
    },
    createSecretKey: keys.createSecretKey,
    createPrivateKey: keys.createPrivateKey,
    createPublicKey: keys.createPublicKey,
    generateKeyPair: keys.generateKeyPair,
    generateKeyPairSync: keys.generateKeyPairSync,
    generateKeySync: generateKey,
    generateKey: either(generateKey),
    KeyObject: keys.KeyObject,
    createSign: (algorithm) => new signing.Sign(algorithm),
    createVerify: (algorithm) => new signing.Verify(algorithm),
    Sign: signing.Sign,
    Verify: signing.Verify,
    sign: signing.sign,
    verify: signing.verify,
    publicEncrypt: signing.publicEncrypt,
    privateDecrypt: signing.privateDecrypt,
    diffieHellman: signing.diffieHellman,
    createECDH: (curve) => new signing.ECDH(curve),
    ECDH: signing.ECDH,
    createCipheriv: (...args) => new Cipheriv(...args),
    createDecipheriv: (...args) => new Decipheriv(...args),
    Cipheriv,
    Decipheriv,
    getCiphers: () => [...ciphers],
    getCurves: () => ["prime256v1", "secp224r1", "secp384r1", "secp521r1"],
    ...deriving,
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
    constants: signing.constants,
    Hash,
    Hmac: Hash,
    X509Certificate,
  },
  "createDiffieHellman createDiffieHellmanGroup getDiffieHellman generatePrime generatePrimeSync privateEncrypt publicDecrypt checkPrime checkPrimeSync argon2 argon2Sync",
  "this runtime has hashes, keys, signatures, AES and derived keys; what is left belongs into a tool in Go or a service",
);
