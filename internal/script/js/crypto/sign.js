// Signatures, and encryption with public keys, as node:crypto has them.
import { ask, askBytes } from "../prelude/keys.js";
import { buffer, invalid, KeyObject, native, toBytes } from "./keyobject.js";

export const constants = {
  RSA_PKCS1_PADDING: 1,
  RSA_NO_PADDING: 3,
  RSA_PKCS1_OAEP_PADDING: 4,
  RSA_PKCS1_PSS_PADDING: 6,
  RSA_PSS_SALTLEN_DIGEST: -1,
  RSA_PSS_SALTLEN_MAX_SIGN: -2,
  RSA_PSS_SALTLEN_AUTO: -2,
  defaultCipherList: "TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256:TLS_AES_128_GCM_SHA256",
};

function request(hash, data, key, wanted) {
  const { padding, saltLength = -2, dsaEncoding = "der" } = key ?? {};
  const known = native(key, wanted);
  if (padding !== undefined && padding !== 1 && padding !== 6)
    throw invalid(`The padding ${padding} is not available in this runtime`, "ERR_INVALID_ARG_VALUE");
  const automatic = { ed25519: "", ec: "sha256", rsa: "sha256" }[known.kind];
  return {
    key: known,
    hash: hash ?? automatic,
    padding: padding === 6 ? "pss" : "pkcs1",
    salt: saltLength,
    encoding: dsaEncoding,
    data,
  };
}

/** What is added is kept, and signed at the end. */
class Collected {
  #parts = [];
  constructor(algorithm) {
    if (typeof algorithm !== "string") throw invalid('The "algorithm" argument must be of type string.');
    ask("hash", { algorithm, data: "" }); // an unknown name fails here
    this.algorithm = algorithm;
  }
  update(data, encoding) {
    this.#parts.push(Buffer.from(toBytes(data, encoding)));
    return this;
  }
  write(data, encoding) {
    this.update(data, encoding);
    return true;
  }
  end(data, encoding) {
    if (data !== undefined && data !== null) this.update(data, encoding);
    return this;
  }
  get collected() {
    return Buffer.concat(this.#parts);
  }
}

const encoded = (bytes, encoding) => {
  const out = buffer(bytes);
  return encoding && encoding !== "buffer" ? out.toString(encoding) : out;
};

export class Sign extends Collected {
  sign(key, encoding) {
    return encoded(askBytes("sign", request(this.algorithm, this.collected, key, "private")), encoding);
  }
}

export class Verify extends Collected {
  verify(key, signature, encoding) {
    return ask("verify", {
      ...request(this.algorithm, this.collected, key, "public"),
      signature: toBytes(signature, encoding),
    });
  }
}

const both = (make, callback) => {
  if (typeof callback !== "function") return make();
  let value;
  try {
    value = make();
  } catch (error) {
    process.nextTick(callback, error);
    return undefined;
  }
  process.nextTick(callback, null, value);
  return undefined;
};

export const sign = (algorithm, data, key, callback) =>
  both(() => buffer(askBytes("sign", request(algorithm, toBytes(data), key, "private"))), callback);

export const verify = (algorithm, data, key, signature, callback) =>
  both(
    () => ask("verify", { ...request(algorithm, toBytes(data), key, "public"), signature: toBytes(signature) }),
    callback,
  );

function seal(key, data, wanted) {
  const { padding = constants.RSA_PKCS1_OAEP_PADDING, oaepHash = "sha1", oaepLabel = new Uint8Array(0) } = key ?? {};
  const paddings = { [constants.RSA_PKCS1_PADDING]: "pkcs1", [constants.RSA_PKCS1_OAEP_PADDING]: "oaep" };
  if (!paddings[padding])
    throw invalid(`The padding ${padding} is not available in this runtime`, "ERR_INVALID_ARG_VALUE");
  return buffer(
    askBytes("rsa", {
      key: native(key, wanted),
      padding: paddings[padding],
      hash: oaepHash,
      label: toBytes(oaepLabel),
      decrypt: wanted === "private",
      data: toBytes(data),
    }),
  );
}

export const publicEncrypt = (key, data) => seal(key, data, "public");
export const privateDecrypt = (key, data) => seal(key, data, "private");

export function diffieHellman({ privateKey, publicKey }) {
  for (const key of [privateKey, publicKey])
    if (!(key instanceof KeyObject)) throw invalid("diffieHellman takes a privateKey and a publicKey");
  return buffer(
    askBytes("derive", { op: "agree", private: native(privateKey, "private"), public: native(publicKey, "public") }),
  );
}

export class ECDH {
  #curve;
  #private;
  constructor(curve) {
    this.#curve = curve;
    ask("derive", { op: "generate", kind: "ec", curve }); // an unknown name fails here
  }
  generateKeys(encoding, format) {
    this.#private = ask("derive", { op: "generate", kind: "ec", curve: this.#curve }).privateKey;
    return this.getPublicKey(encoding, format);
  }
  #mine() {
    if (!this.#private)
      throw Object.assign(new Error("Failed to get ECDH private key"), { code: "ERR_CRYPTO_ECDH_INVALID_PRIVATE_KEY" });
    return this.#private;
  }
  getPublicKey(encoding, format = "uncompressed") {
    const { x, y } = new KeyObject(this.#mine()).export({ format: "jwk" });
    const [left, right] = [Buffer.from(x, "base64url"), Buffer.from(y, "base64url")];
    const compressed = format === "compressed";
    const head = compressed ? 2 + (right.at(-1) & 1) : 4;
    return encoded(Buffer.concat([Buffer.from([head]), left, ...(compressed ? [] : [right])]), encoding);
  }
  getPrivateKey(encoding) {
    return encoded(Buffer.from(new KeyObject(this.#mine()).export({ format: "jwk" }).d, "base64url"), encoding);
  }
  computeSecret(other, inputEncoding, outputEncoding) {
    const theirs = ask("key.raw", { kind: "ec", curve: this.#curve, data: toBytes(other, inputEncoding) });
    return encoded(askBytes("derive", { op: "agree", private: this.#mine(), public: theirs }), outputEncoding);
  }
}

