import { bytesOf, fromBase64, toBase64 } from "./bytes.js";
import { DOMException } from "./exception.js";
import { host } from "./host.js";
import { subtle } from "./subtle.js";

export const randomBytes = (n) => {
  const parts = [];
  for (let left = n; left > 0; left -= 65536) parts.push(fromBase64(host("random", Math.min(left, 65536))));
  const all = new Uint8Array(n);
  parts.forEach((part, i) => all.set(part, i * 65536));
  return all;
};

export function randomUUID() {
  const bytes = randomBytes(16);
  bytes[6] = (bytes[6] & 0x0f) | 0x40;
  bytes[8] = (bytes[8] & 0x3f) | 0x80;
  return uuidText(bytes);
}

export function uuidText(bytes) {
  const hex = bytes.toHex();
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}

/** The hash of bytes, with a key if there is one. */
export const digest = (algorithm, bytes, key) =>
  fromBase64(host("hash", { algorithm, data: toBase64(bytes), ...(key && { key: toBase64(key) }) }));

const integers = [
  Int8Array,
  Uint8Array,
  Uint8ClampedArray,
  Int16Array,
  Uint16Array,
  Int32Array,
  Uint32Array,
  BigInt64Array,
  BigUint64Array,
];

export class Crypto {
  getRandomValues(array) {
    if (!integers.some((type) => array instanceof type))
      throw new DOMException("getRandomValues takes an array of integers", "TypeMismatchError");
    if (array.byteLength > 65536) {
      throw new DOMException(
        `The requested length of ${array.byteLength} bytes exceeds 65,536 bytes`,
        "QuotaExceededError",
      );
    }
    bytesOf(array).set(randomBytes(array.byteLength));
    return array;
  }
  randomUUID() {
    return randomUUID();
  }
  get subtle() {
    return subtle;
  }
  get [Symbol.toStringTag]() {
    return "Crypto";
  }
}
