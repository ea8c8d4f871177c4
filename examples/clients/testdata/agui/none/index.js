// Whatever is imported is a component that shows its children.
const component = (props) => props?.children ?? null;
module.exports = Object.create(new Proxy({}, { get: (_, name) => (name === '__esModule' ? undefined : component) }));

// Node.js looks for the names of what CopilotKit's runtime imports.
0 && (module.exports = {
  Analytics, Client, MCPAppsMiddleware, MCPMiddleware, StreamableHTTPClientTransport, Validator, createAnthropic,
  createGoogleGenerativeAI, createMCPClient, createOpenAI, createVertex, fromBuffer, jsonSchema, stepCountIs, streamText, tool,
});
