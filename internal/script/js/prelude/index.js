// The globals that agent code expects, as in Node.js and in browsers. It is the first
// module that runs.
import "./polyfill.js";
import "./timers.js";
import { performance } from "./performance.js";
import { DOMException } from "./exception.js";
import { AbortController, AbortSignal } from "./abort.js";
import { Blob, File, FormData } from "./blob.js";
import { Buffer } from "./buffer.js";
import { CompressionStream, DecompressionStream } from "./compression.js";
import { bind } from "./context.js";
import { Crypto } from "./crypto.js";
import { CustomEvent, ErrorEvent, Event, EventTarget, MessageEvent, reportError } from "./event.js";
import { atob, btoa, TextDecoder, TextEncoder } from "./encoding.js";
import { fetch, Request, Response } from "./fetch.js";
import { Headers } from "./headers.js";
import { install } from "./host.js";
import { Console, makeConsole } from "./console.js";
import { BroadcastChannel, MessageChannel, MessagePort } from "./messages.js";
import { process } from "./process.js";
import { TextDecoderStream, TextEncoderStream } from "./transforms.js";
import * as streams from "../third_party/web-streams-polyfill/ponyfill.js";
import { CryptoKey, SubtleCrypto } from "./subtle.js";
import { structuredClone } from "./clone.js";
import { URL } from "./url.js";
import { URLSearchParams } from "./query.js";
import "./imports.js";
import "./intl/index.js";

install(streams);
install({
  AbortController,
  AbortSignal,
  Blob,
  BroadcastChannel,
  Buffer,
  CompressionStream,
  Crypto,
  CryptoKey,
  CustomEvent,
  DOMException,
  DecompressionStream,
  ErrorEvent,
  Event,
  EventTarget,
  File,
  FormData,
  Headers,
  MessageChannel,
  MessageEvent,
  MessagePort,
  Request,
  Response,
  SubtleCrypto,
  TextDecoder,
  TextDecoderStream,
  TextEncoder,
  TextEncoderStream,
  URL,
  URLSearchParams,
  atob,
  btoa,
  fetch,
  performance,
  process,
  reportError,
  structuredClone,
  console: Object.assign(makeConsole(), { Console }),
  crypto: new Crypto(),
  global: globalThis,
  navigator: {
    userAgent: "parley",
    language: "en-US",
    languages: ["en-US"],
    hardwareConcurrency: 1,
    platform: process.platform,
    onLine: true,
  },
  queueMicrotask: (fn) => {
    if (typeof fn !== "function") throw new TypeError("queueMicrotask takes a function");
    const run = bind(fn);
    Promise.resolve().then(() => {
      try {
        run();
      } catch (error) {
        reportError(error);
      }
    });
  },
});

// Names that Node.js itself lacks, or that libraries ask for and do without,
// stay undefined: what looks for XMLHttpRequest must not find it.

// Few agents use it, and it is made when it is.
for (const name of ["WebSocket", "CloseEvent"]) {
  Object.defineProperty(globalThis, name, {
    configurable: true,
    get() {
      install(require("./websocket.js"));
      return globalThis[name];
    },
    set: (value) => install({ [name]: value }),
  });
}
