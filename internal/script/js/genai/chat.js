// Conversations with a model, whose history the client keeps.
import { contentOf } from "./request.js";

const isValid = (content) => content?.parts?.length > 0 && content.parts.every((part) => part && Object.keys(part).length > 0);

/** The history without the messages that the model did not answer well. */
function curated(history) {
  const out = [];
  for (let i = 0; i < history.length; ) {
    if (history[i].role === "user") {
      out.push(history[i++]);
      continue;
    }
    const begin = i;
    while (i < history.length && history[i].role !== "user") i++;
    const answer = history.slice(begin, i);
    if (answer.every(isValid)) out.push(...answer);
    else out.pop();
  }
  return out;
}

export class Chat {
  #models;
  #model;
  #config;
  #history;
  #last = Promise.resolve(); // the message before

  constructor(models, { model, config = {}, history = [] }) {
    for (const { role } of history) {
      if (role !== "user" && role !== "model") throw new Error(`the role of a content in a history is user or model, not ${role}`);
    }
    this.#models = models;
    this.#model = model;
    this.#config = config;
    this.#history = structuredClone(history);
  }

  getHistory(clean = false) {
    return structuredClone(clean ? curated(this.#history) : this.#history);
  }

  #request(content, config = this.#config) {
    return { model: this.#model, contents: [...this.getHistory(true), content], config };
  }

  #record(content, answer) {
    const complete = answer.length > 0 && answer.every((one) => one.role !== undefined);
    this.#history.push(content, ...(complete ? answer : [{ role: "model", parts: [] }]));
  }

  async sendMessage({ message, config }) {
    await this.#last;
    const content = contentOf(message);
    const sent = this.#models.generateContent(this.#request(content, config));
    const recorded = sent.then((response) => {
      const answer = response.candidates?.[0]?.content;
      this.#record(content, answer ? [answer] : []);
    });
    this.#last = recorded.catch(() => {});
    await this.#last;
    return sent;
  }

  async sendMessageStream({ message, config }) {
    await this.#last;
    const content = contentOf(message);
    const sent = this.#models.generateContentStream(this.#request(content, config));
    this.#last = sent.then(() => {}, () => {});
    return this.#recorded(content, await sent);
  }

  async *#recorded(content, stream) {
    const answer = [];
    let valid = true;
    let finished = false;
    for await (const chunk of stream) {
      const candidate = chunk.candidates?.[0];
      if (isValid(candidate?.content)) answer.push(candidate.content);
      else valid = false;
      finished ||= candidate?.finishReason !== undefined;
      yield chunk;
    }
    this.#record(content, valid && finished ? answer : []);
  }
}
