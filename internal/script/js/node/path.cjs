// Paths of POSIX, and of Windows as far as agents meet them in data.

function check(path, what = "path") {
  if (typeof path === "string") return path;
  throw Object.assign(
    new TypeError(`The "${what}" argument must be of type string. Received ${path === null ? "null" : typeof path}`),
    { code: "ERR_INVALID_ARG_TYPE" },
  );
}

function make({ sep, delimiter, isSep, rootOf, cwd, same }) {
  const split = (text) => text.split(isSep);

  /** Without what leads nowhere; .. at the beginning stays unless there is a root above it. */
  const tidy = (parts, rooted) => {
    const out = [];
    for (const part of parts) {
      if (part === "" || part === ".") continue;
      if (part === ".." && out.length && out.at(-1) !== "..") out.pop();
      else if (part !== ".." || !rooted) out.push(part);
    }
    return out.join(sep);
  };
  const trailing = (text) => text.length > 0 && isSep.test(text.at(-1));

  const api = {
    sep,
    delimiter,
    isAbsolute: (path) => rootOf(check(path)).absolute,
    normalize(path) {
      check(path);
      if (path === "") return ".";
      const { root, absolute } = rootOf(path);
      const rest = path.slice(root.length);
      let out = tidy(split(rest), absolute);
      if (out === "" && !absolute) out = ".";
      if (out && out !== "." && trailing(rest)) out += sep;
      else if (out === "." && trailing(rest)) out = `.${sep}`;
      return rootOf(path).clean + out;
    },
    join(...paths) {
      const joined = paths.filter((p) => check(p) !== "").join(sep);
      return joined === "" ? "." : api.normalize(joined);
    },
    resolve(...paths) {
      let tail = "";
      let device = "";
      for (let i = paths.length - 1; i >= -1; i--) {
        const path = i >= 0 ? check(paths[i], `paths[${i}]`) : cwd();
        if (path === "") continue;
        const at = rootOf(path);
        if (at.device && device && at.device.toLowerCase() !== device.toLowerCase()) continue;
        device ||= at.device;
        tail = `${path.slice(at.root.length)}${sep}${tail}`;
        if (at.absolute) {
          const out = tidy(split(tail), true);
          return device ? `${device}${sep}${out}` : sep + out;
        }
      }
      return tidy(split(tail), false) || ".";
    },
    relative(from, to) {
      const a = api.resolve(check(from, "from"));
      const b = api.resolve(check(to, "to"));
      if (same(a, b)) return "";
      const x = split(a).filter(Boolean);
      const y = split(b).filter(Boolean);
      let common = 0;
      while (common < x.length && common < y.length && same(x[common], y[common])) common++;
      if (common === 0 && rootOf(a).device) return b; // another drive
      return [...x.slice(common).map(() => ".."), ...y.slice(common)].join(sep);
    },
    dirname(path) {
      check(path);
      if (path === "") return ".";
      const { root } = rootOf(path);
      let rest = path.slice(root.length);
      while (trailing(rest)) rest = rest.slice(0, -1);
      let end = rest.length;
      while (end > 0 && !isSep.test(rest[end - 1])) end--;
      return root + rest.slice(0, Math.max(0, end - 1)) || ".";
    },
    basename(path, suffix) {
      if (check(path) === suffix) return "";
      let rest = path.slice(rootOf(path).device.length);
      while (trailing(rest)) rest = rest.slice(0, -1);
      const name = split(rest).at(-1);
      return suffix && name !== suffix && name.endsWith(check(suffix, "suffix")) ? name.slice(0, -suffix.length) : name;
    },
    extname(path) {
      const name = api.basename(path);
      const dot = name.lastIndexOf(".");
      return dot <= 0 || name === ".." ? "" : name.slice(dot);
    },
    parse(path) {
      const { root } = rootOf(check(path));
      const base = path.length > root.length ? api.basename(path) : "";
      const ext = base ? api.extname(base) : "";
      const dir = path.length > root.length ? api.dirname(path) : root;
      return {
        root,
        dir: dir === "." && !/^\.[/\\]/.test(path) ? "" : dir,
        base,
        ext,
        name: ext ? base.slice(0, -ext.length) : base,
      };
    },
    format(object) {
      const dir = object.dir || object.root;
      const ext = object.ext ? (object.ext.startsWith(".") ? object.ext : `.${object.ext}`) : "";
      const base = object.base || `${object.name || ""}${ext}`;
      if (!dir) return base;
      return dir === object.root ? dir + base : dir + sep + base;
    },
    toNamespacedPath: (path) => path,
  };
  return api;
}

const posix = make({
  sep: "/",
  delimiter: ":",
  isSep: /\//,
  rootOf: (path) =>
    path.startsWith("/")
      ? { root: "/", clean: "/", device: "", absolute: true }
      : { root: "", clean: "", device: "", absolute: false },
  cwd: () => process.cwd(),
  same: (a, b) => a === b,
});

const win32 = make({
  sep: "\\",
  delimiter: ";",
  isSep: /[/\\]/,
  rootOf(path) {
    const unc = /^[/\\]{2}([^/\\]+)[/\\]+([^/\\]+)[/\\]*/.exec(path);
    if (unc)
      return { root: unc[0], clean: `\\\\${unc[1]}\\${unc[2]}\\`, device: `\\\\${unc[1]}\\${unc[2]}`, absolute: true };
    const drive = /^([a-zA-Z]:)?([/\\]*)/.exec(path);
    const device = drive[1] ?? "";
    const slash = drive[2] ? drive[2][0] : "";
    return { root: device + slash, clean: device + (slash && "\\"), device, absolute: slash !== "" };
  },
  cwd: () => process.cwd(),
  same: (a, b) => a.toLowerCase() === b.toLowerCase(),
});

posix.posix = win32.posix = posix;
posix.win32 = win32.win32 = win32;
module.exports = process.platform === "win32" ? win32 : posix;
