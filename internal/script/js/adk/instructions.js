// Templates of instructions, for where Go cannot fill them: what a function
// returns is not a template, and may stand beside one.
const placeName = /^((?:(?:app|user|temp):)?[\p{L}_][\p{L}\p{N}_]*)(\??)$/u;

export function fill(template, state) {
  return template.replace(/\{+[^{}]*\}+/g, (place) => {
    const [, key, optional] = placeName.exec(place.replace(/[{}]/g, "").trim()) ?? [];
    if (!key) return place;
    if (!state.has(key) && !optional) throw new Error(`Context variable not found: \`${key}\`.`);
    const value = state.get(key, "");
    return typeof value === "string" ? value : JSON.stringify(value);
  });
}
