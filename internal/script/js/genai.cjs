// The helpers of @google/genai that agents use beside its types.
const { list, moduleOf, unsupported } = require("./adk/names.js");

const enumOf = (...names) => Object.freeze(Object.fromEntries(names.map((name) => [name, name])));

const content = (role) => (value) => {
  const parts = list(value).map((part) => (typeof part === "string" ? { text: part } : part));
  if (parts.length === 0) throw new Error("partOrString cannot be an empty array");
  return { role, parts };
};

const partsOf = (response) => response.candidates?.[0]?.content?.parts ?? [];

class GenerateContentResponse {
  get text() {
    const texts = partsOf(this).filter((p) => typeof p.text === "string" && !p.thought);
    return texts.length > 0 ? texts.map((p) => p.text).join("") : undefined;
  }
  get functionCalls() {
    const calls = partsOf(this).flatMap((p) => (p.functionCall ? [p.functionCall] : []));
    return calls.length > 0 ? calls : undefined;
  }
}

module.exports = moduleOf(
  {
    Behavior: enumOf("UNSPECIFIED", "BLOCKING", "NON_BLOCKING"),
    FinishReason: enumOf(
      "FINISH_REASON_UNSPECIFIED", "STOP", "MAX_TOKENS", "SAFETY", "RECITATION", "LANGUAGE", "OTHER", "BLOCKLIST",
      "PROHIBITED_CONTENT", "SPII", "MALFORMED_FUNCTION_CALL", "IMAGE_SAFETY", "UNEXPECTED_TOOL_CALL"),
    FunctionCallingConfigMode: enumOf("MODE_UNSPECIFIED", "AUTO", "ANY", "NONE", "VALIDATED"),
    GenerateContentResponse,
    GoogleGenAI: unsupported("GoogleGenAI", "use new Gemini({model}).generateContentAsync(request) of the agent package, or fetch"),
    HarmBlockThreshold: enumOf(
      "HARM_BLOCK_THRESHOLD_UNSPECIFIED", "BLOCK_LOW_AND_ABOVE", "BLOCK_MEDIUM_AND_ABOVE", "BLOCK_ONLY_HIGH", "BLOCK_NONE", "OFF"),
    HarmCategory: enumOf(
      "HARM_CATEGORY_UNSPECIFIED", "HARM_CATEGORY_HATE_SPEECH", "HARM_CATEGORY_DANGEROUS_CONTENT", "HARM_CATEGORY_HARASSMENT",
      "HARM_CATEGORY_SEXUALLY_EXPLICIT", "HARM_CATEGORY_CIVIC_INTEGRITY"),
    Language: enumOf("LANGUAGE_UNSPECIFIED", "PYTHON"),
    MediaResolution: enumOf("MEDIA_RESOLUTION_UNSPECIFIED", "MEDIA_RESOLUTION_LOW", "MEDIA_RESOLUTION_MEDIUM", "MEDIA_RESOLUTION_HIGH"),
    Modality: enumOf("MODALITY_UNSPECIFIED", "TEXT", "IMAGE", "AUDIO"),
    Outcome: enumOf("OUTCOME_UNSPECIFIED", "OUTCOME_OK", "OUTCOME_FAILED", "OUTCOME_DEADLINE_EXCEEDED"),
    ThinkingLevel: enumOf("THINKING_LEVEL_UNSPECIFIED", "LOW", "HIGH"),
    Type: enumOf("TYPE_UNSPECIFIED", "STRING", "NUMBER", "INTEGER", "BOOLEAN", "ARRAY", "OBJECT", "NULL"),
    createModelContent: content("model"),
    createPartFromBase64: (data, mimeType) => ({ inlineData: { data, mimeType } }),
    createPartFromCodeExecutionResult: (outcome, output) => ({ codeExecutionResult: { outcome, output } }),
    createPartFromExecutableCode: (code, language) => ({ executableCode: { code, language } }),
    createPartFromFunctionCall: (name, args) => ({ functionCall: { name, args } }),
    createPartFromFunctionResponse: (id, name, response) => ({ functionResponse: { id, name, response } }),
    createPartFromText: (text) => ({ text }),
    createPartFromUri: (fileUri, mimeType) => ({ fileData: { fileUri, mimeType } }),
    createUserContent: content("user"),
  },
  "@google/genai",
);
