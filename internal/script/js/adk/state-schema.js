// The stateSchema of workflows and nodes: what they may write to the state.
import { StateSchemaError } from "./node-errors.js";
import { isZod } from "./schema.js";

function fieldsOf(schema) {
  if (!isZod(schema)) return undefined;
  const { shape } = schema._zod?.def ?? schema._def;
  return typeof shape === "function" ? shape() : shape;
}

/** Whether writes can be checked against a schema. */
export const isStateSchema = (schema) => fieldsOf(schema) !== undefined;

/** Throws if a schema does not allow a value. Keys with a prefix are shared with
 * other sessions or other runs, and are not checked. */
export function checkState(schema, key, value) {
  const fields = fieldsOf(schema);
  if (!fields || typeof key !== "string" || key.includes(":")) return;
  if (!Object.hasOwn(fields, key)) {
    throw new StateSchemaError(`Key '${key}' is not declared in the state schema. Declared fields: ${JSON.stringify(Object.keys(fields).sort())}`);
  }
  const { success, error } = fields[key].safeParse(value);
  if (!success) throw new StateSchemaError(`Value for '${key}' does not match the type declared in the state schema: ${error.message}`);
}
