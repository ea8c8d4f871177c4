// What a model of the Gemini API answers.

const partsOf = (response) => response.candidates?.[0]?.content?.parts ?? [];

const first = (response, name, field) => partsOf(response).find((part) => part[name])?.[name][field];

export class GenerateContentResponse {
  get text() {
    const texts = partsOf(this).filter((p) => typeof p.text === "string" && !p.thought);
    return texts.length > 0 ? texts.map((p) => p.text).join("") : undefined;
  }
  get data() {
    const bytes = partsOf(this).flatMap((p) => (p.inlineData?.data ? [Buffer.from(p.inlineData.data, "base64")] : []));
    return bytes.length > 0 ? Buffer.concat(bytes).toString("base64") : undefined;
  }
  get functionCalls() {
    const calls = partsOf(this).flatMap((p) => (p.functionCall ? [p.functionCall] : []));
    return calls.length > 0 ? calls : undefined;
  }
  get executableCode() {
    return first(this, "executableCode", "code");
  }
  get codeExecutionResult() {
    return first(this, "codeExecutionResult", "output");
  }
}

/** An answer of the API, which names its citations otherwise. */
export function responseOf(answer) {
  for (const candidate of answer.candidates ?? []) {
    const { citationSources, ...rest } = candidate.citationMetadata ?? {};
    if (citationSources) candidate.citationMetadata = { ...rest, citations: citationSources };
  }
  return Object.assign(new GenerateContentResponse(), answer);
}

/** An answer with a status of 400 and above. */
export class ApiError extends Error {
  constructor({ message, status }) {
    super(message);
    this.name = "ApiError";
    this.status = status;
  }
}
