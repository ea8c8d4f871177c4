// Compactors: how the older part of a long conversation is made shorter. Their
// settings are Go's to follow; what is written here makes the summaries.
import { LLMRegistry } from "./models.js";
import { setMark } from "./names.js";

const positive = (owner, name, value) => {
  if (!Number.isFinite(value) || value <= 0) throw new Error(`${owner} needs ${name}, a number above 0`);
  return value;
};

const countOf = (owner, name, value) => {
  if (!Number.isInteger(value) || value < 0) throw new Error(`${owner} needs ${name}, an integer that is not negative`);
  return value;
};

const summarizerOf = (owner, summarizer) => {
  if (typeof summarizer?.summarize !== "function") throw new Error(`${owner} needs a summarizer, such as new LlmSummarizer({ llm })`);
  return summarizer;
};

// What Go has to know of a compactor, but for the summarizer; see compaction.go.
const SETTINGS = Symbol("settings");

/** A compactor of ours, or undefined. */
export const settingsOf = (compactor) => compactor?.[SETTINGS];

/** Summarises the older events when a prompt has had too many tokens. */
export class TokenBasedContextCompactor {
  constructor({ tokenThreshold, eventRetentionSize = 0, summarizer } = {}) {
    const owner = new.target.name;
    this.tokenThreshold = positive(owner, "tokenThreshold", tokenThreshold);
    this.eventRetentionSize = eventRetentionSize;
    this.summarizer = summarizerOf(owner, summarizer);
    setMark(this, "compactor");
  }
  get [SETTINGS]() {
    return { tokens: this.tokenThreshold, keep: this.eventRetentionSize };
  }
}

/** The same with a summary that stays, and is brought up to date. */
export class AnchoredContextCompactor extends TokenBasedContextCompactor {
  get [SETTINGS]() {
    return { ...super[SETTINGS], anchored: true };
  }
}

/** Summarises everything when the model asks for it; see ConsolidateContextTool. */
export class AgentControlledContextCompactor {
  constructor({ summarizer } = {}) {
    this.summarizer = summarizerOf("AgentControlledContextCompactor", summarizer);
    this.trigger = "AgentControlled"; // of ContextCompactionTrigger
    setMark(this, "compactor");
  }
  get [SETTINGS]() {
    return { onRequest: true };
  }
}

/** Leaves the older events out when there are too many. */
export class TruncatingContextCompactor {
  constructor({ threshold, preserveLeadingEvents = 0 } = {}) {
    this.threshold = positive("TruncatingContextCompactor", "threshold", threshold);
    this.preserveLeadingEvents = preserveLeadingEvents;
    setMark(this, "compactor");
  }
  get [SETTINGS]() {
    return { events: this.threshold + this.preserveLeadingEvents, keep: this.threshold, lead: this.preserveLeadingEvents };
  }
}

/** Leaves out what was thought in the older events. */
export class TrajectoryThoughtPruningCompactor {
  constructor({ eventRetentionSize } = {}) {
    this.eventRetentionSize = countOf("TrajectoryThoughtPruningCompactor", "eventRetentionSize", eventRetentionSize);
    setMark(this, "compactor");
  }
  get [SETTINGS]() {
    return { dropThoughts: true, keep: this.eventRetentionSize };
  }
}

/** A summary made by a model. */
export class LlmSummarizer {
  constructor({ llm, model, prompt = "" } = {}) {
    const given = llm ?? model;
    if (!given) throw new Error("LlmSummarizer needs a model: give it as llm");
    this.llm = typeof given === "string" ? LLMRegistry.newLlm(given) : given;
    this.prompt = prompt;
  }
  async summarize() {
    throw new Error("LlmSummarizer is used by the agent that it is given to");
  }
}

export const isCompactedEvent = (event) => Boolean(event?.actions?.compaction);
export const isScratchpadEvent = (event) => isCompactedEvent(event) && event.customMetadata?.compaction?.anchored === true;

/** A summary as summarizers know it, and any other event as it is. */
export function asCompacted(event) {
  if (!isCompactedEvent(event)) return event;
  const { startTimestamp, endTimestamp } = event.actions.compaction;
  const compactedContent = event.content.parts.map((p) => p.text ?? "").join("");
  return Object.assign(event, { isCompacted: true, isScratchpad: isScratchpadEvent(event), startTime: startTimestamp, endTime: endTimestamp, compactedContent });
}
