// The errors of nodes, by the names that the package has for them.

const known = (name) => (error) => error instanceof Error && error.name === name;

/** Ends the function of a node that waits for the user. */
export class NodeInterruptedError extends Error {
  name = "NodeInterruptedError";
  constructor(message = "The node waits for an answer of the user.") {
    super(message);
  }
}

/** A node that another one ran has failed. */
export class DynamicNodeFailError extends Error {
  name = "DynamicNodeFailError";
  constructor({ message, error, errorNodePath }) {
    super(message);
    this.error = error;
    this.errorNodePath = errorNodePath;
  }
}

export class NodeTimeoutError extends Error {
  name = "NodeTimeoutError";
  constructor({ nodeName, timeout }) {
    super(`Node '${nodeName}' timed out after ${timeout} seconds.`);
    this.nodeName = nodeName;
    this.timeout = timeout;
  }
}

/** A node has emitted an error, and nothing else. */
export class NodeReportedError extends Error {
  name = "NodeReportedError";
  constructor({ nodeName, errorCode: code = "UNKNOWN_ERROR", errorMessage = code }) {
    super(`Node '${nodeName}' failed: ${code === "UNKNOWN_ERROR" ? "" : `${code}: `}${errorMessage}`);
    this.code = code;
    this.nodeName = nodeName;
  }
}

export class NodeSchemaValidationError extends Error {
  name = "NodeSchemaValidationError";
  constructor({ nodeName, direction, cause }) {
    const detail = cause instanceof Error ? cause.message : String(cause);
    super(`Node '${nodeName}' ${direction} does not match its ${direction}Schema: ${detail}`, { cause });
    this.nodeName = nodeName;
    this.direction = direction;
  }
}

export class StateSchemaError extends TypeError {
  name = "StateSchemaError";
}

export const isNodeInterruptedError = known("NodeInterruptedError");
export const isDynamicNodeFailError = known("DynamicNodeFailError");
export const isNodeTimeoutError = known("NodeTimeoutError");
export const isNodeReportedError = known("NodeReportedError");
export const isNodeSchemaValidationError = known("NodeSchemaValidationError");
export const isStateSchemaError = known("StateSchemaError");

/** The names by which a retryConfig may know an error. */
function namesOf(error) {
  if (error instanceof Error) return [...new Set([error.constructor?.name, error.name].filter(Boolean))];
  return [typeof error === "object" && error !== null ? (error.constructor?.name ?? "Object") : typeof error];
}

const typeOf = (error) => {
  const [own, given] = namesOf(error);
  return own === "Error" && given ? given : own;
};

const codeOf = ({ code } = {}) => (typeof code === "string" || typeof code === "number" ? String(code) : undefined);
const textOf = (error) => (error instanceof Error ? error.message : String(error));

/** An error as Go gets to know it. The first name is the one that is shown. */
export function describeFailure(error) {
  const names = [typeOf(error), ...namesOf(error)];
  return { names, code: codeOf(error ?? undefined), message: textOf(error), final: isDynamicNodeFailError(error) };
}

/** An event that says which node failed, and why. */
export function createNodeErrorEvent(createEvent, { error, attemptCount = 1, ...event }) {
  return Object.assign(createEvent(event), {
    isNodeError: true,
    errorType: typeOf(error),
    errorCode: event.errorCode ?? codeOf(error ?? undefined) ?? "UNKNOWN_ERROR",
    errorMessage: event.errorMessage ?? textOf(error),
    attemptCount,
  });
}

export const isNodeErrorEvent = (event) => event?.isNodeError === true;

/** The names of the errors that a retryConfig lists. */
export function normalizeRetryExceptions(exceptions) {
  return exceptions?.map((one) => {
    const name = typeof one === "function" ? one.name : one;
    if (typeof name === "string" && name !== "") return name;
    throw new Error(`exceptions must contain classes of errors, or their names, but not ${String(one)}`);
  });
}

export function prepareRetryConfig({ maxAttempts, initialDelay, maxDelay, backoffFactor, jitter, exceptions }) {
  return { maxAttempts, initialDelay, maxDelay, backoffFactor, jitter, exceptions: normalizeRetryExceptions(exceptions) };
}
