// Forms from JSON Schema: what is simple gets a field of its own, and the rest
// is JSON.
import type { Json, JsonObject } from '../api/types';

export interface FormField {
  name: string;
  label: string;
  note: string;
  kind: 'text' | 'long' | 'number' | 'integer' | 'boolean' | 'choice' | 'json';
  choices: Json[];
  required: boolean;
  initial: string;
}

const typeOf = (schema: JsonObject): string => {
  const type = Array.isArray(schema['type']) ? schema['type'].find((t) => t !== 'null') : schema['type'];
  return typeof type === 'string' ? type.toLowerCase() : '';
};

export const isObjectSchema = (schema: JsonObject | undefined): boolean => schema !== undefined && (typeOf(schema) === 'object' || 'properties' in schema);

export function fieldOf(name: string, schema: JsonObject, required: boolean, value?: Json): FormField {
  const type = typeOf(schema);
  const choices = Array.isArray(schema['enum']) ? schema['enum'] : [];
  const kind =
    choices.length > 0 ? 'choice'
    : type === 'number' || type === 'integer' || type === 'boolean' ? type
    : type === 'string' ? (Number(schema['maxLength'] ?? 0) > 200 || schema['format'] === 'textarea' ? 'long' : 'text')
    : 'json';
  const start = value ?? schema['default'];
  return {
    name, kind, choices, required,
    label: typeof schema['title'] === 'string' ? schema['title'] : name,
    note: typeof schema['description'] === 'string' ? schema['description'] : '',
    initial: start === undefined ? '' : kind === 'json' || kind === 'choice' ? JSON.stringify(start) : String(start),
  };
}

export function fieldsOf(schema: JsonObject, values: JsonObject = {}): FormField[] {
  const required = Array.isArray(schema['required']) ? schema['required'] : [];
  return Object.entries((schema['properties'] ?? {}) as Record<string, JsonObject>).map(([name, one]) => fieldOf(name, one, required.includes(name), values[name]));
}

/** The value that was typed in; undefined for none. It throws what is wrong with it. */
export function valueOf(field: FormField, text: string): Json | undefined {
  if (text === '' && field.kind !== 'boolean') {
    if (field.required) throw new Error(`${field.label} is required.`);
    return undefined;
  }
  switch (field.kind) {
    case 'boolean':
      return text === 'true';
    case 'number':
    case 'integer': {
      const n = Number(text);
      if (Number.isNaN(n) || (field.kind === 'integer' && !Number.isInteger(n))) throw new Error(`${field.label} must be a ${field.kind === 'integer' ? 'whole ' : ''}number.`);
      return n;
    }
    case 'choice':
    case 'json':
      try {
        return JSON.parse(text) as Json;
      } catch {
        throw new Error(`${field.label} is not JSON.`);
      }
    default:
      return text;
  }
}
