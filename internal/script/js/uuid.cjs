const { randomBytes, randomUUID, uuidText } = require("./prelude/crypto.js");

const pattern =
  /^(?:[0-9a-f]{8}-[0-9a-f]{4}-[1-8][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}|0{8}(?:-0{4}){3}-0{12}|f{8}(?:-f{4}){3}-f{12})$/i;

const validate = (id) => typeof id === "string" && pattern.test(id);

function parse(id) {
  if (!validate(id)) throw new TypeError("Invalid UUID");
  return new Uint8Array(Buffer.from(id.replaceAll("-", ""), "hex"));
}

/** Writes a UUID into the buffer that was given, or as text. */
function give(id, buffer, offset = 0) {
  if (!buffer) return id;
  parse(id).forEach((byte, i) => (buffer[offset + i] = byte));
  return buffer;
}

const v4 = (options, buffer, offset) => give(randomUUID(), buffer, offset);

/** The time first, so that later ones sort behind earlier ones. */
function v7(options, buffer, offset) {
  const bytes = randomBytes(16);
  let ms = options?.msecs ?? Date.now();
  for (let i = 5; i >= 0; i--, ms = Math.floor(ms / 256)) bytes[i] = ms % 256;
  bytes[6] = (bytes[6] & 0x0f) | 0x70;
  bytes[8] = (bytes[8] & 0x3f) | 0x80;
  return give(uuidText(bytes), buffer, offset);
}

const hashed = (name) => () => {
  throw new Error(
    `${name} of uuid is not available in this runtime: install the package uuid in the directory of the agent`,
  );
};

module.exports = {
  v4,
  v7,
  v1: v4, // it must not reveal the time or the machine, so a random one is as good
  v6: v7,
  v3: hashed("v3"),
  v5: hashed("v5"),
  validate,
  version: (id) => {
    if (!validate(id)) throw new TypeError("Invalid UUID");
    return parseInt(id[14], 16);
  },
  parse,
  stringify: (bytes, offset = 0) => uuidText(Uint8Array.from(bytes).subarray(offset, offset + 16)),
  NIL: "00000000-0000-0000-0000-000000000000",
  MAX: "ffffffff-ffff-ffff-ffff-ffffffffffff",
};
