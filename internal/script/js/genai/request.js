// The requests of the Gemini API, from the parameters of the client's methods.

/** An object without what is null or undefined. */
const compact = (object) => Object.fromEntries(Object.entries(object).filter(([, value]) => value !== undefined && value !== null));

const isObject = (value) => typeof value === "object" && value !== null;
const isContent = (value) => isObject(value) && Array.isArray(value.parts);

function partOf(value) {
  if (typeof value === "string") return { text: value };
  if (!isObject(value)) throw new Error(`a part is a string or an object, not ${value === null ? "null" : typeof value}`);
  return compact(value);
}

/** A content: one that is given, or the user's with the parts that are given. */
export function contentOf(value) {
  if (isContent(value)) return compact({ ...value, parts: value.parts.map(partOf) });
  const parts = Array.isArray(value) ? value : [value];
  if (parts.length === 0) throw new Error("a content needs at least one part");
  return { role: "user", parts: parts.map(partOf) };
}

/** The contents of a request. A list of parts is one content of the user. */
export function contentsOf(value) {
  if (value === undefined || value === null || (Array.isArray(value) && value.length === 0)) throw new Error("the contents are missing");
  const items = Array.isArray(value) ? value : [value];
  const contents = items.filter(isContent).length;
  if (contents > 0 && contents < items.length) throw new Error("contents are a list of contents or a list of parts, not of both: give each part a content with a role");
  if (contents > 0) return items.map(contentOf);
  if (items.some((part) => part?.functionCall || part?.functionResponse)) {
    throw new Error("a functionCall or a functionResponse needs a content with a role around it");
  }
  return [contentOf(items)];
}

const types = ["TYPE_UNSPECIFIED", "STRING", "NUMBER", "INTEGER", "BOOLEAN", "ARRAY", "OBJECT", "NULL"];

function typeOf(name) {
  const upper = name.toUpperCase();
  return types.includes(upper) ? upper : "TYPE_UNSPECIFIED";
}

/** A schema as the API takes it: types in capital letters, and nullable instead
 * of a type null. */
export function schemaOf(schema) {
  if (schema.type && schema.anyOf) throw new Error("a schema has a type or anyOf, not both");
  const out = {};
  let from = schema;
  if (from.anyOf?.length === 2 && from.anyOf.some((one) => one.type === "null")) {
    out.nullable = true;
    from = from.anyOf.find((one) => one.type !== "null") ?? { type: "null" };
  }
  for (const [key, value] of Object.entries(compact(from))) {
    if (key === "type") Object.assign(out, typesOf(value));
    else if (key === "items") out.items = schemaOf(value);
    else if (key === "properties") out.properties = Object.fromEntries(Object.entries(value).map(([name, one]) => [name, schemaOf(one)]));
    else if (key === "anyOf") {
      out.anyOf = value.filter((one) => one.type !== "null").map(schemaOf);
      if (out.anyOf.length < value.length) out.nullable = true;
    } else if (key !== "additionalProperties") out[key] = value;
  }
  return out;
}

function typesOf(type) {
  if (type === "null") throw new Error("a schema whose only type is null has no form in the Gemini API");
  if (!Array.isArray(type)) return { type: typeOf(type) };
  const names = type.filter((name) => name !== "null").map(typeOf);
  const nullable = names.length < type.length && { nullable: true };
  return names.length === 1 ? { ...nullable, type: names[0] } : { ...nullable, anyOf: names.map((name) => ({ type: name })) };
}

// A schema that says $schema goes into the field for JSON Schema.
function schemaFields(object, field, jsonField) {
  const schema = object[field];
  if (!schema) return object;
  if (!("$schema" in schema)) return { ...object, [field]: schemaOf(schema) };
  if (object[jsonField]) return object;
  const { [field]: _, ...rest } = object;
  return { ...rest, [jsonField]: schema };
}

function toolOf(tool) {
  if (typeof tool?.callTool === "function") {
    throw new Error("a tool that the client calls itself is not supported by this runtime: list functionDeclarations, and call the functions that the response names");
  }
  if (!tool.functionDeclarations) return compact(tool);
  const declarations = tool.functionDeclarations.map((one) =>
    schemaFields(schemaFields(one, "parameters", "parametersJsonSchema"), "response", "responseJsonSchema"));
  return compact({ ...tool, functionDeclarations: declarations });
}

const speechOf = (value) => (typeof value === "string" ? { voiceConfig: { prebuiltVoiceConfig: { voiceName: value } } } : value);

const cacheOf = (name) => (name.includes("/") ? name : `cachedContents/${name}`);

// The fields of a config that are not of the generation config, with what
// they become.
const same = (value) => value;
const top = {
  cachedContent: cacheOf,
  continuationToken: same,
  labels: same,
  safetySettings: same,
  serviceTier: same,
  store: same,
  systemInstruction: contentOf,
  toolConfig: same,
  tools: (tools) => tools.map(toolOf),
};

// These fields are for the client.
const own = ["abortSignal", "automaticContinuation", "automaticFunctionCalling", "httpOptions", "shouldReturnHttpResponse"];

/** The body of generateContent. */
export function generateBody({ contents, config }) {
  const body = { contents: contentsOf(contents) };
  if (!config) return body;
  const generation = {};
  for (const [key, value] of Object.entries(compact(schemaFields(config, "responseSchema", "responseJsonSchema")))) {
    if (own.includes(key)) continue;
    if (top[key]) body[key] = top[key](value);
    else generation[key] = key === "speechConfig" ? speechOf(value) : value;
  }
  return { ...body, generationConfig: generation };
}

/** The body of batchEmbedContents: a request for each content. */
export function embedBody(model, name, { contents, config }) {
  // Older models embed each string; this one takes the parts of one content.
  const items = name.includes("gemini-embedding-2") ? contentsOf(contents) : (Array.isArray(contents) ? contents : [contents]).map(contentOf);
  const { taskType, title, outputDimensionality } = config ?? {};
  return { requests: items.map((content) => compact({ model, content, taskType, title, outputDimensionality })) };
}

/** The body of countTokens. */
export function countBody({ contents, config }) {
  for (const key of ["systemInstruction", "tools", "generationConfig"]) {
    if (config?.[key] !== undefined) throw new Error(`countTokens of the Gemini API does not take ${key}: count contents only`);
  }
  return { contents: contentsOf(contents) };
}

/** The part of a path that names a model. */
export function modelPath(model, vertex) {
  if (typeof model !== "string" || model === "") throw new Error("the model is missing: give its name as a string");
  if (/\.\.|[?&]/.test(model)) throw new Error(`the name of the model is not valid: ${model}`);
  if (/^(models|tunedModels|publishers|projects)\//.test(model)) return model;
  if (!vertex) return `models/${model}`;
  const [publisher, name] = model.includes("/") ? model.split("/") : ["google", model];
  return `publishers/${publisher}/models/${name}`;
}

/** The name of a file, of a URI or of a File. */
export function fileName(file) {
  const name = isObject(file) ? file.name : file;
  const id = /(?:^|files\/)([\w-]+)$/.exec(typeof name === "string" ? name : "")?.[1];
  if (!id) throw new Error(`${JSON.stringify(name)} does not name a file: give the name of a File, such as files/abc`);
  return id;
}
