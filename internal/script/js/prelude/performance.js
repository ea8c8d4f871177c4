import { hostText } from "./host.js";
import { EventTarget } from "./event.js";

/** The time since the application began, in nanoseconds, as text. */
export const nanoseconds = () => hostText("now", "");

class Performance extends EventTarget {
  timeOrigin = Date.now() - Number(nanoseconds()) / 1e6;
  #entries = [];

  now() {
    return Number(nanoseconds()) / 1e6;
  }
  #add(entry) {
    if (this.#entries.length >= 1000) this.#entries.shift(); // they are kept for as long as the application lives
    this.#entries.push(entry);
    return entry;
  }
  mark(name, { startTime = this.now(), detail = null } = {}) {
    return this.#add({ name: String(name), entryType: "mark", startTime, duration: 0, detail });
  }
  measure(name, from, to) {
    const options = typeof from === "object" && from ? from : { start: from, end: to };
    const start = this.#at(options.start, 0);
    const end = this.#at(options.end, this.now());
    return this.#add({
      name: String(name),
      entryType: "measure",
      startTime: start,
      duration: end - start,
      detail: options.detail ?? null,
    });
  }
  #at(mark, otherwise) {
    if (mark === undefined) return otherwise;
    if (typeof mark === "number") return mark;
    const entry = this.#entries.findLast((e) => e.name === mark && e.entryType === "mark");
    if (!entry) throw new DOMException(`The "${mark}" performance mark has not been set`, "SyntaxError");
    return entry.startTime;
  }
  getEntries() {
    return [...this.#entries];
  }
  getEntriesByName(name, type) {
    return this.#entries.filter((e) => e.name === name && (type === undefined || e.entryType === type));
  }
  getEntriesByType(type) {
    return this.#entries.filter((e) => e.entryType === type);
  }
  #clear(type, name) {
    this.#entries = this.#entries.filter((e) => e.entryType !== type || (name !== undefined && e.name !== name));
  }
  clearMarks(name) {
    this.#clear("mark", name);
  }
  clearMeasures(name) {
    this.#clear("measure", name);
  }
  timerify(fn) {
    return fn;
  }
  eventLoopUtilization() {
    return { idle: 0, active: 0, utilization: 0 };
  }
  toJSON() {
    return { timeOrigin: this.timeOrigin };
  }
}

export const performance = new Performance();
