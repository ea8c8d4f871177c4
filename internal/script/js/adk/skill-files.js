// Agent Skills as files: directories and archives with a SKILL.md. Go reads the
// front matter and the archives.
import fs from "../node/fs.cjs";
import path from "../node/path.cjs";
import { host } from "../prelude/host.js";

// The limits of package skill hold for what is loaded here, too.
const maxFiles = 1000;
const maxBytes = 16 << 20;

const ignoredDirectories = new Set([
  "__pycache__", ".pytest_cache", ".mypy_cache", ".ruff_cache", "node_modules", "coverage", "venv", ".venv", "env", ".env", ".git", ".vscode", ".idea",
]);
const ignoredFiles = new Set([".pyc", ".pyo", ".pyd", ".tsbuildinfo"]);
const known = new Set(["name", "description", "license", "allowed-tools", "allowedTools", "metadata", "compatibility"]);

const isDocument = (entry) => entry.isFile() && entry.name.toLowerCase() === "skill.md";

/** A SKILL.md as a skill without resources. */
function parse(text) {
  const { frontmatter, body } = host("skill", { text });
  const extra = frontmatter.metadata?.adk_additional_tools;
  if (extra !== undefined && !(Array.isArray(extra) && extra.every((name) => typeof name === "string"))) {
    throw new Error("adk_additional_tools in the metadata of a skill must be a list of strings");
  }
  const allowed = frontmatter["allowed-tools"];
  return { frontmatter: { ...frontmatter, metadata: frontmatter.metadata ?? {}, ...(allowed !== undefined && { allowedTools: allowed }) }, instructions: body };
}

/** Text as a string, and everything else as bytes. */
function contentOf(bytes) {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return bytes;
  }
}

/** The parts of a skill of its files, by their path. Scripts are texts. */
function resourcesOf(files) {
  const resources = { references: {}, assets: {}, scripts: {} };
  for (const [name, content] of Object.entries(files)) {
    const [top, ...rest] = name.split("/");
    const inside = rest.join("/");
    if (top === "scripts") {
      if (typeof content === "string") resources.scripts[inside] = { src: content };
    } else if (inside) resources[top][inside] = content;
  }
  return resources;
}

function entriesOf(dir) {
  try {
    return fs.readdirSync(dir, { withFileTypes: true });
  } catch (error) {
    console.warn(`The directory ${dir} cannot be read: ${error.message}`);
    return undefined;
  }
}

function readDocument(dir) {
  const entry = entriesOf(dir)?.find(isDocument);
  if (!entry) throw new Error(`There is no SKILL.md in ${dir}`);
  const file = path.join(dir, entry.name);
  let skill;
  try {
    skill = parse(fs.readFileSync(file, "utf-8"));
  } catch (error) {
    throw new Error(`${file}: ${error.message}`);
  }
  const directory = path.basename(dir);
  if (skill.frontmatter.name !== directory) throw new Error(`${file}: the name "${skill.frontmatter.name}" is not that of the directory, "${directory}"`);
  return skill;
}

/** Loads the skill in a directory. */
export async function loadSkillFromDir(skillDir) {
  const dir = path.resolve(skillDir);
  const skill = readDocument(dir);
  const files = {};
  let bytes = 0;
  const walk = (under) => {
    for (const entry of fs.readdirSync(path.join(dir, under), { withFileTypes: true })) {
      const name = `${under}/${entry.name}`;
      if (entry.isDirectory() && !ignoredDirectories.has(entry.name)) walk(name);
      if (!entry.isFile() || entry.name === ".DS_Store" || ignoredFiles.has(path.extname(entry.name))) continue;
      const content = fs.readFileSync(path.join(dir, name));
      bytes += content.length;
      files[name] = contentOf(content);
      if (bytes > maxBytes || Object.keys(files).length > maxFiles) throw new Error(`The skill in ${dir} has more than ${maxFiles} files, or ${maxBytes} bytes`);
    }
  };
  for (const top of ["references", "assets", "scripts"]) if (fs.existsSync(path.join(dir, top))) walk(top);
  return { ...skill, resources: resourcesOf(files) };
}

/** What is wrong with the skill in a directory. */
export async function validateSkillDir(skillDir) {
  try {
    const { frontmatter } = readDocument(path.resolve(skillDir));
    const unknown = Object.keys(frontmatter).filter((key) => !known.has(key));
    return unknown.length > 0 ? [`Unknown frontmatter fields: [${unknown.sort().join(", ")}]`] : [];
  } catch (error) {
    return [error.message];
  }
}

/** Loads the skills below a directory, by name. Those that are wrong are left out, with a warning. */
export async function loadAllSkillsInDir(skillsBasePath) {
  const base = path.resolve(skillsBasePath);
  const skills = {};
  const scan = async (dir) => {
    const entries = entriesOf(dir) ?? [];
    if (dir !== base && entries.some(isDocument)) {
      try {
        const skill = await loadSkillFromDir(dir);
        skills[skill.frontmatter.name] = skill;
      } catch (error) {
        console.warn(`A skill is left out: ${error.message}`);
      }
      return;
    }
    for (const entry of entries) if (entry.isDirectory() && !ignoredDirectories.has(entry.name)) await scan(path.join(dir, entry.name));
  };
  await scan(base);
  return skills;
}

/** Loads a skill of the bytes of a ZIP archive, which has the SKILL.md at its top. */
export function loadSkillFromZipBuffer(zipBuffer) {
  const { document, files } = host("skillArchive", { data: Buffer.from(zipBuffer).toString("base64") });
  const contents = Object.fromEntries(Object.entries(files).map(([name, data]) => [name, contentOf(Buffer.from(data, "base64"))]));
  return { ...parse(document), resources: resourcesOf(contents) };
}
