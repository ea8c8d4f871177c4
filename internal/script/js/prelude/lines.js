// The lines of a stream, for both modules of Node.js that read them. There is no terminal.
import EventEmitter from "../node/events.cjs";
import { StringDecoder } from "../node/string_decoder.cjs";
import { absent } from "./absent.js";

export const advice = "people speak to an agent through the server, and what they say comes with the context";
const terminal = absent("node:readline", advice, "createInterface clearLine clearScreenDown cursorTo emitKeypressEvents moveCursor");

export class Interface extends EventEmitter {
  #rest = "";
  #decoder = new StringDecoder("utf8");
  constructor(input, ...old) {
    super();
    const options = typeof input?.on === "function" ? { input, output: old[0] } : (input ?? {});
    if (typeof options.input?.on !== "function" || options.input === process.stdin) terminal.createInterface(options);
    this.input = options.input;
    this.output = options.output;
    this.closed = false;
    this.terminal = false;
    this.line = "";
    this.input.on("data", (part) => this.#take(typeof part === "string" ? part : this.#decoder.write(part)));
    this.input.on("end", () => this.#end());
    this.input.on("error", (error) => this.emit("error", error));
    const { signal } = options;
    if (signal?.aborted) process.nextTick(() => this.close());
    else signal?.addEventListener("abort", () => this.close(), { once: true });
    this.input.resume?.();
  }
  #take(text) {
    if (this.closed) return;
    const all = this.#rest + text;
    const lines = all.split(/\r\n|\n|\r(?!$)|\u2028|\u2029/); // a \n may follow the last \r
    this.#rest = lines.pop();
    for (const line of lines) this.emit("line", line);
  }
  #end() {
    if (this.closed) return;
    const rest = this.#rest + this.#decoder.end();
    this.#rest = "";
    if (rest) this.emit("line", rest.replace(/\r$/, ""));
    this.close();
  }
  close() {
    if (this.closed) return;
    this.pause();
    this.closed = true;
    this.emit("close");
  }
  pause() {
    this.input.pause?.();
    this.emit("pause");
    return this;
  }
  resume() {
    this.input.resume?.();
    this.emit("resume");
    return this;
  }
  setPrompt(text) {
    this.prompted = text;
  }
  getPrompt() {
    return this.prompted ?? "> ";
  }
  prompt() {
    this.output?.write?.(this.getPrompt());
  }
  write() {}
  question(query, options, done = options) {
    this.output?.write?.(query);
    this.once("line", done);
  }
  [Symbol.asyncIterator]() {
    const lines = [];
    let wake = () => {};
    let failed;
    this.on("line", (line) => (lines.push(line), wake()));
    this.on("close", () => wake());
    this.on("error", (error) => ((failed = error), wake()));
    return async function* () {
      try {
        for (;;) {
          if (lines.length > 0) yield lines.shift();
          else if (failed) throw failed;
          else if (this.closed) return;
          else await new Promise((resolve) => (wake = resolve));
        }
      } finally {
        this.close();
      }
    }.call(this);
  }
}
