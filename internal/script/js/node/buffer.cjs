const { Buffer, constants } = require("../prelude/buffer.js");
const { partial } = require("../prelude/absent.js");

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
    isAscii: (input) => Buffer.from(input).every((byte) => byte < 0x80),
  },
  "SlowBuffer transcode resolveObjectURL",
  "use Buffer.from and toString with an encoding",
);
