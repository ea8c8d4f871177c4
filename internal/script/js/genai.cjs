// The client and the helpers of @google/genai that agents use beside its types.
const { list, moduleOf } = require("./adk/names.js");
const { Chat } = require("./genai/chat.js");
const { Chats, GoogleGenAI, Models } = require("./genai/client.js");
const { Files } = require("./genai/files.js");
const { ApiError, GenerateContentResponse } = require("./genai/response.js");

const enumOf = (...names) => Object.freeze(Object.fromEntries(names.map((name) => [name, name])));

const content = (role) => (value) => {
  const parts = list(value).map((part) => (typeof part === "string" ? { text: part } : part));
  if (parts.length === 0) throw new Error("partOrString cannot be an empty array");
  return { role, parts };
};

module.exports = moduleOf(
  {
    ApiError,
    Behavior: enumOf("UNSPECIFIED", "BLOCKING", "NON_BLOCKING"),
    Chat,
    Chats,
    Files,
    FinishReason: enumOf(
      "FINISH_REASON_UNSPECIFIED", "STOP", "MAX_TOKENS", "SAFETY", "RECITATION", "LANGUAGE", "OTHER", "BLOCKLIST",
      "PROHIBITED_CONTENT", "SPII", "MALFORMED_FUNCTION_CALL", "IMAGE_SAFETY", "UNEXPECTED_TOOL_CALL"),
    FunctionCallingConfigMode: enumOf("MODE_UNSPECIFIED", "AUTO", "ANY", "NONE", "VALIDATED"),
    GenerateContentResponse,
    GoogleGenAI,
    HarmBlockThreshold: enumOf(
      "HARM_BLOCK_THRESHOLD_UNSPECIFIED", "BLOCK_LOW_AND_ABOVE", "BLOCK_MEDIUM_AND_ABOVE", "BLOCK_ONLY_HIGH", "BLOCK_NONE", "OFF"),
    HarmCategory: enumOf(
      "HARM_CATEGORY_UNSPECIFIED", "HARM_CATEGORY_HATE_SPEECH", "HARM_CATEGORY_DANGEROUS_CONTENT", "HARM_CATEGORY_HARASSMENT",
      "HARM_CATEGORY_SEXUALLY_EXPLICIT", "HARM_CATEGORY_CIVIC_INTEGRITY"),
    Language: enumOf("LANGUAGE_UNSPECIFIED", "PYTHON"),
    MediaResolution: enumOf("MEDIA_RESOLUTION_UNSPECIFIED", "MEDIA_RESOLUTION_LOW", "MEDIA_RESOLUTION_MEDIUM", "MEDIA_RESOLUTION_HIGH"),
    Modality: enumOf("MODALITY_UNSPECIFIED", "TEXT", "IMAGE", "AUDIO"),
    Models,
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
