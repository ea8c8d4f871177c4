// Tools that the provider of the model runs itself, which is Gemini's. Nothing is
// called here: the request says that the model may use them.
import { camelOptions } from "./names.js";
import { BaseTool } from "./tools.js";

class ProviderTool extends BaseTool {
  constructor(name, description, entry) {
    super({ name, description });
    Object.defineProperty(this, "entry", { value: entry });
  }
  /** What the request says, unless a class of the author's says something else. */
  get providerTool() {
    return this.processLlmRequest === ProviderTool.prototype.processLlmRequest ? this.entry : undefined;
  }
  async processLlmRequest({ llmRequest }) {
    llmRequest.config ??= {};
    llmRequest.config.tools = [...(llmRequest.config.tools ?? []), this.entry];
  }
  async runAsync() {
    throw new Error(`The tool "${this.name}" is run by the model: list it in the tools of an agent`);
  }
}

export class GoogleSearchTool extends ProviderTool {
  constructor() {
    super("google_search", "Searches with Google.", { googleSearch: {} });
  }
}

export class EnterpriseWebSearchTool extends ProviderTool {
  constructor() {
    super("enterprise_web_search", "Searches the web for enterprises.", { enterpriseWebSearch: {} });
  }
}

export class UrlContextTool extends ProviderTool {
  constructor() {
    super("url_context", "Reads the addresses that are named.", { urlContext: {} });
  }
}

export class GoogleMapsGroundingTool extends ProviderTool {
  constructor() {
    super("google_maps", "Looks places up on Google Maps.", { googleMaps: {} });
  }
}

/** Searches a data store, or with a search engine, of Vertex AI Search. */
export class VertexAiSearchTool extends ProviderTool {
  constructor(options, more) {
    const o = typeof options === "string" ? { dataStoreId: options, ...camelOptions(more) } : camelOptions(options);
    const datastore = o.dataStoreId ?? o.datastore;
    const engine = o.searchEngineId ?? o.engine;
    if (!datastore === !engine) throw new Error("A VertexAiSearchTool needs one of dataStoreId and searchEngineId");
    if (o.dataStoreSpecs && !engine) throw new Error("dataStoreSpecs of a VertexAiSearchTool are for a searchEngineId");
    const { dataStoreSpecs, filter, maxResults } = o;
    const search = { datastore, engine, dataStoreSpecs, filter, maxResults };
    super("vertex_ai_search", "Searches with Vertex AI Search.", { retrieval: { vertexAiSearch: JSON.parse(JSON.stringify(search)) } });
  }
}

export { VertexAiSearchTool as VertexAISearchTool };
export const createVertexAISearchToolWithDataStore = (dataStoreId, options) => new VertexAiSearchTool({ ...options, dataStoreId });
export const createVertexAISearchToolWithEngine = (searchEngineId, options) => new VertexAiSearchTool({ ...options, searchEngineId });

export const GOOGLE_SEARCH = new GoogleSearchTool();
export const ENTERPRISE_WEB_SEARCH = new EnterpriseWebSearchTool();
export const URL_CONTEXT = new UrlContextTool();
export const GOOGLE_MAPS_GROUNDING = new GoogleMapsGroundingTool();
export { GOOGLE_SEARCH as googleSearch, ENTERPRISE_WEB_SEARCH as enterpriseWebSearch };
