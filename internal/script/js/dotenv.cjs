// dotenv, for .env files in the agent's directory. "dotenv/config" leads here
// too, so the file is read when this module is; that does no harm to code
// that only calls config, because nothing that is set already is changed.
const { resolve } = require("./node/path.cjs");
const fs = require("./node/fs.cjs");

const name = /[ \t]*(?:export[ \t]+)?([\w.-]+)[ \t]*[=:][ \t]*/y;

/** NAME=value, a line each; in quotes a value may have more lines, and # in it. */
function parse(source) {
  const text = String(source).replace(/\r\n?/g, "\n");
  const out = {};
  for (let at = 0; at < text.length;) {
    let end = text.indexOf("\n", at);
    if (end < 0) end = text.length;
    name.lastIndex = at;
    const match = name.exec(text);
    if (match && name.lastIndex <= end) {
      const from = name.lastIndex;
      const quote = text[from];
      const close = quote === "'" || quote === '"' || quote === "`" ? closing(text, quote, from + 1) : -1;
      if (close >= 0) {
        const value = text.slice(from + 1, close);
        out[match[1]] = quote === '"' ? value.replaceAll("\\n", "\n").replaceAll("\\r", "\r") : value;
        end = text.indexOf("\n", close);
        if (end < 0) end = text.length;
      } else {
        out[match[1]] = text
          .slice(from, end)
          .replace(/(^|\s)#.*$/, "")
          .trim();
      }
    }
    at = end + 1;
  }
  return out;
}

function closing(text, quote, from) {
  for (let at = from; at < text.length; at++) {
    if (text[at] === "\\") at++;
    else if (text[at] === quote) return at;
  }
  return -1;
}

function populate(target, parsed, { override = false } = {}) {
  for (const [name, value] of Object.entries(parsed)) {
    if (override || !Object.hasOwn(target, name)) target[name] = value;
  }
  return target;
}

function config(options = {}) {
  const paths = [options.path ?? ".env"].flat();
  const target = options.processEnv ?? process.env;
  let error;
  let parsed = {};
  for (const path of paths) {
    try {
      const values = parse(fs.readFileSync(typeof path === "string" ? resolve(path) : path, "utf8"));
      parsed = options.override ? { ...parsed, ...values } : { ...values, ...parsed };
    } catch (e) {
      error = e;
    }
  }
  populate(target, parsed, options);
  return error ? { parsed, error } : { parsed };
}

module.exports = { config, parse, populate, configDotenv: config };
config();
