import { encode, encodeQuery, isSpecial, parse, parsePort, replaceHost, segments } from "./address.js";
import { bind, reset, URLSearchParams } from "./query.js";

function invalid(input, base) {
  const error = new TypeError("Invalid URL");
  error.code = "ERR_INVALID_URL";
  error.input = input;
  if (base !== undefined) error.base = base;
  return error;
}

const clean = (value) =>
  String(value)
    .toWellFormed()
    .replace(/[\t\n\r]/g, "");

export class URL {
  #url;
  #params;

  constructor(input, base) {
    const from = base === undefined ? null : parse(String(base).toWellFormed());
    if (base !== undefined && !from) throw invalid(String(input), String(base));
    this.#url = parse(String(input).toWellFormed(), from);
    if (!this.#url) throw invalid(String(input), base === undefined ? undefined : String(base));
  }
  static canParse(input, base) {
    const from = base === undefined ? null : parse(String(base));
    return (base === undefined || from !== null) && parse(String(input), from) !== null;
  }
  static parse(input, base) {
    return URL.canParse(input, base) ? new URL(input, base) : null;
  }
  static createObjectURL() {
    throw new Error("URL.createObjectURL is not available in this runtime: pass the Blob itself");
  }
  static revokeObjectURL() {}

  get href() {
    const { scheme, username, password, host, port, path, query, fragment } = this.#url;
    let out = scheme;
    if (host !== null) {
      out += "//";
      if (username || password) out += `${username}${password ? `:${password}` : ""}@`;
      out += host + (port ? `:${port}` : "");
    } else if (typeof path !== "string" && path.length > 1 && path[0] === "") {
      out += "/."; // otherwise the path would read as a host
    }
    out += this.pathname;
    if (query !== null) out += `?${query}`;
    if (fragment !== null) out += `#${fragment}`;
    return out;
  }
  set href(value) {
    const url = parse(String(value).toWellFormed());
    if (!url) throw invalid(String(value));
    this.#url = url;
    this.#sync();
  }
  #sync() {
    if (this.#params) reset(this.#params, this.#url.query ?? "");
  }

  get origin() {
    const { scheme, host, port, path } = this.#url;
    if (scheme === "blob:" && typeof path === "string") {
      const inner = parse(path);
      return inner && /^https?:$/.test(inner.scheme) ? new URL(path).origin : "null";
    }
    return isSpecial(scheme) && scheme !== "file:" ? `${scheme}//${host}${port ? `:${port}` : ""}` : "null";
  }
  get protocol() {
    return this.#url.scheme;
  }
  set protocol(value) {
    const match = /^([a-z][a-z0-9+.-]*)(:|$)/i.exec(clean(value));
    if (!match) return;
    const scheme = `${match[1].toLowerCase()}:`;
    const url = this.#url;
    if (isSpecial(scheme) !== isSpecial(url.scheme)) return;
    if (scheme === "file:" && (url.username || url.password || url.port)) return;
    if (url.scheme === "file:" && url.host === "") return;
    url.scheme = scheme;
    url.port = parsePort(url.port, scheme);
  }
  get username() {
    return this.#url.username;
  }
  set username(value) {
    if (this.#nameable()) this.#url.username = encode(String(value), "userinfo");
  }
  get password() {
    return this.#url.password;
  }
  set password(value) {
    if (this.#nameable()) this.#url.password = encode(String(value), "userinfo");
  }
  #nameable() {
    return this.#url.host !== null && this.#url.host !== "" && this.#url.scheme !== "file:";
  }
  get host() {
    const { host, port } = this.#url;
    return host === null ? "" : host + (port ? `:${port}` : "");
  }
  set host(value) {
    if (typeof this.#url.path !== "string") replaceHost(this.#url, String(value).toWellFormed(), true);
  }
  get hostname() {
    return this.#url.host ?? "";
  }
  set hostname(value) {
    if (typeof this.#url.path !== "string") replaceHost(this.#url, String(value).toWellFormed(), false);
  }
  get port() {
    return this.#url.port;
  }
  set port(value) {
    if (!this.#nameable()) return;
    const text = clean(value);
    const digits = /^[0-9]+/.exec(text)?.[0];
    if (text === "") this.#url.port = "";
    else if (digits) this.#url.port = parsePort(digits, this.#url.scheme) ?? this.#url.port;
  }
  get pathname() {
    const { path } = this.#url;
    return typeof path === "string" ? path : path.map((segment) => `/${segment}`).join("");
  }
  set pathname(value) {
    if (typeof this.#url.path === "string") return;
    const text = clean(value);
    const slash = isSpecial(this.#url.scheme) ? /^[/\\]/ : /^\//;
    const path = text.replace(slash, "").replaceAll("?", "%3F").replaceAll("#", "%23");
    const none = text === "" && !isSpecial(this.#url.scheme) && this.#url.host !== null;
    this.#url.path = none ? [] : segments(path, this.#url, []);
  }
  get search() {
    return this.#url.query ? `?${this.#url.query}` : "";
  }
  set search(value) {
    const text = clean(value);
    this.#url.query =
      text === "" ? null : encodeQuery(text.replace(/^\?/, "").replaceAll("#", "%23"), this.#url.scheme);
    this.#trim();
    this.#sync();
  }
  // Spaces at the end of an address would be lost when it is read again.
  #trim() {
    const url = this.#url;
    if (typeof url.path === "string" && url.query === null && url.fragment === null) url.path = url.path.trimEnd();
  }
  get searchParams() {
    if (!this.#params) {
      this.#params = new URLSearchParams();
      this.#sync();
      bind(this.#params, (text) => {
        this.#url.query = text || null;
        this.#trim();
      });
    }
    return this.#params;
  }
  get hash() {
    return this.#url.fragment ? `#${this.#url.fragment}` : "";
  }
  set hash(value) {
    const text = clean(value);
    this.#url.fragment = text === "" ? null : encode(text.replace(/^#/, ""), "fragment");
    this.#trim();
  }
  toString() {
    return this.href;
  }
  toJSON() {
    return this.href;
  }
  [Symbol.for("nodejs.util.inspect.custom")](depth, options, inspect) {
    if (depth < 0) return this;
    const parts = {};
    for (const name of [
      "href",
      "origin",
      "protocol",
      "username",
      "password",
      "host",
      "hostname",
      "port",
      "pathname",
      "search",
      "searchParams",
      "hash",
    ]) {
      parts[name] = this[name];
    }
    return `URL ${inspect(parts, options)}`;
  }
  get [Symbol.toStringTag]() {
    return "URL";
  }
}
