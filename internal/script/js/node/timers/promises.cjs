const wait =
  (start, stop) =>
  (value, { signal } = {}) =>
    new Promise((resolve, reject) => {
      const fail = () => {
        stop(timer);
        reject(new DOMException("The operation was aborted", { name: "AbortError", cause: signal.reason }));
      };
      const timer = start(() => {
        signal?.removeEventListener("abort", fail);
        resolve(value);
      });
      if (signal?.aborted) fail();
      else signal?.addEventListener("abort", fail, { once: true });
    });

const sleep = (ms, value, options) => wait((fn) => setTimeout(fn, ms), clearTimeout)(value, options);

module.exports = {
  setTimeout: sleep,
  setImmediate: (value, options) => wait((fn) => setImmediate(fn), clearImmediate)(value, options),
  async *setInterval(ms, value, options) {
    for (;;) yield sleep(ms, value, options);
  },
  scheduler: { wait: (ms, options) => sleep(ms, undefined, options), yield: () => sleep(0) },
};
