import { hostText } from "./host.js";

/** The bytes of a buffer or of a view of one, without copying them. */
export function bytesOf(source) {
  if (source instanceof Uint8Array) return source;
  if (ArrayBuffer.isView(source)) return new Uint8Array(source.buffer, source.byteOffset, source.byteLength);
  if (source instanceof ArrayBuffer || source instanceof SharedArrayBuffer) return new Uint8Array(source);
  throw new TypeError("An ArrayBuffer, or a view of one, is needed");
}

export const isBytes = (value) =>
  ArrayBuffer.isView(value) || value instanceof ArrayBuffer || value instanceof SharedArrayBuffer;

const { toBase64: nativeToBase64 } = Uint8Array.prototype;

export const toBase64 = (bytes, options) => nativeToBase64.call(bytes, options);
export const fromBase64 = (text, options) => Uint8Array.fromBase64(text, options);

export const encodeUTF8 = (text) => fromBase64(hostText("utf8.encode", text));
export const decodeUTF8 = (bytes) => (bytes.length ? hostText("utf8.decode", toBase64(bytes)) : "");
export const strictUTF8 = (bytes) => hostText("utf8.strict", toBase64(bytes));

/** A text of the characters with the numbers of the bytes. */
export function latin1(bytes) {
  let text = "";
  // Arguments go onto the stack, which is small.
  for (let i = 0; i < bytes.length; i += 4096) text += String.fromCharCode.apply(null, bytes.subarray(i, i + 4096));
  return text;
}

export function utf16le(bytes) {
  let text = "";
  const even = bytes.length & ~1;
  for (let i = 0; i < even; i += 2) text += String.fromCharCode(bytes[i] | (bytes[i + 1] << 8));
  return text;
}

export function concat(chunks) {
  let length = 0;
  for (const chunk of chunks) length += chunk.length;
  const all = new Uint8Array(length);
  let at = 0;
  for (const chunk of chunks) {
    all.set(chunk, at);
    at += chunk.length;
  }
  return all;
}
