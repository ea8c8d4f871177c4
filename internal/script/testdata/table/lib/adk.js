// What Node.js gets for @google/adk: the tool, without an agent.
export class FunctionTool {
  constructor(options) {
    Object.assign(this, options);
  }
}
export class LlmAgent extends FunctionTool {}
