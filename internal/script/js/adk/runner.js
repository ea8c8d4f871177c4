// Runner, for files that end with a main() of their own. It is real, but what
// it runs has nothing to do with the sessions of the server.
import { forget, requestStream } from "../guest.js";
import { isBaseAgent } from "./agents.js";
import { describeAgent, dropAgent } from "./define.js";
import { describePlugins } from "./define-plugins.js";
import { kept, received } from "./events.js";
import { camelOptions, list, objectOrList, setMark } from "./names.js";
import { InMemoryArtifactService, InMemoryMemoryService, InMemorySessionService, SERVICE, registerServices, unregisterServices } from "./services.js";

export class Runner {
  constructor(options) {
    const given = camelOptions(options);
    const o = given.app ? { ...given, agent: given.app.rootAgent, appName: given.app.name, plugins: given.app.plugins } : given;
    if (!isBaseAgent(o.agent)) throw new Error("A Runner needs an agent");
    this.appName = o.appName ?? "InMemoryRunner";
    this.agent = o.agent;
    this.plugins = list(o.plugins);
    this.sessionService = o.sessionService ?? new InMemorySessionService();
    this.artifactService = o.artifactService;
    this.memoryService = o.memoryService;
    setMark(this, "runner");
  }

  async *runAsync(...args) {
    const o = objectOrList(args, "userId", "sessionId", "newMessage", "runConfig");
    const { agent, appName, sessionService } = this;
    const session = await sessionService.getSession({ appName, userId: o.userId, sessionId: o.sessionId });
    if (o.abortSignal?.aborted) return;
    if (!session) throw new Error(`Session not found: ${o.sessionId}`);
    const params = {
      id: `e-${crypto.randomUUID()}`,
      app: appName,
      user: o.userId,
      session: o.sessionId,
      state: { ...(session.state.toRecord?.() ?? session.state), ...o.stateDelta },
      events: session.events.map(kept),
      message: { role: "user", ...o.newMessage },
      stream: String(o.runConfig?.streamingMode ?? "") === "sse",
    };
    const keep = (event) => sessionService.appendEvent({ session, event });
    const services = { artifacts: this.artifactService, memory: this.memoryService };
    registerServices(params.id, { ...services, appName, userId: o.userId, sessionId: o.sessionId, session });
    Object.assign(params, { service: SERVICE, artifacts: Boolean(services.artifacts), memory: Boolean(services.memory) });
    const described = describeAgent(agent);
    try {
      Object.assign(params, { root: await described, plugins: describePlugins(this.plugins, agent, params) });
      const artifactDelta = o.runConfig?.saveInputBlobsAsArtifacts ? await this.#saveFiles(params) : {};
      await keep(received({ author: "user", invocationId: params.id, timestamp: Date.now() / 1000, content: params.message, actions: { stateDelta: o.stateDelta ?? {}, artifactDelta } }));
      for await (const json of requestStream("runner", params, undefined, o.abortSignal)) {
        const event = received(json);
        await keep(event);
        yield event;
      }
    } catch (error) {
      if (!o.abortSignal?.aborted) throw error; // else the caller has ended the run
    } finally {
      unregisterServices(params.id);
      forget(params);
      dropAgent(agent);
    }
  }
  // Keeps the files in a message as artifacts, and leaves their names in it.
  async #saveFiles({ id, app, user, session, message }) {
    const saved = {};
    if (!this.artifactService) return saved;
    message.parts = [...message.parts];
    for (const [i, part] of message.parts.entries()) {
      if (!part.inlineData) continue;
      const filename = part.inlineData.displayName || `artifact_${id}_${i}`;
      saved[filename] = await this.artifactService.saveArtifact({ appName: app, userId: user, sessionId: session, filename, artifact: part });
      message.parts[i] = { text: `[Uploaded Artifact: "${filename}"]` };
    }
    return saved;
  }
  run(...args) {
    return this.runAsync(...args);
  }
  async *runEphemeral(o) {
    const session = await this.sessionService.createSession({ appName: this.appName, userId: o.userId ?? "user" });
    const { appName, userId, id: sessionId } = session;
    try {
      yield* this.runAsync({ ...o, userId, sessionId });
    } finally {
      await this.sessionService.deleteSession?.({ appName, userId, sessionId });
    }
  }
  async close() {}
}

export class InMemoryRunner extends Runner {
  constructor(...args) {
    const o = isBaseAgent(args[0]) ? { agent: args[0], appName: args[1] } : args[0];
    super({ artifactService: new InMemoryArtifactService(), memoryService: new InMemoryMemoryService(), ...o });
  }
}

export const isRunner = (value) => value instanceof Runner;

/** adk-typescript's short form: one question, the text of the answer. */
export async function runAgent(agent, text) {
  const runner = new InMemoryRunner({ agent });
  let answer = "";
  for await (const event of runner.runEphemeral({ newMessage: { parts: [{ text: String(text) }] } })) {
    if (event.isFinalResponse() && event.content?.parts) answer = event.content.parts.map((p) => p.text ?? "").join("");
  }
  return answer;
}
