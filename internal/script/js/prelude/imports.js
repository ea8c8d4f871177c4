// import() of a name that is computed while the code runs. The bundle has the files
// of the application's directory; see bundle/files.go.

const others = { js: ["ts", "tsx"], jsx: ["tsx"], mjs: ["mts"], cjs: ["cts"] };

/** The paths that an import may mean: TypeScript names files as they are compiled. */
function candidates(path) {
  const dot = path.lastIndexOf(".");
  return [path, ...(others[path.slice(dot + 1)] ?? []).map((ext) => path.slice(0, dot + 1) + ext)];
}

function pathOf(id, from) {
  if (/^file:/i.test(id)) return decodeURIComponent(new URL(id).pathname);
  if (id.startsWith("/")) return id.replace(/[?#].*$/, "");
  const parts = from.split("/").slice(0, -1);
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
  if (!/^(\.{1,2}\/|\/|file:)/i.test(id)) throw failure(`Cannot find package '${id}' imported from ${from}: packages are imported by a name that is written in the code`);
  const path = pathOf(id, from);
  const found = candidates(path).find((one) => Object.hasOwn(run, one));
  if (found) return run[found]();
  const outside = path.startsWith(`${dir}/`) ? "" : `: it is not below the directory of the application, ${dir}`;
  throw failure(`Cannot find module '${path}' imported from ${from}${outside}`);
};
