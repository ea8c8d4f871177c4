// Templates of instructions, for where Go cannot fill them: what a function
// returns is not a template, and may stand beside one.
const placeName = /^((?:(?:app|user|temp):)?[\p{L}_][\p{L}\p{N}_]*)(\??)$/u;

const fileName = /^artifact\.(\S|\S.*[^\s?])(\??)$/u;

export async function fill(template, context) {
  const { state } = context;
  const files = new Map();
  const inside = (place) => place.replace(/[{}]/g, "").trim();
  for (const [place] of template.matchAll(/\{+[^{}]*\}+/g)) {
    const [, name, optional] = fileName.exec(inside(place)) ?? [];
    if (!name) continue;
    const part = await context.loadArtifact(name);
    if (!part && !optional) throw new Error(`Artifact not found: \`${name}\`.`);
    files.set(place, part ? textOfPart(name, part) : "");
  }
  return template.replace(/\{+[^{}]*\}+/g, (place) => {
    if (files.has(place)) return files.get(place);
    const [, key, optional] = placeName.exec(inside(place)) ?? [];
    if (!key) return place;
    if (!state.has(key) && !optional) throw new Error(`Context variable not found: \`${key}\`.`);
    const value = state.get(key, "");
    return typeof value === "string" ? value : JSON.stringify(value);
  });
}

function textOfPart(name, { text, inlineData, fileData }) {
  if (!inlineData) return text ?? fileData?.fileUri ?? "";
  const bytes = Buffer.from(inlineData.data ?? "", "base64");
  return /^text\/|[/+](?:json|xml|yaml)\b/.test(inlineData.mimeType) ? bytes.toString("utf8") : `[the file ${name}, ${bytes.length} bytes of ${inlineData.mimeType}]`;
}
