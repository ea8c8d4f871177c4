const { partial } = require("../prelude/absent.js");

function fileURLToPath(input) {
  const url = typeof input === "string" ? new URL(input) : input;
  if (!(url instanceof URL))
    throw Object.assign(new TypeError('The "path" argument must be of type string or an instance of URL'), {
      code: "ERR_INVALID_ARG_TYPE",
    });
  if (url.protocol !== "file:")
    throw Object.assign(new TypeError("The URL must be of scheme file"), { code: "ERR_INVALID_URL_SCHEME" });
  if (url.hostname && process.platform !== "win32") {
    throw Object.assign(new TypeError(`File URL host must be "localhost" or empty on ${process.platform}`), {
      code: "ERR_INVALID_FILE_URL_HOST",
    });
  }
  if (/%2f/i.test(url.pathname))
    throw Object.assign(new TypeError("File URL path must not include encoded / characters"), {
      code: "ERR_INVALID_FILE_URL_PATH",
    });
  const path = decodeURIComponent(url.pathname);
  return process.platform === "win32" ? path.replace(/^\/(?=[A-Za-z]:)/, "").replaceAll("/", "\\") : path;
}

function pathToFileURL(path) {
  const full = require("./path.cjs").resolve(path) + (/[/\\]$/.test(path) ? "/" : "");
  const url = new URL("file:///");
  url.pathname = full
    .replaceAll("%", "%25")
    .replaceAll("\\", "%5C")
    .replaceAll("\n", "%0A")
    .replaceAll("\r", "%0D")
    .replaceAll("\t", "%09");
  return url;
}

/** url.parse, which is old: what it says of an address that it can read. */
function parse(text, withQuery = false) {
  const match = /^(?:([a-z][a-z0-9+.-]*:))?(\/\/)?(.*)$/is.exec(String(text).trim());
  const out = {
    protocol: null,
    slashes: null,
    auth: null,
    host: null,
    port: null,
    hostname: null,
    hash: null,
    search: null,
    query: null,
    pathname: null,
    path: null,
    href: "",
  };
  out.protocol = match[1]?.toLowerCase() ?? null;
  let rest = match[3];
  const cut = (at, key) => {
    const i = rest.indexOf(at);
    if (i < 0) return;
    out[key] = rest.slice(i);
    rest = rest.slice(0, i);
  };
  cut("#", "hash");
  cut("?", "search");
  if (match[2] && out.protocol !== null) {
    out.slashes = true;
    const end = rest.indexOf("/");
    let place = end < 0 ? rest : rest.slice(0, end);
    rest = end < 0 ? (/^https?:$/.test(out.protocol) ? "/" : "") : rest.slice(end);
    const at = place.lastIndexOf("@");
    if (at >= 0) {
      out.auth = decodeURIComponent(place.slice(0, at));
      place = place.slice(at + 1);
    }
    const port = /:([0-9]*)$/.exec(place);
    out.port = port?.[1] || null;
    out.hostname = (port ? place.slice(0, port.index) : place).toLowerCase().replace(/^\[|\]$/g, "");
    out.host = (out.hostname.includes(":") ? `[${out.hostname}]` : out.hostname) + (out.port ? `:${out.port}` : "");
  } else if (match[2]) {
    rest = match[2] + rest;
  }
  out.pathname = rest || null;
  out.query = out.search ? out.search.slice(1) : null;
  if (withQuery) out.query = require("./querystring.cjs").parse(out.query ?? "");
  out.path = out.pathname || out.search ? (out.pathname ?? "") + (out.search ?? "") : null;
  out.href = format(out);
  return out;
}

function format(object, options = {}) {
  if (object instanceof URL) {
    const url = new URL(object);
    if (options.fragment === false) url.hash = "";
    if (options.search === false) url.search = "";
    if (options.auth === false) url.username = url.password = "";
    return url.href;
  }
  if (typeof object === "string") return parse(object).href;
  const protocol = object.protocol ? object.protocol.replace(/:?$/, ":") : "";
  const host = object.host ?? (object.hostname ? object.hostname + (object.port ? `:${object.port}` : "") : "");
  const auth = object.auth ? `${encodeURIComponent(object.auth).replace(/%3A/i, ":")}@` : "";
  const slashes = host || object.slashes || /^(https?|ftp|file|wss?):$/.test(protocol) ? "//" : "";
  const query =
    object.query && typeof object.query === "object"
      ? require("./querystring.cjs").stringify(object.query)
      : object.query;
  const search = object.search ?? (query ? `?${query}` : "");
  let path = object.pathname ?? "";
  if (host && path && !path.startsWith("/")) path = `/${path}`;
  return (
    protocol +
    (protocol || host ? slashes : "") +
    auth +
    host +
    path +
    (search && search.replace(/^\??/, "?")) +
    (object.hash ? object.hash.replace(/^#?/, "#") : "")
  );
}

function resolve(from, to) {
  const base = new URL(from, "resolve://here/");
  const url = new URL(to, base);
  if (url.protocol !== "resolve:") return url.href;
  const path = url.pathname + url.search + url.hash;
  return /^[/\\]/.test(from) || /^[/\\]/.test(to) ? path : path.slice(1);
}

module.exports = partial(
  "node:url",
  {
    URL,
    URLSearchParams,
    fileURLToPath,
    pathToFileURL,
    parse,
    format,
    resolve,
    domainToASCII: (domain) => (URL.canParse(`http://${domain}`) ? new URL(`http://${domain}`).hostname : ""),
    urlToHttpOptions: (url) => ({
      __proto__: null,
      ...url,
      protocol: url.protocol,
      hostname: url.hostname.replace(/^\[|\]$/g, ""),
      hash: url.hash,
      search: url.search,
      pathname: url.pathname,
      path: url.pathname + url.search,
      href: url.href,
      ...(url.port && { port: Number(url.port) }),
      ...((url.username || url.password) && { auth: `${decodeURIComponent(url.username)}:${decodeURIComponent(url.password)}` }),
    }),
  },
  "domainToUnicode Url",
  "use the class URL",
);
