// What uuid.cjs needs of prelude/crypto.js.
export { randomBytes, randomUUID } from "node:crypto";

export function uuidText(bytes) {
  const hex = Buffer.from(bytes).toString("hex");
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}
