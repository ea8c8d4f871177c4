class Channel {
  #subscribers = new Set();
  constructor(name) {
    this.name = name;
  }
  get hasSubscribers() {
    return this.#subscribers.size > 0;
  }
  subscribe(fn) {
    this.#subscribers.add(fn);
  }
  unsubscribe(fn) {
    return this.#subscribers.delete(fn);
  }
  publish(message) {
    for (const fn of [...this.#subscribers]) {
      try {
        fn(message, this.name);
      } catch (error) {
        reportError(error);
      }
    }
  }
  runStores(message, fn, self, ...args) {
    this.publish(message);
    return Reflect.apply(fn, self, args);
  }
}

const channels = new Map();
function channel(name) {
  if (!channels.has(name)) channels.set(name, new Channel(name));
  return channels.get(name);
}

/** Libraries trace what they do, for subscribers. Here there are none: the
 * functions are run as they are. */
class TracingChannel {
  hasSubscribers = false;
  constructor(name) {
    for (const part of ["start", "end", "asyncStart", "asyncEnd", "error"]) this[part] = channel(`tracing:${name}:${part}`);
  }
  subscribe() {}
  unsubscribe() {
    return false;
  }
  traceSync(fn, _context, self, ...args) {
    return Reflect.apply(fn, self, args);
  }
  async tracePromise(fn, _context, self, ...args) {
    return Reflect.apply(fn, self, args);
  }
  traceCallback(fn, _position, _context, self, ...args) {
    return Reflect.apply(fn, self, args);
  }
}

module.exports = {
  Channel,
  TracingChannel,
  channel,
  tracingChannel: (name) => new TracingChannel(typeof name === "string" ? name : "own"),
  hasSubscribers: (name) => channels.get(name)?.hasSubscribers ?? false,
  subscribe: (name, fn) => channel(name).subscribe(fn),
  unsubscribe: (name, fn) => channel(name).unsubscribe(fn),
};
