// > What is in the notes?
// > And now?
import { LlmAgent, LoadMcpResourceTool } from "@google/adk";
import { Scripted, call } from "../model";

// It stands for a toolset with a server.
const toolset: any = {
  listResources: async () => ["notes", "picture"],
  readResource: async (name: string) => (name === "notes" ? [{ uri: "file:///notes", text: "milk" }] : [{ uri: "file:///picture", blob: "AAAA", mimeType: "image/png" }]),
};

export const rootAgent = new LlmAgent({
  name: "reader",
  model: new Scripted([call("load_mcp_resource", { resource_names: ["notes", "picture"] })], "Milk.", "Still milk."),
  tools: [new LoadMcpResourceTool(toolset)],
});
