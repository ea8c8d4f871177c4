// WebAssembly as far as undici needs it: whatever the module, an instance of it is
// llhttp, with a parser of this runtime inside. The bundler gives it to undici alone.
import { ResponseParser } from "./parser.js";

const reserved = 1024; // bytes before those that are parsed, for the text of an error
const maxHead = 1 << 20; // undici has a limit of its own, which is lower

class Instance {
  constructor(_, { env }) {
    const memory = { buffer: new ArrayBuffer(reserved) };
    const parsers = new Map();
    let last = 0;
    let start = reserved; // of what is being parsed
    const parse = (id, bytes) => parsers.get(id).execute(bytes);
    this.exports = {
      memory,
      malloc(size) {
        memory.buffer = new ArrayBuffer(reserved + size);
        return reserved;
      },
      free() {},
      llhttp_alloc() {
        const id = ++last;
        const range = (name) => (from, to) => env[name](id, start + from, to - from);
        parsers.set(
          id,
          new ResponseParser(
            {
              begin: () => env.wasm_on_message_begin(id),
              reason: range("wasm_on_status"),
              field: range("wasm_on_header_field"),
              value: range("wasm_on_header_value"),
              header() {},
              headersComplete: (status, upgrade, keepAlive) => env.wasm_on_headers_complete(id, status, Number(upgrade), Number(keepAlive)),
              body: range("wasm_on_body"),
              messageComplete: () => env.wasm_on_message_complete(id),
            },
            maxHead,
          ),
        );
        return id;
      },
      llhttp_free: (id) => void parsers.delete(id),
      llhttp_execute(id, at, length) {
        start = at;
        return parse(id, new Uint8Array(memory.buffer, at, length));
      },
      llhttp_finish: (id) => parsers.get(id).finish(),
      llhttp_resume() {},
      llhttp_get_error_pos: (id) => start + parsers.get(id).at,
      llhttp_get_error_reason(id) {
        const text = Buffer.from(`${parsers.get(id).reason ?? ""}\0`, "latin1");
        new Uint8Array(memory.buffer, 8, text.length).set(text); // an address is not 0
        return 8;
      },
    };
  }
}

class Module {}

export const WebAssembly = {
  Module,
  Instance,
  compile: async () => new Module(),
  instantiate: async (module, imports) => new Instance(module, imports),
};
