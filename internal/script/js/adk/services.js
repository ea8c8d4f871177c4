// The in-memory services of the packages, for files that end with a main() of
// their own. They are real, but private to the application: nothing of them
// reaches what the server keeps. That has services of its own, which agents get
// with their context.
import { expose, requestStream } from "../guest.js";
import { objectOrList } from "./names.js";
import { makeState } from "./state.js";

const keyOf = (...names) => JSON.stringify(names);

export class InMemorySessionService {
  #sessions = new Map();
  #shared = new Map(); // what the sessions of a user, or of all users, have in common

  async createSession(...args) {
    const o = objectOrList(args, "appName", "userId", "state", "sessionId");
    const id = o.sessionId?.trim() || crypto.randomUUID();
    const session = { id, appName: o.appName, userId: o.userId, events: [], lastUpdateTime: Date.now() };
    const data = {};
    session.state = makeState(() => data, data).proxy;
    this.#change(session, o.state?.toRecord?.() ?? o.state);
    this.#sessions.set(keyOf(o.appName, o.userId, id), session);
    return this.#fresh(session);
  }
  async getSession(...args) {
    const o = objectOrList(args, "appName", "userId", "sessionId");
    return this.#fresh(this.#sessions.get(keyOf(o.appName, o.userId, o.sessionId ?? o.id)));
  }
  async listSessions(...args) {
    const o = objectOrList(args, "appName", "userId");
    return { sessions: [...this.#sessions.values()].filter((s) => s.appName === o.appName && s.userId === o.userId) };
  }
  async deleteSession(...args) {
    const o = objectOrList(args, "appName", "userId", "sessionId");
    this.#sessions.delete(keyOf(o.appName, o.userId, o.sessionId));
  }
  async appendEvent(...args) {
    const { session, event } = args.length > 1 ? { session: args[0], event: args[1] } : args[0];
    if (event.partial) return event;
    this.#change(session, event.actions?.stateDelta);
    session.events.push(event);
    session.lastUpdateTime = Date.now();
    return event;
  }

  #change(session, delta = {}) {
    for (const [key, value] of Object.entries(delta)) {
      if (key.startsWith("temp:")) continue;
      session.state.set(key, value);
      const where = this.#commons(session).find(([prefix]) => key.startsWith(prefix))?.[1];
      if (where) this.#shared.set(where, { ...this.#shared.get(where), [key]: value });
    }
  }
  #commons = ({ appName, userId }) => [["app:", keyOf(appName)], ["user:", keyOf(appName, userId)]];
  #fresh(session) {
    if (session) for (const [, where] of this.#commons(session)) session.state.update(this.#shared.get(where) ?? {});
    return session;
  }
}

export class InMemoryArtifactService {
  #files = new Map();

  // A file whose name starts with user: belongs to all sessions of the user.
  #key = (o) => keyOf(o.appName, o.userId, o.filename.startsWith("user:") ? "" : o.sessionId, o.filename);
  #args = (args) => objectOrList(args, "appName", "userId", "sessionId", "filename", "artifact");

  async saveArtifact(...args) {
    const o = this.#args(args);
    const versions = this.#files.get(this.#key(o)) ?? [];
    this.#files.set(this.#key(o), versions);
    return versions.push(structuredClone(o.artifact)) - 1;
  }
  async loadArtifact(...args) {
    const o = this.#args(args);
    return structuredClone(this.#files.get(this.#key(o))?.at(o.version ?? -1));
  }
  async listArtifactKeys(...args) {
    const o = this.#args(args);
    const own = [...this.#files.keys()].map((key) => JSON.parse(key));
    return own.filter(([app, user, session]) => app === o.appName && user === o.userId && (session === "" || session === o.sessionId)).map((key) => key[3]).sort();
  }
  async listVersions(...args) {
    return (this.#files.get(this.#key(this.#args(args))) ?? []).map((_, version) => version);
  }
  async deleteArtifact(...args) {
    this.#files.delete(this.#key(this.#args(args)));
  }
}

const wordsOf = (text) => new Set(String(text ?? "").toLowerCase().match(/[\p{L}\p{N}]+/gu));

/** Remembers sessions, and finds what shares a word with a question. */
export class InMemoryMemoryService {
  #sessions = new Map();

  async addSessionToMemory(session) {
    const events = session.events.filter((e) => e.content?.parts?.some((p) => p.text));
    this.#sessions.set(keyOf(session.appName, session.userId, session.id), events);
  }
  async searchMemory(...args) {
    const o = objectOrList(args, "appName", "userId", "query");
    const wanted = wordsOf(o.query);
    const mine = [...this.#sessions].filter(([key]) => key.startsWith(keyOf(o.appName, o.userId).slice(0, -1)));
    const found = mine.flatMap(([, events]) => events).filter((e) => e.content.parts.some((p) => [...wordsOf(p.text)].some((word) => wanted.has(word))));
    return { memories: found.map(({ content, author, timestamp }) => ({ content, author, timestamp: new Date(timestamp ?? 0).toISOString() })) };
  }
}

const runs = new Map(); // active private runs, by invocation

/** Registers the services of a Runner for the functions that its private run calls. */
export const registerServices = (invocationId, services) => runs.set(invocationId, services);
export const unregisterServices = (invocationId) => runs.delete(invocationId);

/** How Go calls the services of a private run. */
export const SERVICE = expose(async ({ run, service, method, args }) => {
  const { appName, userId, sessionId, session, ...services } = runs.get(run) ?? {};
  if (method === "addSessionToMemory") return services.memory.addSessionToMemory(session);
  return (await services[service][method]({ appName, userId, sessionId, ...args })) ?? null;
});

async function ask(call, method, params) {
  for await (const answer of requestStream("service", { method, ...params }, call)) return answer ?? undefined;
}

// Bytes are base64 on the way.
function sendablePart(part) {
  const data = part?.inlineData?.data;
  return data && typeof data !== "string" ? { ...part, inlineData: { ...part.inlineData, data: Buffer.from(data).toString("base64") } } : part;
}

/** The files that the server keeps, for one session. */
const hostedArtifacts = (call) => {
  const nameOf = (o) => (typeof o === "string" ? o : o.filename);
  const versions = (o) => ask(call, "listVersions", { name: nameOf(o) });
  return {
    saveArtifact: (o) => ask(call, "saveArtifact", { name: o.filename, part: sendablePart(o.artifact), metadata: o.customMetadata }),
    loadArtifact: (o) => ask(call, "loadArtifact", { name: nameOf(o), version: o.version }),
    listArtifactKeys: () => ask(call, "listArtifacts"),
    listVersions: async (o) => (await versions(o)).map((v) => v.version),
    listArtifactVersions: versions,
    getArtifactVersion: async (o) => (await versions(o)).find((v, i, all) => v.version === (o.version ?? all.at(-1).version)),
    deleteArtifact: (o) => ask(call, "deleteArtifact", { name: nameOf(o) }),
  };
};

/** What the server remembers of the user. */
const hostedMemory = (call) => ({
  searchMemory: (o) => ask(call, "searchMemory", { query: String((typeof o === "string" ? o : o.query) ?? "") }),
  addSessionToMemory: (session) => {
    const { app, user, session: own } = call.info;
    if ((session?.appName ?? app) !== app || (session?.userId ?? user) !== user) {
      throw new Error("Only sessions of the user and of the application can be added to the memory");
    }
    const id = session?.id ?? session?.sessionId ?? own;
    return ask(call, "addSessionToMemory", id === own ? {} : { session: id });
  },
});

/** The services that a context may use, each bound to its session. */
export function servicesOf({ invocationId, appName, userId, sessionId, call }) {
  if (!runs.has(invocationId)) return call.id === undefined ? {} : { artifacts: hostedArtifacts(call), memory: hostedMemory(call) };
  const { artifacts, memory } = runs.get(invocationId);
  const bound = (service) =>
    service &&
    new Proxy(service, {
      get: (target, name) => {
        const value = target[name];
        if (typeof value !== "function") return value;
        return (o, ...rest) => value.call(target, typeof o === "string" ? { appName, userId, sessionId, filename: o } : { appName, userId, sessionId, ...o }, ...rest);
      },
    });
  return { artifacts: bound(artifacts), memory: bound(memory) };
}
