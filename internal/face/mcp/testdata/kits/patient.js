// The kit gives a server half a second for some answers. A busy machine needs longer, so
// limits of half a second and more, and the clock that the kit reads, are ten times as
// slow. What the kit checks remains the same.
const scale = 10;
const { setTimeout } = globalThis;
globalThis.setTimeout = (call, delay, ...args) => setTimeout(call, delay >= 500 ? delay * scale : delay, ...args);
const { timeout } = AbortSignal;
AbortSignal.timeout = (delay) => timeout.call(AbortSignal, delay * scale);
const { now } = Date;
const start = now();
Date.now = () => start + (now() - start) / scale;
