// Helpers of @google/adk that need no server, and its enumerations.
import { isLlmAgent } from "./agents.js";
import { getFunctionCalls, getFunctionResponses, isFinalResponse } from "./events.js";
import { hasMark, mark, camelOptions, REQUEST_CONFIRMATION_FUNCTION_CALL_NAME, REQUEST_CREDENTIAL_FUNCTION_CALL_NAME, REQUEST_INPUT_FUNCTION_CALL_NAME } from "./names.js";
import { State } from "./state.js";

export const AGENT_CARD_PATH = ".well-known/agent-card.json";
export const AGENT_REGISTRY_BASE_URL = "https://agentregistry.googleapis.com/v1alpha";
export const GCP_MCP_SERVER_DESTINATION_ID = "gcp.mcp.server.destination.id";
export const FINISH_TASK_TOOL_NAME = "finish_task";
export const FINISH_TASK_SUCCESS_RESULT = "Task completed.";

export const CodeExecutionLanguage = Object.freeze({
  UNSPECIFIED: "unspecified", PYTHON: "python", JAVASCRIPT: "javascript", TYPESCRIPT: "typescript", SHELL: "shell", POWERSHELL: "powershell", WINDOWS_CMD: "cmd",
});
export const FeatureName = Object.freeze({ PROGRESSIVE_SSE_STREAMING: "PROGRESSIVE_SSE_STREAMING" });
export const FeatureStage = Object.freeze({ WIP: "wip", EXPERIMENTAL: "experimental", STABLE: "stable" });
export const FileContentEncoding = Object.freeze({ UTF8: "utf-8", BASE64: "base64" });
export const GoogleLLMVariant = Object.freeze({ VERTEX_AI: "VERTEX_AI", GEMINI_API: "GEMINI_API" });
export const ProtocolType = Object.freeze({ TYPE_UNSPECIFIED: "TYPE_UNSPECIFIED", A2A_AGENT: "A2A_AGENT", CUSTOM: "CUSTOM" });

export const EventType = Object.freeze({
  THOUGHT: "thought", CONTENT: "content", TOOL_CALL: "tool_call", TOOL_RESULT: "tool_result", CALL_CODE: "call_code", CODE_RESULT: "code_result",
  ERROR: "error", ACTIVITY: "activity", TOOL_CONFIRMATION: "tool_confirmation", FINISHED: "finished",
});

const filled = (value) => value && Object.keys(value).length > 0;

function structuredPart(part) {
  if (filled(part.functionCall)) return { type: EventType.TOOL_CALL, call: part.functionCall };
  if (filled(part.functionResponse)) return { type: EventType.TOOL_RESULT, result: part.functionResponse };
  if (filled(part.executableCode)) return { type: EventType.CALL_CODE, code: part.executableCode };
  if (filled(part.codeExecutionResult)) return { type: EventType.CODE_RESULT, result: part.codeExecutionResult };
  return part.text ? { type: part.thought ? EventType.THOUGHT : EventType.CONTENT, content: part.text } : undefined;
}

/** What an event has to tell, one item for each part. */
export function toStructuredEvents(event) {
  if (event.errorCode) return [{ type: EventType.ERROR, error: new Error(event.errorMessage || event.errorCode) }];
  const out = (event.content?.parts ?? []).map(structuredPart).filter(Boolean);
  const confirmations = event.actions?.requestedToolConfirmations;
  if (filled(confirmations)) out.push({ type: EventType.TOOL_CONFIRMATION, confirmations });
  if (isFinalResponse(event)) out.push({ type: EventType.FINISHED, output: undefined });
  return out;
}

const text = (value) => (typeof value === "string" ? value : undefined);

const credential = (args) => ({ kind: "credential", message: text(args.message), authConfig: camelOptions(args).authConfig ?? undefined });

const questions = {
  adk_request_credential: credential, // where the server is told to use the name of the package
  [REQUEST_INPUT_FUNCTION_CALL_NAME]: (args) => ({
    kind: "input", message: text(args.message), payload: args.payload ?? undefined, responseSchema: args.response_schema ?? undefined,
  }),
  [REQUEST_CREDENTIAL_FUNCTION_CALL_NAME]: credential,
  [REQUEST_CONFIRMATION_FUNCTION_CALL_NAME]: ({ toolConfirmation, originalFunctionCall }) => ({
    kind: "confirmation", message: text(toolConfirmation?.hint)?.trim() ? toolConfirmation.hint : undefined, payload: toolConfirmation?.payload ?? undefined, toolName: text(originalFunctionCall?.name),
  }),
};

/** What an event asks the user for. */
export const getUserInputRequests = (event) =>
  getFunctionCalls(event).flatMap(({ id, name, args = {} }) => {
    const interruptId = id ?? text(args.interruptId) ?? text(args.functionCallId);
    return interruptId && Object.hasOwn(questions, name) ? [{ interruptId, functionCallName: name, author: event.author, ...questions[name](args) }] : [];
  });

export const requiresUserInput = (event) => getUserInputRequests(event).length > 0;

/** The questions of events that no later or earlier event answers. */
export function getPendingUserInputRequests(events) {
  const seen = new Set(events.flatMap((event) => getFunctionResponses(event).map(({ id }) => id)));
  return events.flatMap(getUserInputRequests).filter(({ interruptId }) => !seen.has(interruptId) && seen.add(interruptId));
}

/** The latest event, before an index, that has a call. */
export const findEventByFunctionCallId = (events, id, end = events.length) =>
  events.slice(0, end).findLast((event) => getFunctionCalls(event).some((call) => call.id === id));

/** The event with the call that the last event answers. */
export function findMatchingFunctionCall(events) {
  const id = events.length > 0 ? getFunctionResponses(events.at(-1))[0]?.id : undefined;
  return id ? findEventByFunctionCallId(events, id, events.length - 1) : undefined;
}

export const findEventByLastFunctionResponseId = (events) => findMatchingFunctionCall(events) ?? null;

export const generateClientFunctionCallId = () => `adk-${crypto.randomUUID()}`;

export function populateClientFunctionCallId(event) {
  for (const call of getFunctionCalls(event)) call.id ||= generateClientFunctionCallId();
}

/** Whether control can come back to the root from an agent. */
export function isRoutableLlmAgent(agent) {
  for (let one = agent; one; one = one.parentAgent) if (!isLlmAgent(one) || one.disallowTransferToParent) return false;
  return true;
}

export function requireAgent(context) {
  if (!context.agent) throw new Error("The context has no agent, because a node runs without one");
  return context.agent;
}

export const isGemini3xFlashLive = (model) => /^(?:projects\/[^/]+\/locations\/[^/]+\/publishers\/[^/]+\/models\/)?gemini-3\..*-flash-live/.test(model ?? "");

export const isGoogleApi = (url) => URL.canParse(url) && /(?:^|\.)googleapis\.com$/.test(new URL(url).hostname);

/** An identifier of a name. */
export const cleanName = (name) => name.replace(/[^a-zA-Z0-9]+/g, "_").replace(/^_+|_+$/g, "").replace(/^(?=\d)/, "_");

/** A state without what lasts for one run. */
export const trimTempState = (state) => Object.fromEntries(Object.entries(state).filter(([key]) => !key.startsWith(State.TEMP_PREFIX)));

export function trimTempDeltaState(event) {
  if (event.actions?.stateDelta) event.actions.stateDelta = trimTempState(event.actions.stateDelta);
  return event;
}

const prefixed = (state, prefix) => Object.fromEntries(Object.entries(state).map(([key, value]) => [prefix + key, value]));

/** The state that a session shows: its own, and that of its application and user. */
export const mergeStates = (app = {}, user = {}, session = {}) => ({
  ...structuredClone(session), ...prefixed(app, State.APP_PREFIX), ...prefixed(user, State.USER_PREFIX),
});

export class BaseExampleProvider {
  constructor() {
    this[mark("baseExampleProvider")] = true;
  }
}

export const isBaseExampleProvider = (value) => hasMark(value, "baseExampleProvider");

/** An answer to a confirmation that is not for the call that was asked about. */
export class IntentMismatchError extends Error {
  constructor({ reason, functionCallId }) {
    super(`The confirmation${functionCallId ? ` of the call ${functionCallId}` : ""} was rejected: ${reason}`);
    this.name = "IntentMismatchError";
    this.reason = reason;
    this.functionCallId = functionCallId;
  }
}

export const isIntentMismatchError = (error) => error instanceof Error && error.name === "IntentMismatchError";

/** Work that can be cancelled. */
export class Task {
  #done = false;
  #abort = new AbortController();

  constructor(work) {
    const end = () => void (this.#done = true);
    this.promise = work(this.#abort.signal);
    this.promise.then(end, end);
  }
  cancel() {
    this.#abort.abort();
  }
  done() {
    return this.#done;
  }
}

/** A queue whose items are read with for await. */
export class AsyncQueue {
  #items = [];
  #readers = [];
  #closed = false;
  #failure;

  get isClosed() {
    return this.#closed;
  }
  get size() {
    return this.#items.length;
  }
  push(value) {
    if (this.#closed) return;
    const reader = this.#readers.shift();
    if (reader) reader.resolve({ value, done: false });
    else this.#items.push(value);
  }
  fail(error) {
    if (this.#failure) return;
    this.#failure = { error };
    this.#closed = true;
    for (const reader of this.#readers.splice(0)) reader.reject(error);
  }
  error(error) {
    this.fail(error);
  }
  close() {
    this.#closed = true;
    for (const reader of this.#readers.splice(0)) reader.resolve({ value: undefined, done: true });
  }
  [Symbol.asyncIterator]() {
    return {
      next: async () => {
        if (this.#items.length > 0) return { value: this.#items.shift(), done: false };
        if (this.#failure) throw this.#failure.error;
        return this.#closed ? { value: undefined, done: true } : new Promise((resolve, reject) => this.#readers.push({ resolve, reject }));
      },
    };
  }
}
