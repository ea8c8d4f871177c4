// What the runtime imports of packages that a remote agent does not need.
const none = class {
  constructor() {
    throw new Error('this package is not installed');
  }
};
export {
  none as Analytics, none as Client, none as MCPAppsMiddleware, none as MCPMiddleware, none as StreamableHTTPClientTransport, none as Validator,
  none as createAnthropic, none as createGoogleGenerativeAI, none as createMCPClient, none as createOpenAI, none as createVertex,
  none as fromBuffer, none as jsonSchema, none as stepCountIs, none as streamText, none as tool,
};
