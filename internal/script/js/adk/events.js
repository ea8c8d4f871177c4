// Events: plain objects in @google/adk, instances of a class in adk-typescript.
// Ours are the latter with the shape of the former.
import { camelOptions } from "./names.js";

export function createEventActions(init = {}) {
  return {
    stateDelta: {},
    artifactDelta: {},
    requestedAuthConfigs: {},
    requestedToolConfirmations: {},
    ...camelOptions(init),
  };
}

export class EventActions {
  constructor(init) {
    Object.assign(this, createEventActions(init));
  }
}

const ids = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";

const newID = () => Array.from(crypto.getRandomValues(new Uint8Array(8)), (b) => ids[b % ids.length]).join("");

export class Event {
  constructor(init = {}) {
    const given = camelOptions(init);
    Object.assign(this, {
      id: newID(),
      invocationId: "",
      longRunningToolIds: [],
      timestamp: Date.now(),
      ...given,
      actions: createEventActions(given.actions),
    });
  }
  static newId() {
    return newID();
  }
}

// The methods are no members: an event is data when it is shown or sent.
for (const [name, fn] of Object.entries({
  isFinalResponse() {
    return isFinalResponse(this);
  },
  getFunctionCalls() {
    return getFunctionCalls(this);
  },
  getFunctionResponses() {
    return getFunctionResponses(this);
  },
  hasTrailingCodeExecutionResult() {
    return hasTrailingCodeExecutionResult(this);
  },
})) {
  Object.defineProperty(Event.prototype, name, { value: fn, enumerable: false });
}

export const createEvent = (init) => new Event(init);

/** An event that came from Go. */
export function received(json) {
  const event = Object.setPrototypeOf(json, Event.prototype);
  event.actions = createEventActions(json.actions);
  event.longRunningToolIds ??= [];
  if (event.actions.route !== undefined) event.route = event.actions.route;
  // Go counts seconds, and gives the time where an event is stored.
  event.timestamp = event.timestamp ? Math.round(event.timestamp * 1000) : Date.now();
  return event;
}

/** An event as Go keeps it in a log. */
export const kept = (event) => (event.timestamp === undefined ? event : { ...event, timestamp: event.timestamp / 1000 });

const parts = (event) => event?.content?.parts ?? [];

export const getFunctionCalls = (event) => parts(event).flatMap((p) => (p.functionCall ? [p.functionCall] : []));
export const getFunctionResponses = (event) => parts(event).flatMap((p) => (p.functionResponse ? [p.functionResponse] : []));
export const hasTrailingCodeExecutionResult = (event) => parts(event).at(-1)?.codeExecutionResult !== undefined;
export const hasThoughts = (event) => parts(event).some((p) => p.thought);
export const pruneThoughts = (event) => (hasThoughts(event) ? new Event({ ...event, content: { ...event.content, parts: parts(event).filter((p) => !p.thought) } }) : event);

export function isFinalResponse(event) {
  if (event.actions?.skipSummarization || [...(event.longRunningToolIds ?? [])].length > 0) return true;
  return getFunctionCalls(event).length === 0 && getFunctionResponses(event).length === 0 && !event.partial && !hasTrailingCodeExecutionResult(event);
}

export const stringifyContent = (event) =>
  parts(event)
    .map((p) => p.text ?? "")
    .join("");

const members = [
  "actions", "author", "branch", "content", "customMetadata", "errorCode", "errorMessage", "finishReason", "groundingMetadata", "id",
  "interrupted", "invocationId", "longRunningToolIds", "output", "partial", "timestamp", "turnComplete", "usageMetadata",
];

/** Whether something has anything of an event. */
export const isEvent = (value) => typeof value === "object" && value !== null && members.some((name) => value[name] !== undefined);

/** An event as Go reads it. Ids and times are given where it is stored. */
export function toWire(event) {
  const { id, timestamp, route, ...rest } = event;
  if (route !== undefined) rest.actions = { ...rest.actions, route };
  if (rest.longRunningToolIds) rest.longRunningToolIds = [...rest.longRunningToolIds];
  if (rest.partial) rest.id = id;
  return rest;
}
