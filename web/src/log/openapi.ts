// What the API screen needs of an OpenAPI document.
import type { Json, JsonObject } from '../api/types';

export interface Parameter {
  name: string;
  in: string;
  required: boolean;
  description: string;
}

export interface Operation {
  id: string;
  method: string;
  path: string;
  summary: string;
  description: string;
  tag: string;
  parameters: Parameter[];
  bodyType?: string;
  body?: JsonObject;
  responses: { status: string; description: string }[];
}

const object = (value: Json | undefined): JsonObject => (typeof value === 'object' && value !== null && !Array.isArray(value) ? value : {});
const list = (value: Json | undefined): Json[] => (Array.isArray(value) ? value : []);
const text = (value: Json | undefined): string => (typeof value === 'string' ? value : '');

/** What a reference leads to. */
export function resolve(doc: JsonObject, value: Json | undefined): JsonObject {
  const here = object(value);
  const ref = text(here['$ref']);
  if (!ref.startsWith('#/')) return here;
  let at: Json | undefined = doc;
  for (const segment of ref.slice(2).split('/')) at = object(at)[segment.replaceAll('~1', '/').replaceAll('~0', '~')];
  return object(at);
}

export function operationsOf(doc: JsonObject): Operation[] {
  const out: Operation[] = [];
  for (const [path, item] of Object.entries(object(doc['paths']))) {
    const shared = list(object(item)['parameters']);
    for (const [method, value] of Object.entries(object(item))) {
      if (!['get', 'post', 'put', 'patch', 'delete'].includes(method)) continue;
      const op = object(value);
      const content = object(resolve(doc, op['requestBody'])['content']);
      const bodyType = Object.keys(content)[0];
      out.push({
        id: text(op['operationId']) || `${method} ${path}`,
        method: method.toUpperCase(),
        path,
        summary: text(op['summary']) || path,
        description: text(op['description']),
        tag: text(list(op['tags'])[0]) || 'other',
        parameters: [...shared, ...list(op['parameters'])].map((p) => resolve(doc, p)).map((p) => ({ name: text(p['name']), in: text(p['in']), required: p['required'] === true || p['in'] === 'path', description: text(p['description']) })),
        ...(bodyType ? { bodyType, body: object(content[bodyType]) } : {}),
        responses: Object.entries(object(op['responses'])).map(([status, r]) => ({ status, description: text(resolve(doc, r)['description']) })),
      });
    }
  }
  return out;
}

/** The path of a request, with the parameters that have a value. */
export function expand(operation: Operation, values: Record<string, string>): string {
  const path = operation.path.replaceAll(/\{([^}]*)\}/g, (_, name: string) => encodeURIComponent(values[name] ?? ''));
  const query = new URLSearchParams();
  for (const p of operation.parameters) if (p.in === 'query' && values[p.name]) query.set(p.name, values[p.name]!);
  return query.size > 0 ? `${path}?${query}` : path;
}

/** The first example of a body that the document has. */
export function exampleBody(operation: Operation, doc: JsonObject): Json | undefined {
  if (!operation.body) return undefined;
  if (operation.body['example'] !== undefined) return operation.body['example'];
  const first = Object.values(object(operation.body['examples']))[0];
  return first === undefined ? {} : resolve(doc, first)['value'];
}
