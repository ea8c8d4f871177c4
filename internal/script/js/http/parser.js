// Parses responses of HTTP/1, byte by byte, in place of llhttp: for node:http, and
// for undici, which brings llhttp as WebAssembly. Where that one is strict, this is.

/** What the numbers are in llhttp. */
export const codes = {
  OK: 0,
  STRICT: 2,
  LF_EXPECTED: 3,
  UNEXPECTED_CONTENT_LENGTH: 4,
  CLOSED_CONNECTION: 5,
  INVALID_CONSTANT: 8,
  INVALID_VERSION: 9,
  INVALID_HEADER_TOKEN: 10,
  INVALID_CONTENT_LENGTH: 11,
  INVALID_CHUNK_SIZE: 12,
  INVALID_STATUS: 13,
  INVALID_EOF_STATE: 14,
  INVALID_TRANSFER_ENCODING: 15,
  PAUSED: 21,
  PAUSED_UPGRADE: 22,
  USER: 24,
  CR_EXPECTED: 25,
  HEADER_OVERFLOW: 100, // of Node.js
};

const names = "start version status reason reasonEnd line field gap value valueEnd headEnd known untilEnd size extension sizeEnd data dataEnd dataLast complete over closed";
const [start, version, status, reason, reasonEnd, line, field, gap, value, valueEnd, headEnd, known, untilEnd, size, extension, sizeEnd, data, dataEnd, dataLast, complete, over, closed] = names.split(" ").keys();

const [tab, lf, cr, space, colon, semicolon] = [9, 10, 13, 32, 58, 59];
const token = /^[!#$%&'*+\-.^_`|~\w]+$/;
const maxExtension = 16 << 10; // bytes of what may stand behind the size of a chunk

const latin1 = (bytes, from, to) => {
  let text = "";
  for (let i = from; i < to; i += 4096) text += String.fromCharCode.apply(null, bytes.subarray(i, Math.min(to, i + 4096)));
  return text;
};

function hexOf(byte) {
  if (byte >= 48 && byte <= 57) return byte - 48;
  const letter = byte | 32;
  return letter >= 97 && letter <= 102 ? letter - 87 : -1;
}

export class ResponseParser {
  /**
   * on has functions for the parts of a response: begin, reason, field, value,
   * header, headersComplete, body and messageComplete. Those for bytes get their
   * range in what is parsed. They return 0, or a code that ends the parsing, which
   * goes on with the next call of execute after PAUSED. headersComplete may also
   * return 1, if there is no body, and 2, if another protocol follows.
   */
  constructor(on, most) {
    this.on = on;
    this.most = most;
    this.state = start;
    this.reset();
  }
  reset() {
    this.text = ""; // of the version, and of the name of a header
    this.content = ""; // of a header
    this.head = 0; // bytes
    this.statusCode = 0;
    this.major = this.minor = 0;
    this.connection = [];
    this.encoding = "";
    this.length = -1;
    this.left = 0; // bytes of the body, or of a chunk
    this.upgrade = this.skip = this.trailing = this.chunked = false;
    this.protocol = false; // there is an Upgrade header
  }
  fail(code, reason, at) {
    this.code = code;
    this.reason = reason;
    this.at = at;
    return codes[code];
  }
  stop(code, at) {
    if (code === codes.PAUSED) return this.fail("PAUSED", "Paused", at);
    return this.fail("USER", "A callback has failed", at);
  }

  /** Parses bytes, and returns a code; at is the number of those that it has used. */
  execute(bytes) {
    const { on } = this;
    const n = bytes.length;
    let i = 0;
    for (;;) {
      // These need no byte.
      if (this.state === complete) {
        const more = this.keepAlive();
        this.state = this.upgrade ? over : more ? start : closed;
        const code = on.messageComplete();
        if (code) return this.stop(code, i);
        if (this.upgrade) return this.fail("PAUSED_UPGRADE", "Pause on CONNECT/Upgrade", i);
      }
      if (i >= n) break;
      const byte = bytes[i];
      if (this.state < known && (this.head += 1) > this.most) return this.fail("HEADER_OVERFLOW", "Header overflow", i);
      switch (this.state) {
        case start: {
          if (byte === cr || byte === lf) {
            i++;
            break;
          }
          this.reset();
          const code = on.begin();
          if (code) return this.stop(code, i);
          this.state = version;
          break;
        }
        case version: // HTTP/1.1 and a space
          this.text += String.fromCharCode(byte);
          if (!"HTTP/".startsWith(this.text.slice(0, 5))) return this.fail("INVALID_CONSTANT", "Expected HTTP/, RTSP/ or ICE/", i);
          i++;
          if (this.text.length < 9) break;
          if (!/^HTTP\/(1\.[01]|0\.9|2\.0) $/.test(this.text)) return this.fail("INVALID_VERSION", "Invalid HTTP version", i);
          [this.major, this.minor] = [Number(this.text[5]), Number(this.text[7])];
          this.text = "";
          this.state = status;
          break;
        case status:
          if (byte >= 48 && byte <= 57 && this.text.length < 3) {
            this.text += String.fromCharCode(byte);
            i++;
            break;
          }
          if (this.text.length !== 3 || (byte !== space && byte !== cr && byte !== lf))
            return this.fail("INVALID_STATUS", this.text.length < 3 ? "Invalid status code" : "Invalid response status", i);
          this.statusCode = Number(this.text);
          this.text = "";
          this.state = reason;
          if (byte === space) i++;
          break;
        case reason: {
          const from = i;
          while (i < n && bytes[i] !== cr && bytes[i] !== lf) i++;
          this.head += i - from;
          if (i > from) {
            const code = on.reason(from, i);
            if (code) return this.stop(code, i);
          }
          if (i < n) this.state = reasonEnd;
          if (bytes[i] === cr) i++;
          break;
        }
        case reasonEnd:
          if (byte !== lf) return this.fail("STRICT", "Expected LF after CR", i);
          i++;
          this.state = line;
          break;
        case line:
          if (byte === cr) {
            this.state = headEnd;
            i++;
          } else if (byte === lf) {
            return this.fail("CR_EXPECTED", "Missing expected CR after headers", i);
          } else if (byte === space || byte === tab) {
            return this.fail("INVALID_HEADER_TOKEN", "Unexpected whitespace after header value", i);
          } else {
            this.text = this.content = "";
            this.state = field;
          }
          break;
        case field: {
          const from = i;
          while (i < n && bytes[i] !== colon && bytes[i] > space) i++;
          this.head += i - from;
          this.text += latin1(bytes, from, i);
          if (i > from && !token.test(this.text)) return this.fail("INVALID_HEADER_TOKEN", "Invalid header token", i);
          if (i > from) {
            const code = on.field(from, i);
            if (code) return this.stop(code, i);
          }
          if (i >= n) break;
          if (bytes[i] !== colon || !this.text) return this.fail("INVALID_HEADER_TOKEN", "Invalid header token", i);
          i++;
          this.state = gap;
          break;
        }
        case gap:
          if (byte === space || byte === tab) i++;
          else this.state = value;
          break;
        case value: {
          const from = i;
          while (i < n && (bytes[i] >= space || bytes[i] === tab) && bytes[i] !== 127) i++;
          this.head += i - from;
          this.content += latin1(bytes, from, i);
          if (i > from || !this.content) {
            const code = on.value(from, i);
            if (code) return this.stop(code, i);
          }
          if (i >= n) break;
          if (bytes[i] === lf) return this.fail("CR_EXPECTED", "Missing expected CR after header value", i);
          if (bytes[i] !== cr) return this.fail("INVALID_HEADER_TOKEN", "Invalid header value char", i);
          i++;
          this.state = valueEnd;
          break;
        }
        case valueEnd: {
          if (byte !== lf) return this.fail("LF_EXPECTED", "Missing expected LF after header value", i);
          i++;
          this.state = line;
          const wrong = this.header(this.text, this.content.trim());
          if (wrong) return this.fail(...wrong, i);
          break;
        }
        case headEnd: {
          if (byte !== lf) return this.fail("STRICT", "Expected LF after headers", i);
          i++;
          if (this.trailing) {
            this.state = complete;
            break;
          }
          const code = this.afterHead();
          if (code) return code === codes.PAUSED || code < 0 ? this.stop(code, i) : this.fail("INVALID_TRANSFER_ENCODING", "Request has invalid `Transfer-Encoding`", i);
          break;
        }
        case known:
        case data: {
          const to = Math.min(n, i + this.left);
          this.left -= to - i;
          if (this.left === 0) this.state = this.state === data ? dataEnd : complete;
          const code = on.body(i, to);
          i = to;
          if (code) return this.stop(code, i);
          break;
        }
        case untilEnd: {
          const code = on.body(i, n);
          i = n;
          if (code) return this.stop(code, i);
          break;
        }
        case size: {
          const digit = hexOf(byte);
          if (digit >= 0) {
            this.left = this.left * 16 + digit;
            this.text += "x";
            if (this.text.length > 13) return this.fail("INVALID_CHUNK_SIZE", "Chunk size overflow", i);
            i++;
          } else if (this.text && (byte === cr || byte === semicolon)) {
            this.state = byte === cr ? sizeEnd : extension;
            this.text = "";
            i++;
          } else return this.fail("INVALID_CHUNK_SIZE", "Invalid character in chunk size", i);
          break;
        }
        case extension:
          if (++this.extra > maxExtension) return this.fail("INVALID_CHUNK_SIZE", "Chunk extensions overflow", i);
          if (byte === lf) return this.fail("STRICT", "Invalid character in chunk extensions", i);
          if (byte === cr) this.state = sizeEnd;
          i++;
          break;
        case sizeEnd:
          if (byte !== lf) return this.fail("STRICT", "Expected LF after chunk size", i);
          i++;
          this.trailing = this.left === 0;
          this.state = this.trailing ? line : data;
          break;
        case dataEnd:
          if (byte !== cr) return this.fail("STRICT", "Expected LF after chunk data", i);
          i++;
          this.state = dataLast;
          break;
        case dataLast:
          if (byte !== lf) return this.fail("STRICT", "Expected LF after chunk data", i);
          i++;
          this.state = size;
          break;
        case closed:
          return this.fail("CLOSED_CONNECTION", "Data after `Connection: close`", i);
        default: // another protocol, whose bytes are not parsed
          return this.fail("PAUSED_UPGRADE", "Pause on CONNECT/Upgrade", i);
      }
    }
    this.at = i;
    return codes.OK;
  }

  /** The other side sends nothing more. */
  finish() {
    if (this.state === untilEnd) {
      this.state = complete;
      return this.execute(new Uint8Array());
    }
    if (this.state === start || this.state >= complete) return codes.OK;
    return this.fail("INVALID_EOF_STATE", "Invalid EOF state", 0);
  }

  header(name, text) {
    this.on.header(name, text, this.trailing);
    if (this.trailing) return undefined;
    switch (name.toLowerCase()) {
      case "content-length":
        if (this.length >= 0) return ["UNEXPECTED_CONTENT_LENGTH", "Duplicate Content-Length"];
        if (!/^\d{1,15}$/.test(text)) return ["INVALID_CONTENT_LENGTH", "Invalid character in Content-Length"];
        if (this.encoding) return ["INVALID_CONTENT_LENGTH", "Content-Length can't be present with Transfer-Encoding"];
        this.length = Number(text);
        break;
      case "transfer-encoding":
        if (this.length >= 0) return ["INVALID_TRANSFER_ENCODING", "Transfer-Encoding can't be present with Content-Length"];
        this.encoding += `,${text}`;
        break;
      case "connection":
        this.connection.push(...text.toLowerCase().split(",").map((word) => word.trim()));
        break;
      case "upgrade":
        this.protocol = true;
        break;
    }
    return undefined;
  }

  afterHead() {
    const { statusCode } = this;
    this.chunked = /(?:^|,)\s*chunked\s*$/i.test(this.encoding);
    this.upgrade = statusCode === 101 && this.protocol && this.connection.includes("upgrade");
    const code = this.on.headersComplete(statusCode, this.upgrade, this.keepAlive());
    if (code === 2) this.upgrade = true;
    this.skip = code === 1 || code === 2;
    if (this.upgrade || this.empty()) this.state = complete;
    else if (this.chunked) [this.state, this.text, this.extra] = [size, "", 0];
    else if (this.encoding) this.state = untilEnd;
    else if (this.length >= 0) [this.state, this.left] = [this.length ? known : complete, this.length];
    else this.state = untilEnd;
    return code === 1 || code === 2 ? 0 : code;
  }

  empty() {
    const { statusCode } = this;
    return this.skip || statusCode < 200 || statusCode === 204 || statusCode === 304;
  }

  /** Whether another response may follow on this connection. */
  keepAlive() {
    if (this.major === 1 && this.minor === 1) {
      if (this.connection.includes("close")) return false;
    } else if (!this.connection.includes("keep-alive")) return false;
    return this.empty() || this.chunked || (this.length >= 0 && !this.encoding);
  }
}
