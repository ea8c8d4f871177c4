// import() of a name that is computed while the code runs. The bundle has the files
// of the application's directory; see bundle/files.go.

const others = { js: ["ts", "tsx"], jsx: ["tsx"], mjs: ["mts"], cjs: ["cts"] };

/** The paths that an import may mean: TypeScript names files as they are compiled. */
function candidates(path) {
  const dot = path.lastIndexOf(".");
  return [path, ...(others[path.slice(dot + 1)] ?? []).map((ext) => path.slice(0, dot + 1) + ext)];
}

const drive = /^[a-z]:[\\/]/i; // of a path on Windows
const slashes = (path) => (drive.test(path) ? path.replaceAll("\\", "/") : path);

function pathOf(id, from) {
  if (/^file:/i.test(id)) return decodeURIComponent(new URL(id).pathname).replace(/^\/(?=[a-z]:\/)/i, "");
  if (id.startsWith("/") || drive.test(id)) return slashes(id.replace(/[?#].*$/, ""));
  const parts = slashes(from).split("/").slice(0, -1);
  for (const part of id.replace(/[?#].*$/, "").split("/")) {
    if (part === "..") parts.pop();
    else if (part !== ".") parts.push(part);
  }
  return parts.join("/");
}

const failure = (message) => Object.assign(new Error(message), { code: "ERR_MODULE_NOT_FOUND" });

globalThis.__import = async (id, from) => {
  const { dir, run } = globalThis.__files ?? {};
  if (!run) throw failure(`Cannot find module '${id}' imported from ${from}`);
  if (!/^(\.{1,2}\/|\/|file:|[a-z]:[\\/])/i.test(id)) throw failure(`Cannot find package '${id}' imported from ${from}: packages are imported by a name that is written in the code`);
  const path = pathOf(id, from);
  const names = Object.keys(run);
  for (const one of candidates(path)) {
    const found = names.find((name) => slashes(name) === one);
    if (found) return run[found]();
  }
  const outside = path.startsWith(`${slashes(dir)}/`) ? "" : `: it is not below the directory of the application, ${dir}`;
  throw failure(`Cannot find module '${path}' imported from ${from}${outside}`);
};
