// Plugins: what takes part in everything that the agents of an application do.
import { REQUEST_CONFIRMATION_FUNCTION_CALL_NAME, setMark } from "./names.js";
import { getFunctionCalls } from "./events.js";
import { fill } from "./instructions.js";
import { appendInstructions } from "./requests.js";

/** The hooks of a plugin. One that is not replaced is never called. */
export class BasePlugin {
  constructor(name) {
    if (typeof name !== "string" || name === "") throw new Error("A plugin needs a name: call super('name')");
    this.name = name;
    setMark(this, "basePlugin");
  }
}
for (const hook of [
  "onUserMessageCallback", "beforeRunCallback", "onEventCallback", "afterRunCallback", "beforeAgentCallback", "afterAgentCallback",
  "beforeModelCallback", "afterModelCallback", "onModelErrorCallback", "beforeToolSelection", "beforeToolCallback", "afterToolCallback",
  "onToolErrorCallback", "beforeNodeCallback", "afterNodeCallback", "beforeContextCompaction", "afterContextCompaction",
]) {
  // Authors call super.
  Object.defineProperty(BasePlugin.prototype, hook, { value: async () => undefined, writable: true, configurable: true });
}

/** Why a conversation is made shorter: because it has become too long, or because
 * its model has asked for it. */
export const ContextCompactionTrigger = Object.freeze({ Manual: "Manual", Auto: "Auto", AgentControlled: "AgentControlled" });

/** Writes what happens to the log of the application, and not what was said. */
export class LoggingPlugin extends BasePlugin {
  constructor(name = "logging_plugin") {
    super(name);
  }
  #say(what, context, more = {}) {
    const about = { agent: context?.agentName, invocation: context?.invocationId, ...more };
    const members = Object.entries(about).filter(([, value]) => value !== undefined && value !== "");
    console.info(`[${this.name}] ${what} ${members.map(([key, value]) => `${key}=${value}`).join(" ")}`.trim());
  }
  async beforeRunCallback({ invocationContext }) {
    this.#say("run begins", invocationContext, { session: invocationContext.sessionId, user: invocationContext.userId });
  }
  async afterRunCallback({ invocationContext }) {
    this.#say("run ends", invocationContext);
  }
  async beforeAgentCallback({ callbackContext }) {
    this.#say("agent begins", callbackContext);
  }
  async afterAgentCallback({ callbackContext }) {
    this.#say("agent ends", callbackContext);
  }
  async beforeModelCallback({ callbackContext, llmRequest }) {
    this.#say("model is asked", callbackContext, { model: llmRequest.model });
  }
  async afterModelCallback({ callbackContext, llmResponse }) {
    if (!llmResponse.partial) this.#say("model has answered", callbackContext, { tokens: llmResponse.usageMetadata?.totalTokenCount, error: llmResponse.errorCode });
  }
  async onModelErrorCallback({ callbackContext, error }) {
    this.#say("model has failed", callbackContext, { error: error.message });
  }
  async beforeToolCallback({ tool, toolContext }) {
    this.#say("tool is called", toolContext, { tool: tool.name, call: toolContext.functionCallId });
  }
  async afterToolCallback({ tool, toolContext }) {
    this.#say("tool has answered", toolContext, { tool: tool.name, call: toolContext.functionCallId });
  }
  async onToolErrorCallback({ tool, toolContext, error }) {
    this.#say("tool has failed", toolContext, { tool: tool.name, call: toolContext.functionCallId, error: error.message });
  }
}

/** Tells every model of the application something before its agent's own
 * instruction. */
export class GlobalInstructionPlugin extends BasePlugin {
  constructor(globalInstruction = "", name = "global_instruction") {
    const o = typeof globalInstruction === "object" ? globalInstruction : { globalInstruction, name };
    super(o.name ?? "global_instruction");
    this.globalInstruction = o.globalInstruction ?? "";
  }
  async beforeModelCallback({ callbackContext, llmRequest }) {
    const given = this.globalInstruction;
    const text = typeof given === "function" ? String((await given(callbackContext)) ?? "") : await fill(String(given), callbackContext);
    if (!text) return;
    const own = llmRequest.config.systemInstruction;
    llmRequest.config.systemInstruction = text;
    if (own) appendInstructions(llmRequest, [own]);
  }
}

export const PolicyOutcome = Object.freeze({ DENY: "DENY", CONFIRM: "CONFIRM", ALLOW: "ALLOW" });

/** A policy that allows everything, for those that only try things out. */
export class InMemoryPolicyEngine {
  async evaluate() {
    return { outcome: PolicyOutcome.ALLOW, reason: "InMemoryPolicyEngine allows every call" };
  }
}

/** Asks a policy before every tool call. */
export class SecurityPlugin extends BasePlugin {
  constructor({ policyEngine = new InMemoryPolicyEngine(), name = "security_plugin" } = {}) {
    super(name);
    this.policyEngine = policyEngine;
  }
  async beforeToolCallback({ tool, toolArgs, toolContext }) {
    const { toolConfirmation } = toolContext;
    if (toolConfirmation) return toolConfirmation.confirmed ? undefined : { error: "This tool call is rejected." };
    const { outcome, reason } = await this.policyEngine.evaluate({ tool, toolArgs });
    switch (outcome) {
      case PolicyOutcome.ALLOW:
        return undefined;
      case PolicyOutcome.DENY:
        return { error: `This tool call is rejected by policy. Reason: ${reason}` };
      case PolicyOutcome.CONFIRM:
        toolContext.requestConfirmation({ hint: `The policy requires a confirmation before ${tool.name} is called. Reason: ${reason}` });
        return { partial: "This tool call needs a confirmation before it is made." };
    }
    throw new Error(`The policy answered ${JSON.stringify(outcome)}, which is not a PolicyOutcome`);
  }
}

/** The confirmations that an event asks for. */
export const getAskUserConfirmationFunctionCalls = (event) => getFunctionCalls(event).filter((call) => call.name === REQUEST_CONFIRMATION_FUNCTION_CALL_NAME);
