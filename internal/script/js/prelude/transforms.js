// Streams that change what passes through them; those that decode and encode text.
import { TextDecoder, TextEncoder } from "./encoding.js";
import { TransformStream } from "../third_party/web-streams-polyfill/ponyfill.js";

/** What is made of a transformation, and is not one itself. */
export class Transformed {
  #pair;
  constructor(transformer) {
    this.#pair = new TransformStream(transformer);
  }
  get readable() {
    return this.#pair.readable;
  }
  get writable() {
    return this.#pair.writable;
  }
}

export class TextDecoderStream extends Transformed {
  #decoder;
  constructor(label, options) {
    const decoder = new TextDecoder(label, options);
    super({
      transform(chunk, controller) {
        const text = decoder.decode(chunk, { stream: true });
        if (text) controller.enqueue(text);
      },
      flush(controller) {
        const text = decoder.decode();
        if (text) controller.enqueue(text);
      },
    });
    this.#decoder = decoder;
  }
  get encoding() {
    return this.#decoder.encoding;
  }
  get fatal() {
    return this.#decoder.fatal;
  }
  get ignoreBOM() {
    return this.#decoder.ignoreBOM;
  }
}

export class TextEncoderStream extends Transformed {
  constructor() {
    let half = ""; // the first half of a character whose second comes with the next chunk
    const encoder = new TextEncoder();
    super({
      transform(chunk, controller) {
        let text = half + chunk;
        half = /[\ud800-\udbff]$/.test(text) ? text.at(-1) : "";
        text = half ? text.slice(0, -1) : text;
        if (text) controller.enqueue(encoder.encode(text));
      },
      flush(controller) {
        if (half) controller.enqueue(encoder.encode(half));
      },
    });
  }
  get encoding() {
    return "utf-8";
  }
}
