// What the helpers of @google/adk that need no server return.
import * as adk from "@google/adk";

const show = (name: string, result: unknown) => console.log("REQUEST " + JSON.stringify({ name, result: result === undefined ? "undefined" : result }));
const throws = (f: () => unknown) => {
  try {
    return f() && false;
  } catch {
    return true;
  }
};

for (const name of ["AGENT_CARD_PATH", "AGENT_REGISTRY_BASE_URL", "GCP_MCP_SERVER_DESTINATION_ID", "FINISH_TASK_TOOL_NAME", "CodeExecutionLanguage", "FeatureName", "FeatureStage", "FileContentEncoding", "GoogleLLMVariant", "ProtocolType", "EventType"]) {
  show(name, (adk as any)[name]);
}

const event = (init: object) => adk.createEvent({ author: "a", ...init } as any);
const call = (id: string | undefined, name: string, args?: object) => ({ functionCall: { id, name, args } });
const mixed = event({
  content: {
    role: "model",
    parts: [
      { text: "hm", thought: true }, { text: "a" }, { text: "" }, call("1", "f", {}), { functionResponse: { id: "1", name: "f", response: {} } }, { functionCall: {} },
      { executableCode: { code: "1" } }, { codeExecutionResult: { output: "1" } },
    ],
  },
});
show("structured", adk.toStructuredEvents(mixed));
show("structured, final", adk.toStructuredEvents(event({ content: { role: "model", parts: [{ text: "done" }] } })));
show("structured, error", adk.toStructuredEvents(event({ errorCode: "X", errorMessage: "y" })).map((one: any) => [one.type, one.error.message]));
show("structured, confirmation", adk.toStructuredEvents(event({ actions: adk.createEventActions({ requestedToolConfirmations: { c: { hint: "h", confirmed: false } } } as any) })).map((one) => one.type));

const asks = [
  event({ content: { parts: [call("i", "adk_request_input", { message: "m", payload: { a: 1 }, response_schema: { type: "string" } }), call("x", "other")] } }),
  event({ content: { parts: [call("c", "adk_request_confirmation", { toolConfirmation: { hint: " ", payload: null }, originalFunctionCall: { name: "t" } })] } }),
  event({ content: { parts: [call("d", "adk_request_confirmation", { toolConfirmation: { hint: "sure?" } })] } }),
  event({ content: { parts: [call("l", "adk_request_credential", { auth_config: { scheme: "x" } }), call("m", "adk_request_credential", { authConfig: { scheme: "x" } })] } }),
  event({ content: { parts: [call(undefined, "adk_request_input", { interruptId: "given" }), call(undefined, "adk_request_input")] } }),
];
show("requests", asks.map((one) => adk.getUserInputRequests(one)));
show("requires", [...asks, mixed].map((one) => adk.requiresUserInput(one)));
const answer = event({ author: "user", content: { parts: [{ functionResponse: { id: "c", name: "adk_request_confirmation", response: {} } }] } });
show("pending", adk.getPendingUserInputRequests([...asks, asks[0], answer]).map((one) => one.interruptId));

const events = [...asks, answer];
show("finds", [
  adk.findEventByFunctionCallId(events, "c") === asks[1], adk.findEventByFunctionCallId(events, "c", 1) === undefined, adk.findMatchingFunctionCall(events) === asks[1],
  adk.findMatchingFunctionCall([]) === undefined, adk.findMatchingFunctionCall(asks) === undefined, adk.findEventByLastFunctionResponseId(events) === asks[1], adk.findEventByLastFunctionResponseId(asks),
]);
const without = event({ content: { parts: [call("", "f"), call("keep", "g")] } });
adk.populateClientFunctionCallId(without);
show("ids", without.content!.parts!.map((part) => part.functionCall!.id!.replace(/[0-9a-f-]{36}$/, "UUID")));
show("id", adk.generateClientFunctionCallId().replace(/[0-9a-f-]{36}$/, "UUID"));

const leaf = new adk.LlmAgent({ name: "leaf", model: "gemini-2.5-flash" });
const closed = new adk.LlmAgent({ name: "closed", model: "gemini-2.5-flash", disallowTransferToParent: true });
const inner = new adk.LlmAgent({ name: "inner", model: "gemini-2.5-flash" });
const root = new adk.LlmAgent({ name: "root", model: "gemini-2.5-flash", subAgents: [leaf, closed, new adk.SequentialAgent({ name: "s", subAgents: [inner] })] });
show("routable", [root, leaf, closed, inner].map((agent) => adk.isRoutableLlmAgent(agent)));
show("require", [adk.requireAgent({ agent: leaf } as any) === leaf, throws(() => adk.requireAgent({} as any))]);

show("live", ["gemini-3.1-flash-live-preview", "projects/p/locations/l/publishers/google/models/gemini-3.0-flash-live", "gemini-3-flash-live", "gemini-2.5-flash-live", ""].map((m) => adk.isGemini3xFlashLive(m)));
show("google", ["https://x.googleapis.com/a", "https://googleapis.com", "https://notgoogleapis.com", "https://googleapis.com.test", "no"].map((u) => adk.isGoogleApi(u)));
show("clean", ["a b", "__a--b__", "1x", "é", "a_b"].map((n) => adk.cleanName(n)));

const delta = event({ actions: adk.createEventActions({ stateDelta: { a: 1, "temp:b": 2, "user:c": 3 } }) });
show("trim", [adk.trimTempState({ a: 1, "temp:b": 2, "app:c": 3 }), adk.trimTempDeltaState(delta).actions.stateDelta, adk.trimTempDeltaState(delta) === delta]);
show("merge", [adk.mergeStates({ a: 1 }, { b: 2 }, { c: { d: 3 } }), adk.mergeStates()]);

class Provider extends adk.BaseExampleProvider {
  getExamples() {
    return [];
  }
}
show("provider", [adk.isBaseExampleProvider(new Provider()), adk.isBaseExampleProvider({}), adk.isBaseExampleProvider(null)]);
const mismatch = new adk.IntentMismatchError({ reason: "other arguments" as any, functionCallId: "c" });
show("mismatch", [mismatch.name, mismatch.reason, mismatch.functionCallId, mismatch instanceof Error, adk.isIntentMismatchError(mismatch), adk.isIntentMismatchError(new Error("x"))]);

let aborted = false;
const task = new adk.Task(async (signal: AbortSignal) => {
  signal.addEventListener("abort", () => void (aborted = true));
  await Promise.resolve();
  return 1;
});
const before = task.done();
task.cancel();
const value = await (task as any).promise;
await Promise.resolve();
show("task", [before, aborted, value, task.done()]);

const queue = new adk.AsyncQueue<number>();
queue.push(1);
queue.push(2);
const first = queue.size;
setTimeout(() => (queue.push(3), queue.close(), queue.push(4)), 0);
const read = [];
for await (const one of queue) read.push(one);
const failing = new adk.AsyncQueue<number>();
failing.push(1);
failing.fail(new Error("broken"));
const seen: unknown[] = [];
try {
  for await (const one of failing) seen.push(one);
} catch (error: any) {
  seen.push(error.message);
}
show("queue", [first, read, queue.isClosed, seen]);
show("end", true);
