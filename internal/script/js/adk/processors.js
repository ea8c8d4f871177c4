// What works on requests and responses of a model. Those of the package are done
// by Go: here they only stand for it, so that an agent can be without one, and
// have processors of its own beside them.

export class BaseLlmRequestProcessor {
  // biome-ignore lint/correctness/useYield: it does nothing
  async *runAsync() {}
}

export class BaseLlmResponseProcessor {
  // biome-ignore lint/correctness/useYield: it does nothing
  async *runAsync() {}
}

/** Agents with an executor run code without it. */
export class CodeExecutionResponseProcessor extends BaseLlmResponseProcessor {}

const done = new Set(); // by Go
const ofGo = (cls) => {
  const one = new cls();
  done.add(one);
  return one;
};

export class AgentTransferLlmRequestProcessor extends BaseLlmRequestProcessor {}
export class ContentRequestProcessor extends BaseLlmRequestProcessor {}
export class ContextCompactorRequestProcessor extends BaseLlmRequestProcessor {
  constructor(compactors = []) {
    super();
    this.compactors = compactors;
    done.add(this);
  }
}
export class InteractionsRequestProcessor extends BaseLlmRequestProcessor {}

class BasicLlmRequestProcessor extends BaseLlmRequestProcessor {}
class AuthPreprocessor extends BaseLlmRequestProcessor {}
class IdentityLlmRequestProcessor extends BaseLlmRequestProcessor {}
class InstructionsLlmRequestProcessor extends BaseLlmRequestProcessor {}
class RequestConfirmationLlmRequestProcessor extends BaseLlmRequestProcessor {}
class RequestInputLlmRequestProcessor extends BaseLlmRequestProcessor {}
class CodeExecutionRequestProcessor extends BaseLlmRequestProcessor {}
class ToolFilterRequestProcessor extends BaseLlmRequestProcessor {}

export const AUTH_PREPROCESSOR = ofGo(AuthPreprocessor);
export const CONTENT_REQUEST_PROCESSOR = ofGo(ContentRequestProcessor);
export const INTERACTIONS_REQUEST_PROCESSOR = ofGo(InteractionsRequestProcessor);
const identity = ofGo(IdentityLlmRequestProcessor);
const instructions = ofGo(InstructionsLlmRequestProcessor);
const transfer = ofGo(AgentTransferLlmRequestProcessor);

const standard = [
  ofGo(BasicLlmRequestProcessor), AUTH_PREPROCESSOR, identity, instructions, ofGo(RequestConfirmationLlmRequestProcessor),
  ofGo(RequestInputLlmRequestProcessor), CONTENT_REQUEST_PROCESSOR, INTERACTIONS_REQUEST_PROCESSOR, ofGo(CodeExecutionRequestProcessor),
  ofGo(ToolFilterRequestProcessor),
];

/** The processors of an agent that names none, or those that it names. */
export const processorsOf = (given, transfers) => [...(given ?? standard), ...(transfers ? [transfer] : [])];

/** What an agent has left of the processors of the package, and its own. */
export function remaining(agent) {
  const all = agent.requestProcessors ?? standard;
  const missing = standard.filter((one) => one !== identity && one !== instructions && !all.includes(one));
  if (missing.length > 0 && all !== standard) {
    console.warn(`The agent "${agent.name}" is without ${missing.map((one) => one.constructor.name).join(", ")}, which has no effect in this version`);
  }
  return { introduce: all.includes(identity), instruct: all.includes(instructions), own: all.filter((one) => !done.has(one)) };
}

/** Runs processors of the author on a request or a response. */
export async function process(processors, context, message) {
  for (const one of processors) {
    for await (const event of one.runAsync(context, message)) {
      if (event) throw new Error(`${one.constructor.name} yielded an event, which is not supported by this version: change the request or the response`);
    }
  }
}
