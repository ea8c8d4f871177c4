// AES as node:crypto has it.
import { Transform } from "../node/stream.cjs";
import { askBytes } from "../prelude/keys.js";
import { buffer, invalid, secretBytes, toBytes } from "./keyobject.js";

const sizes = { 128: 16, 192: 24, 256: 32 };
const modes = ["cbc", "ctr", "ecb", "gcm"];

export const ciphers = [
  ...Object.keys(sizes).flatMap((size) => modes.map((mode) => `aes-${size}-${mode}`)),
  ...Object.keys(sizes).map((size) => `aes${size}-wrap`),
];

function parse(name) {
  const found = /^(?:id-)?aes-?(128|192|256)(?:-(cbc|ctr|ecb|gcm|wrap))?$/i.exec(name);
  if (!found)
    throw Object.assign(new Error(`Unknown cipher: ${name}; this runtime has ${ciphers.join(", ")}`), {
      code: "ERR_CRYPTO_UNKNOWN_CIPHER",
    });
  return { size: sizes[found[1]], mode: (found[2] ?? "cbc").toLowerCase() };
}

class Cipher extends Transform {
  #mode;
  #key;
  #iv;
  #decrypt;
  #rest = Buffer.alloc(0); // that is no whole block yet
  #clear = []; // of a message that is to be authenticated
  #at = 0;
  #padding = true;
  #aad = Buffer.alloc(0);
  #tag;
  #tagLength;
  #over = false;

  constructor(decrypt, name, key, iv, options = {}) {
    super(options);
    const { size, mode } = parse(name);
    this.#mode = mode;
    this.#decrypt = decrypt;
    this.#key = secretBytes(key, options.encoding).slice();
    if (this.#key.length !== size)
      throw Object.assign(new RangeError("Invalid key length"), { code: "ERR_CRYPTO_INVALID_KEYLEN" });
    this.#iv = iv === null ? Buffer.alloc(0) : Buffer.from(toBytes(iv));
    const wrong = mode === "ecb" ? iv !== null && this.#iv.length !== 0 : mode === "gcm" ? !this.#iv.length : mode !== "wrap" && this.#iv.length !== 16;
    if (wrong) throw invalid("Invalid initialization vector", "ERR_CRYPTO_INVALID_IV");
    this.#tagLength = options.authTagLength ?? 16;
  }
  #crypt(data) {
    const out = askBytes("aes", {
      mode: this.#mode,
      key: this.#key,
      iv: this.#iv,
      decrypt: this.#decrypt,
      at: this.#at,
      data,
    });
    this.#at += data.length;
    if (this.#mode === "cbc" && data.length) this.#iv = Buffer.from((this.#decrypt ? data : out).subarray(-16));
    if (this.#mode === "gcm") this.#clear.push(Buffer.from(this.#decrypt ? out : data));
    return buffer(out);
  }
  #update(data) {
    if (this.#over)
      throw Object.assign(new Error("Unsupported state"), { code: "ERR_CRYPTO_INVALID_STATE" });
    if (this.#mode !== "cbc" && this.#mode !== "ecb") return this.#crypt(data);
    const all = Buffer.concat([this.#rest, data]);
    let whole = all.length - (all.length % 16);
    // The last block may be the padding, which only the end can tell.
    if (this.#decrypt && this.#padding && whole === all.length && whole > 0) whole -= 16;
    this.#rest = all.subarray(whole);
    return whole ? this.#crypt(all.subarray(0, whole)) : Buffer.alloc(0);
  }
  #final() {
    if (this.#over)
      throw Object.assign(new Error("Unsupported state"), { code: "ERR_CRYPTO_INVALID_STATE" });
    this.#over = true;
    if (this.#mode === "gcm") {
      const tag = askBytes("aes.tag", {
        mode: this.#mode,
        key: this.#key,
        iv: this.#iv,
        aad: this.#aad,
        data: Buffer.concat(this.#clear),
        tag: this.#decrypt ? (this.#tag?.length ?? 16) : this.#tagLength,
      });
      this.#clear = [];
      if (!this.#decrypt) this.#tag = buffer(tag);
      else if (!this.#tag || !equal(this.#tag, tag))
        throw new Error("Unsupported state or unable to authenticate data");
      return Buffer.alloc(0);
    }
    if (this.#mode !== "cbc" && this.#mode !== "ecb") return Buffer.alloc(0);
    const rest = this.#rest;
    if (!this.#decrypt) {
      if (this.#padding) return this.#crypt(Buffer.concat([rest, Buffer.alloc(16 - rest.length, 16 - rest.length)]));
      if (rest.length) throw bad("ERR_OSSL_WRONG_FINAL_BLOCK_LENGTH", "wrong final block length");
      return Buffer.alloc(0);
    }
    if (!this.#padding && !rest.length) return Buffer.alloc(0);
    if (rest.length !== 16) throw bad("ERR_OSSL_WRONG_FINAL_BLOCK_LENGTH", "wrong final block length");
    const out = this.#crypt(rest);
    if (!this.#padding) return out;
    const n = out[15];
    if (n < 1 || n > 16 || !out.subarray(16 - n).every((byte) => byte === n))
      throw bad("ERR_OSSL_BAD_DECRYPT", "bad decrypt");
    return out.subarray(0, 16 - n);
  }
  update(data, inputEncoding, outputEncoding) {
    const out = this.#update(toBytes(data, inputEncoding));
    return outputEncoding && outputEncoding !== "buffer" ? out.toString(outputEncoding) : out;
  }
  final(encoding) {
    const out = this.#final();
    return encoding && encoding !== "buffer" ? out.toString(encoding) : out;
  }
  setAutoPadding(on = true) {
    this.#padding = Boolean(on);
    return this;
  }
  setAAD(data, options) {
    this.#aad = Buffer.concat([this.#aad, toBytes(data, options?.encoding)]);
    return this;
  }
  getAuthTag() {
    if (this.#decrypt || this.#mode !== "gcm" || !this.#over)
      throw Object.assign(new Error("Invalid state for operation getAuthTag"), { code: "ERR_CRYPTO_INVALID_STATE" });
    return this.#tag;
  }
  setAuthTag(tag, encoding) {
    const bytes = Buffer.from(toBytes(tag, encoding));
    if (![4, 8, 12, 13, 14, 15, 16].includes(bytes.length))
      throw Object.assign(new TypeError(`Invalid authentication tag length: ${bytes.length}`), {
        code: "ERR_CRYPTO_INVALID_AUTH_TAG",
      });
    this.#tag = bytes;
    return this;
  }
  _transform(chunk, encoding, callback) {
    this.#push(() => this.#update(toBytes(chunk, encoding)), callback);
  }
  _flush(callback) {
    this.#push(() => this.#final(), callback);
  }
  #push(make, callback) {
    try {
      const out = make();
      if (out.length) this.push(out);
    } catch (error) {
      callback(error);
      return;
    }
    callback();
  }
}

const bad = (code, reason) =>
  Object.assign(new Error(`error:1C80006B:Provider routines::${reason}`), { code, library: "Provider routines", reason });

function equal(a, b) {
  if (a.length !== b.length) return false;
  let difference = 0;
  for (let i = 0; i < a.length; i++) difference |= a[i] ^ b[i];
  return difference === 0;
}

export class Cipheriv extends Cipher {
  constructor(...args) {
    super(false, ...args);
  }
}

export class Decipheriv extends Cipher {
  constructor(...args) {
    super(true, ...args);
  }
}

