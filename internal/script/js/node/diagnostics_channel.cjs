const { partial } = require("../prelude/absent.js");

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

module.exports = partial(
  "node:diagnostics_channel",
  {
    Channel,
    channel,
    hasSubscribers: (name) => channels.get(name)?.hasSubscribers ?? false,
    subscribe: (name, fn) => channel(name).subscribe(fn),
    unsubscribe: (name, fn) => channel(name).unsubscribe(fn),
  },
  "tracingChannel",
  "use channel",
);
