// Compactors: how the older part of a long conversation is made shorter. Their
// settings are Go's to follow; what is written here makes the summaries.
import { LLMRegistry } from "./models.js";
import { setMark } from "./names.js";

const positive = (owner, name, value) => {
  if (!Number.isFinite(value) || value <= 0) throw new Error(`${owner} needs ${name}, a number above 0`);
  return value;
};

/** Summarises the older events when a prompt has had too many tokens. */
export class TokenBasedContextCompactor {
  constructor({ tokenThreshold, eventRetentionSize = 0, summarizer } = {}) {
    this.tokenThreshold = positive("TokenBasedContextCompactor", "tokenThreshold", tokenThreshold);
    this.eventRetentionSize = eventRetentionSize;
    if (typeof summarizer?.summarize !== "function") throw new Error("TokenBasedContextCompactor needs a summarizer, such as new LlmSummarizer({ llm })");
    this.summarizer = summarizer;
    setMark(this, "compactor");
  }
}

/** Leaves the older events out when there are too many. */
export class TruncatingContextCompactor {
  constructor({ threshold, preserveLeadingEvents = 0 } = {}) {
    this.threshold = positive("TruncatingContextCompactor", "threshold", threshold);
    this.preserveLeadingEvents = preserveLeadingEvents;
    setMark(this, "compactor");
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
