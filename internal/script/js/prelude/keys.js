// Keys, as node:crypto and WebCrypto share them. A key is what Go says of it: its
// type, its kind, and its bytes in base64. Go keeps nothing in between.
import { currentCall, requestStream } from "../guest.js";
import { bytesOf, fromBase64, isBytes, toBase64 } from "./bytes.js";
import { host } from "./host.js";

function pack(params) {
  const out = {};
  for (const [name, value] of Object.entries(params)) out[name] = isBytes(value) ? toBase64(bytesOf(value)) : value;
  return out;
}

// The classes that errors with these codes have in Node.js.
const classes = {
  ERR_CRYPTO_INVALID_DIGEST: TypeError,
  ERR_CRYPTO_INVALID_IV: TypeError,
  ERR_CRYPTO_INVALID_KEYLEN: RangeError,
  ERR_CRYPTO_INVALID_KEY_OBJECT_TYPE: TypeError,
  ERR_CRYPTO_INVALID_CURVE: TypeError,
  ERR_CRYPTO_INVALID_SCRYPT_PARAMS: RangeError,
  ERR_INVALID_ARG_VALUE: TypeError,
  ERR_OUT_OF_RANGE: RangeError,
};

function typed(error) {
  const Class = classes[error?.code];
  return Class ? Object.assign(new Class(error.message), { code: error.code }) : error;
}

/** Calls a function of Go with bytes among its parameters. */
export function ask(name, params) {
  try {
    return host(name, pack(params));
  } catch (error) {
    throw typed(error);
  }
}

/** Like ask, for functions that answer with bytes. */
export const askBytes = (name, params) => fromBase64(ask(name, params));

/** What takes long, without blocking the other calls. */
export async function derive(params) {
  try {
    for await (const out of requestStream("derive", pack(params), currentCall())) return out;
  } catch (error) {
    throw typed(error);
  }
  throw new Error("the operation has ended without a result");
}

export const secret = (bytes) => ({ type: "secret", der: toBase64(bytes) });
export const bytesOfKey = (key) => fromBase64(key.der);

/** Imports a key from PEM, DER or a JWK. */
export function importKey({ format, type, data, jwk, passphrase, public: wanted = false }) {
  let members;
  if (jwk) {
    members = {};
    for (const [name, value] of Object.entries(jwk)) if (typeof value === "string") members[name] = value;
  }
  return ask("key.import", { format, type, data, jwk: members, passphrase, public: wanted });
}

export const exportKey = (key, format, type, encryption) => ask("key.export", { key, format, type, ...encryption });
