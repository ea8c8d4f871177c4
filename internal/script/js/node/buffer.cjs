const { Buffer, constants } = require("../prelude/buffer.js");
const { partial } = require("../prelude/absent.js");

// The characters that an encoding does not have.
const charsets = {
  ascii: /[^\0-\x7f]/gu,
  latin1: /[^\0-\xff]/gu,
  binary: /[^\0-\xff]/gu,
  ucs2: "all",
  "ucs-2": "all",
  utf16le: "all",
  "utf-16le": "all",
  utf8: "all",
  "utf-8": "all",
};

module.exports = partial(
  "node:buffer",
  {
    Buffer,
    Blob,
    File,
    atob,
    btoa,
    constants,
    kMaxLength: constants.MAX_LENGTH,
    kStringMaxLength: constants.MAX_STRING_LENGTH,
    INSPECT_MAX_BYTES: 50,
    isUtf8(input) {
      try {
        new TextDecoder("utf-8", { fatal: true }).decode(input);
        return true;
      } catch {
        return false;
      }
    },
    transcode(source, from, to) {
      const [input, output] = [from, to].map((name) => charsets[String(name).toLowerCase()]);
      if (!input || !output) throw Object.assign(new Error(`Unable to transcode Buffer [U_ILLEGAL_ARGUMENT_ERROR]`), { code: "U_ILLEGAL_ARGUMENT_ERROR", errno: 1 });
      const text = Buffer.from(source).toString(from);
      return Buffer.from(output === "all" ? text : text.replace(output, "?"), to);
    },
    SlowBuffer: function SlowBuffer(size) {
      return Buffer.allocUnsafeSlow(size);
    },
    isAscii: (input) => Buffer.from(input).every((byte) => byte < 0x80),
  },
  "resolveObjectURL",
  "pass the Blob itself",
);
