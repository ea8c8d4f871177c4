// The client of the Gemini API.
import { unsupported } from "../adk/names.js";
import { Chat } from "./chat.js";
import { Files } from "./files.js";
import { Connection, usesVertex } from "./http.js";
import { countBody, embedBody, generateBody, modelPath } from "./request.js";
import { responseOf } from "./response.js";

const requestOf = (params, body) => ({ body, http: params.config?.httpOptions, signal: params.config?.abortSignal });

/** Adds members that are refused when they are used. */
function refuse(object, prefix, names, advice) {
  for (const name of names.split(" ")) Object.defineProperty(object, name, { value: unsupported(`${prefix}.${name}`, advice) });
}

export class Models {
  #connection;

  constructor(connection) {
    this.#connection = connection;
    refuse(
      this, "GoogleGenAI.models",
      "list get update delete computeTokens generateImages generateVideos editImage upscaleImage recontextImage segmentImage",
      "call the service with fetch");
  }

  #path({ model }, method) {
    return `${modelPath(model, this.#connection.vertex)}:${method}`;
  }

  async generateContent(params) {
    return responseOf(await this.#connection.call("POST", this.#path(params, "generateContent"), requestOf(params, generateBody(params))));
  }

  async generateContentStream(params) {
    const events = await this.#connection.stream(this.#path(params, "streamGenerateContent"), requestOf(params, generateBody(params)));
    return (async function* () {
      for await (const event of events) yield responseOf(event);
    })();
  }

  async embedContent(params) {
    if (this.#connection.vertex) throw new Error("embedContent with Vertex AI is not supported by this runtime: use the Gemini API, or call the service with fetch");
    const body = embedBody(modelPath(params.model), params.model, params);
    return this.#connection.call("POST", this.#path(params, "batchEmbedContents"), requestOf(params, body));
  }

  async countTokens(params) {
    return this.#connection.call("POST", this.#path(params, "countTokens"), requestOf(params, countBody(params)));
  }
}

export class Chats {
  #models;

  constructor(models) {
    this.#models = models;
  }

  create(params) {
    return new Chat(this.#models, params);
  }
}

export class GoogleGenAI {
  constructor(options = {}) {
    this.vertexai = usesVertex(options);
    if ((options.project || options.location) && !this.vertexai) throw new Error("a project or a location needs vertexai: true");
    const connection = new Connection(options, this.vertexai);
    if (this.vertexai && (!connection.key || options.project || options.googleAuthOptions)) {
      throw new Error(
        "GoogleGenAI with Vertex AI needs an API key in this runtime, which has no Google Cloud credentials for agent code: give it apiKey without a project, or use the model of an agent, which the server authorizes");
    }
    this.models = new Models(connection);
    this.chats = new Chats(this.models);
    this.files = new Files(connection);
    refuse(
      this, "GoogleGenAI",
      "live batches caches operations authTokens tunings fileSearchStores interactions webhooks agents triggers environments credentials voices",
      "call the service with fetch");
  }
}
