// What agents do with the client of @google/genai.
import { ApiError, GenerateContentResponse, GoogleGenAI, Type } from "@google/genai";
import { base, dir } from "./base";

// One at a time, so that the requests have an order.
async function show(name: string, work: () => Promise<unknown>) {
  let result: unknown;
  try {
    result = await work();
  } catch (e: any) {
    result = e instanceof ApiError ? { apiError: e.message, name: e.name, status: e.status, isError: e instanceof Error } : { error: true };
  }
  const text = JSON.stringify({ name, result }, (key, value) => (key === "headers" ? Object.keys(value).includes("content-type") : value));
  console.log("REQUEST " + text);
}

const read = async (stream: AsyncIterable<GenerateContentResponse>) => {
  const chunks = [];
  for await (const chunk of stream) chunks.push({ text: chunk.text, calls: chunk.functionCalls, is: chunk instanceof GenerateContentResponse, chunk });
  return chunks;
};

const ai = new GoogleGenAI({ apiKey: "secret", httpOptions: { baseUrl: base, headers: { "x-test": "client" } } });
const model = "gemini-2.5-flash";

await show("text", async () => {
  const r = await ai.models.generateContent({ model, contents: "hello" });
  return { text: r.text, calls: r.functionCalls, is: r instanceof GenerateContentResponse, r };
});
await show("parts", async () => (await ai.models.generateContent({ model: "models/x", contents: ["a", { inlineData: { data: "AAAA", mimeType: "image/png" } }], config: {} })).text);
await show("contents", async () =>
  (await ai.models.generateContent({ model, contents: [{ role: "user", parts: [{ text: "a" }] }, { role: "model", parts: [{ text: "b", thought: undefined }] }] })).text);
await show("config", async () =>
  (
    await ai.models.generateContent({
      model,
      contents: { text: "one part" },
      config: {
        systemInstruction: "be brief",
        temperature: 0,
        topK: undefined,
        maxOutputTokens: 10,
        stopSequences: ["x"],
        responseMimeType: "application/json",
        responseSchema: {
          type: Type.OBJECT,
          properties: { a: { type: "string" }, b: { type: ["number", "null"] }, c: { anyOf: [{ type: "null" }, { type: "array", items: { type: "integer" } }] }, d: { anyOf: [{ type: "string" }, { type: "number" }, { type: "null" }] }, e: { type: ["string", "number"] } },
          required: ["a"],
          additionalProperties: false,
        } as any,
        safetySettings: [{ category: "HARM_CATEGORY_HARASSMENT" as any, threshold: "BLOCK_NONE" as any }],
        toolConfig: { functionCallingConfig: { mode: "ANY" as any, allowedFunctionNames: ["f"] } },
        cachedContent: "cachedContents/c",
        labels: { a: "b" },
        serviceTier: "standard" as any,
        thinkingConfig: { thinkingBudget: 0 },
        speechConfig: "Kore" as any,
        httpOptions: { headers: { "x-test": "request" }, timeout: 90000, extraBody: { generationConfig: { more: 1 }, other: true } },
        automaticFunctionCalling: { disable: true },
      },
    })
  ).text);
await show("tools", async () => {
  const r = await ai.models.generateContent({
    model: "caller",
    contents: "call",
    config: {
      tools: [
        { functionDeclarations: [{ name: "f", description: "d", parameters: { type: "object", properties: { x: { type: "string" } } } as any }, { name: "g", parameters: { $schema: "s", type: "object" } as any }, { name: "h", parametersJsonSchema: { type: "object" } }] },
        { googleSearch: {} },
      ],
    },
  });
  return { text: r.text, calls: r.functionCalls };
});
await show("json schema", async () => (await ai.models.generateContent({ model, contents: "x", config: { responseSchema: { $schema: "s", type: "object" } as any } })).text);
await show("thoughts and code", async () => {
  const r = await ai.models.generateContent({ model: "thinker", contents: "x" });
  return { text: r.text, data: r.data, code: r.executableCode, output: r.codeExecutionResult };
});
await show("stream", async () => read(await ai.models.generateContentStream({ model, contents: "hello", config: { temperature: 1 } })));
await show("stream that fails", async () => read(await ai.models.generateContentStream({ model: "breaks", contents: "hello" })));
await show("stream of an error", async () => read(await ai.models.generateContentStream({ model: "quota", contents: "hello" })));
await show("error", async () => ai.models.generateContent({ model: "quota", contents: "hello" }));
await show("error in text", async () => ai.models.generateContent({ model: "gateway", contents: "hello" }));
await show("retries", async () => (await ai.models.generateContent({ model: "flaky", contents: "x", config: { httpOptions: { retryOptions: { attempts: 3, initialDelay: 0.001 } } as any } })).text);
await show("no contents", async () => ai.models.generateContent({ model, contents: [] }));
await show("mixed contents", async () => ai.models.generateContent({ model, contents: ["a", { role: "user", parts: [] }] as any }));
await show("embed", async () => ai.models.embedContent({ model: "text-embedding-004", contents: ["a", "b"], config: { taskType: "RETRIEVAL_QUERY", outputDimensionality: 3 } }));
await show("embed one", async () => ai.models.embedContent({ model: "gemini-embedding-2", contents: ["a", "b"] }));
await show("count", async () => (await ai.models.countTokens({ model, contents: "a b c" })).totalTokens);
await show("upload", async () => ai.files.upload({ file: new Blob(["some text"], { type: "text/plain" }), config: { displayName: "notes", name: "abc" } }));
await show("upload of a path", async () => ai.files.upload({ file: `${dir}/notes.txt` }));
await show("upload of a path that is not there", async () => ai.files.upload({ file: `${dir}/none.txt` }));
await show("upload without a type", async () => ai.files.upload({ file: new Blob(["x"]) }));
await show("get", async () => ai.files.get({ name: "files/abc" }));
await show("delete", async () => ai.files.delete({ name: "abc" }));
await show("get what is not there", async () => ai.files.get({ name: "files/none" }));
await show("chat", async () => {
  const chat = ai.chats.create({ model, config: { systemInstruction: { parts: [{ text: "s" }] } as any }, history: [{ role: "user", parts: [{ text: "before" }] }, { role: "model", parts: [{ text: "yes" }] }] });
  const first = await chat.sendMessage({ message: "one" });
  const second = await read(await chat.sendMessageStream({ message: ["two", { text: "three" }] }));
  return { first: first.text, second: second.length, history: chat.getHistory(), curated: chat.getHistory(true) };
});
await show("chat without an answer", async () => {
  const chat = ai.chats.create({ model: "silent" });
  await chat.sendMessage({ message: "one" });
  await chat.sendMessage({ message: "two" });
  return { history: chat.getHistory(), curated: chat.getHistory(true) };
});

process.env.GEMINI_API_KEY = "third";
await show("key", async () => (await new GoogleGenAI({ httpOptions: { baseUrl: base } }).models.generateContent({ model, contents: "x" })).text);
process.env.GOOGLE_API_KEY = "second";
process.env.GOOGLE_GEMINI_BASE_URL = base + "/";
await show("address", async () => (await new GoogleGenAI({ apiVersion: "v1" }).models.generateContent({ model, contents: "x" })).text);
await show("express", async () => (await new GoogleGenAI({ vertexai: true, apiKey: "k", httpOptions: { baseUrl: base } }).models.generateContent({ model, contents: "x" })).text);
