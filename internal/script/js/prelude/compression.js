// Streams of compressed data: Go keeps their state, see host/zlib_stream.go.
import { currentCall, requestStream } from "../guest.js";
import { bytesOf, fromBase64, toBase64 } from "./bytes.js";
import { hostText } from "./host.js";
import { Transformed } from "./transforms.js";

// A stream that is never ended would be open until the engine ends.
const forgotten = new FinalizationRegistry((items) => void items.return());
const none = new Uint8Array(0);

/** Data that is compressed or decompressed piece by piece. */
export class Codec {
  #params;
  #items;
  #id;
  #over = false;
  constructor(params) {
    this.#params = params;
  }
  /** Passes a piece to Go, and what comes out of it to push. kind is w, f to flush, or e for the last piece. */
  async write(kind, bytes, push) {
    if (this.#over) return;
    if (!this.#items) {
      const call = currentCall();
      this.#items = requestStream("zlib", this.#params, call && { id: call.id });
      forgotten.register(this, this.#items);
      this.#id = (await this.#items.next()).value;
    }
    hostText("zlib.write", `${this.#id} ${kind} ${toBase64(bytes)}`);
    for (;;) {
      const { done, value } = await this.#items.next();
      if (done) this.#over = true;
      if (done || value === "") return;
      push(fromBase64(value));
    }
  }
  end(push) {
    return this.write("e", none, push);
  }
  close() {
    this.#over = true;
    void this.#items?.return();
  }
}

const formats = ["gzip", "deflate", "deflate-raw"];

function transform(format, compress) {
  if (!formats.includes(format)) {
    const error = new TypeError(`The argument 'format' must be one of: ${formats.map((f) => `'${f}'`).join(", ")}. Received ${format}`);
    throw Object.assign(error, { code: "ERR_INVALID_ARG_VALUE" });
  }
  const codec = new Codec({ format, compress, level: -1 });
  const out = (controller) => (bytes) => controller.enqueue(bytes);
  return {
    async transform(chunk, controller) {
      await codec.write("w", bytesOf(chunk), out(controller));
    },
    flush: (controller) => codec.end(out(controller)),
    cancel: () => codec.close(),
  };
}

export class CompressionStream extends Transformed {
  constructor(format) {
    super(transform(format, true));
  }
}

export class DecompressionStream extends Transformed {
  constructor(format) {
    super(transform(format, false));
  }
}
