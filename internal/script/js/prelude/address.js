// Parses addresses by the URL Standard, into a record of their parts. The standard
// describes a state machine over characters; this splits the text instead, from the
// outside in.
import { parseHost } from "./hostname.js";
import { percentEncode } from "./query.js";

export const ports = { "http:": "80", "https:": "443", "ws:": "80", "wss:": "443", "ftp:": "21", "file:": "" };
export const isSpecial = (scheme) => Object.hasOwn(ports, scheme);

const sets = {
  fragment: /[^\x21\x23-\x3b\x3d\x3f-\x5f\x61-\x7e]/gu,
  query: /[^\x21\x24-\x3b\x3d\x3f-\x7e]/gu,
  specialQuery: /[^\x21\x24-\x26\x28-\x3b\x3d\x3f-\x7e]/gu,
  path: /[^\x21\x24-\x3b\x3d\x40-\x5f\x61-\x7a\x7c\x7e]/gu,
  userinfo: /[^\x21\x24-\x2e\x30-\x39\x41-\x5a\x5f\x61-\x7a\x7e]/gu,
  control: /[^\x20-\x7e]/gu,
};

export const encode = (text, set) => percentEncode(text, sets[set]);
export const encodeQuery = (text, scheme) => encode(text, isSpecial(scheme) ? "specialQuery" : "query");

const single = /^(?:\.|%2e)$/i;
const double = /^(?:\.|%2e){2}$/i;
const drive = /^[a-z][:|]$/i;

/** Reads an address, relative to another if one is given; null if it is not valid. */
export function parse(input, base = null) {
  let text = input.replace(/^[\0-\x20]+|[\0-\x20]+$/g, "").replace(/[\t\n\r]/g, "");
  let fragment = null;
  let query = null;
  const hash = text.indexOf("#");
  if (hash >= 0) {
    fragment = encode(text.slice(hash + 1), "fragment");
    text = text.slice(0, hash);
  }
  const mark = text.indexOf("?");
  if (mark >= 0) {
    query = text.slice(mark + 1);
    text = text.slice(0, mark);
  }
  const match = /^([a-z][a-z0-9+.-]*:)(.*)$/is.exec(text);
  const url = match ? absolute(match[1].toLowerCase(), match[2], base, query) : relative(text, base, query);
  if (!url) return null;
  url.fragment = fragment;
  if (query !== null) url.query = encodeQuery(query, url.scheme);
  return url;
}

const blank = (scheme) => ({
  scheme,
  username: "",
  password: "",
  host: null,
  port: "",
  path: [],
  query: null,
  fragment: null,
});

function absolute(scheme, rest, base, query) {
  const url = blank(scheme);
  if (scheme === "file:") return file(url, rest, base?.scheme === "file:" ? base : null, query);
  if (isSpecial(scheme)) {
    if (base?.scheme === scheme && !/^[/\\]/.test(rest)) return relative(rest, base, query);
    if (base?.scheme === scheme && !rest.startsWith("//")) return relative(rest, base, query);
    return authority(url, rest.replace(/^[/\\]+/, ""));
  }
  if (rest.startsWith("//")) return authority(url, rest.slice(2));
  if (rest.startsWith("/")) {
    url.path = segments(rest.slice(1), url, []);
    return url;
  }
  url.path = encode(rest, "control");
  return url;
}

function relative(rest, base, query) {
  if (!base) return null;
  if (typeof base.path === "string") return rest === "" && query === null ? { ...base } : null;
  if (base.scheme === "file:") return file(blank("file:"), rest, base, query);
  const url = { ...base, path: [...base.path], query: null };
  const special = isSpecial(url.scheme);
  const slash = special ? /^[/\\]/ : /^\//;
  if (slash.test(rest)) {
    const after = rest.slice(1);
    if (slash.test(after)) return authority(blank(url.scheme), special ? after.replace(/^[/\\]+/, "") : after.slice(1));
    url.path = segments(after, url, []);
    return url;
  }
  if (rest === "") {
    if (query === null) url.query = base.query;
    return url;
  }
  url.path = segments(rest, url, url.path.slice(0, -1));
  return url;
}

function authority(url, text) {
  const special = isSpecial(url.scheme);
  const end = text.search(special ? /[/\\]/ : /\//);
  let place = end < 0 ? text : text.slice(0, end);
  const rest = end < 0 ? null : text.slice(end + 1);
  const at = place.lastIndexOf("@");
  if (at >= 0) {
    const info = place.slice(0, at);
    const colon = info.indexOf(":");
    url.username = encode(colon < 0 ? info : info.slice(0, colon), "userinfo");
    url.password = colon < 0 ? "" : encode(info.slice(colon + 1), "userinfo");
    place = place.slice(at + 1);
    if (place === "") return null;
  }
  if (!setHostAndPort(url, place)) return null;
  url.path = rest === null ? (special ? [""] : []) : segments(rest, url, []);
  return url;
}

function setHostAndPort(url, place) {
  const special = isSpecial(url.scheme);
  const colon = place.lastIndexOf(":");
  const bracket = place.lastIndexOf("]");
  const name = colon > bracket ? place.slice(0, colon) : place;
  const port = colon > bracket ? place.slice(colon + 1) : "";
  if (name === "" && (special || colon > bracket)) return false;
  const host = name === "" ? "" : parseHost(name, special);
  const number = parsePort(port, url.scheme);
  if (host === null || number === null) return false;
  url.host = host;
  url.port = number;
  return true;
}

/** A port, empty for the default of its scheme; null if it is not valid. */
export function parsePort(text, scheme) {
  if (!/^[0-9]*$/.test(text) || Number(text) > 65535) return null;
  const port = text === "" ? "" : String(Number(text));
  return port === ports[scheme] ? "" : port;
}

function file(url, rest, base, query) {
  url.host = "";
  const slashes = /^[/\\]*/.exec(rest)[0].length;
  if (slashes >= 2) {
    const after = rest.slice(2);
    const end = after.search(/[/\\]/);
    const name = end < 0 ? after : after.slice(0, end);
    if (drive.test(name)) {
      url.path = segments(after, url, []);
      return url;
    }
    const host = name === "" ? "" : parseHost(name, true);
    if (host === null) return null;
    url.host = host === "localhost" ? "" : host;
    url.path = segments(end < 0 ? "" : after.slice(end + 1), url, []);
    return url;
  }
  if (slashes === 1) {
    const letter =
      base && /^[a-z]:$/i.test(base.path[0] ?? "") && !drive.test(rest.slice(1).split(/[/\\]/)[0])
        ? [base.path[0]]
        : [];
    if (base) url.host = base.host;
    url.path = segments(rest.slice(1), url, letter);
    return url;
  }
  if (!base) {
    url.path = segments(rest, url, []);
    return url;
  }
  url.host = base.host;
  if (rest === "") {
    url.path = [...base.path];
    if (query === null) url.query = base.query;
    return url;
  }
  url.path = segments(rest, url, drive.test(rest.split(/[/\\]/)[0]) ? [] : base.path.slice(0, -1));
  return url;
}

/** The segments of a path behind those that are there, with dots resolved. */
export function segments(text, url, path) {
  const parts = text.split(isSpecial(url.scheme) ? /[/\\]/ : "/");
  parts.forEach((part, i) => {
    const last = i === parts.length - 1;
    if (double.test(part)) {
      if (!(url.scheme === "file:" && path.length === 1 && /^[a-z]:$/i.test(path[0]))) path.pop();
      if (last) path.push("");
    } else if (single.test(part)) {
      if (last) path.push("");
    } else if (url.scheme === "file:" && path.length === 0 && drive.test(part)) {
      path.push(`${part[0]}:`);
    } else {
      path.push(encode(part, "path"));
    }
  });
  return path;
}

/** Puts another host, and maybe port, into an address. */
export function replaceHost(url, text, withPort) {
  const special = isSpecial(url.scheme);
  let place = text.replace(/[\t\n\r]/g, "").split(special ? /[/\\?#]/ : /[/?#]/)[0];
  const colon = place.lastIndexOf(":");
  let port = null;
  if (colon > place.lastIndexOf("]")) {
    if (url.scheme === "file:" || (!withPort && colon === 0)) return;
    port = /^[0-9]*/.exec(place.slice(colon + 1))[0];
    place = place.slice(0, colon);
    if (!withPort) return;
  }
  if (place === "" && (special ? url.scheme !== "file:" : url.username || url.password || url.port || port)) return;
  const host = place === "" ? "" : parseHost(place, special);
  if (host === null) return;
  url.host = url.scheme === "file:" && host === "localhost" ? "" : host;
  if (port) url.port = parsePort(port, url.scheme) ?? url.port;
}
