// What the documentation of adk-typescript writes, and its code would refuse.
import {
  Agent, AgentTool, AuthCredential, AuthCredentialTypes, BaseAgent, BaseTool, BaseToolset, CallbackContext, Event, EventActions, FunctionTool, InMemorySessionService,
  InvocationContext, LlmAgent, LoopAgent, OAuth2Auth, OpenIdConnectWithConfig, ParallelAgent, Runner, SequentialAgent, ToolContext, runners,
} from 'adk-typescript';

const credential = new AuthCredential({
  authType: AuthCredentialTypes.OAUTH2,
  oauth2: new OAuth2Auth({ clientId: 'id', clientSecret: 'no secret' }),
});
const scheme = new OpenIdConnectWithConfig({ authorizationEndpoint: 'https://example.com/auth', scopes: ['openid'] });

const capitalTool = {
  name: 'get_capital',
  description: 'Gets the capital of a country.',
  parameters: { type: 'object', properties: { country: { type: 'string' } }, required: ['country'] },
  execute: async ({ country }: { country: string }, toolContext: ToolContext) => {
    toolContext.state['country'] = country;
    toolContext.actions.skipSummarization = country === 'Peru';
    return { capital: country === 'Peru' ? 'Lima' : 'Paris' };
  },
};

class Clock extends BaseTool {
  constructor() {
    super({ name: 'clock', description: 'Tells the time.' });
  }
  getDeclaration() {
    return { name: this.name, description: this.description, parameters: { type: 'object', properties: { zone: { type: 'string' } } } };
  }
  async execute(params: Record<string, any>, context: ToolContext) {
    return `12:00 in ${params.zone} for ${context.get('country')}`;
  }
}

class ClockToolset extends BaseToolset {
  async getTools() {
    return [new Clock()];
  }
  async close() {}
}

const rounded = new FunctionTool({
  name: 'round',
  description: 'Rounds.',
  func: (value: number, decimals = 0) => value.toFixed(decimals),
});

const talker = new LlmAgent('talker', {
  model: 'gemini-2.5-flash',
  instruction: 'Talk about {country?}.',
  tools: new ClockToolset().getTools(),
  output_key: 'talk',
  flow: 'auto',
});

const askExpert = new AgentTool({
  name: 'ask_expert',
  description: 'Asks an expert.',
  agent: new LlmAgent('expert', { model: 'expert-model' }),
  functionDeclaration: { name: 'ask_expert', description: 'Asks an expert.', parameters: { type: 'object', properties: { input: { type: 'string' } }, required: ['input'] } },
  outputKey: 'expert',
});

const geographer = new Agent({
  name: 'geographer',
  model: 'gemini-2.5-pro',
  instruction: 'Find capitals.',
  tools: [capitalTool, rounded, askExpert],
});

class Orchestrator extends BaseAgent {
  async *runAsyncImpl(ctx: InvocationContext) {
    const country = ctx.session.state.get('country');
    yield new Event({
      author: this.name,
      invocation_id: ctx.invocationId,
      content: { role: 'model', parts: [{ text: `${credential.oauth2.clientId} ${scheme.scopes} ${country ?? 'nowhere'}` }] },
      actions: new EventActions({ state_delta: { began: true } }),
    });
    const child = this.findSubAgent('geographer');
    for await (const event of child.invoke(ctx)) yield event;
    yield* this.subAgents[1].runAsync(ctx);
  }
  setUserContent() {}
}

const orchestrator = new Orchestrator('orchestrator', { description: 'Runs the others.' });
orchestrator.subAgents = [geographer];
const loop = new LoopAgent('loop', { maxIterations: 1 });
talker.setParentAgent(loop);
orchestrator.addSubAgent(loop);

export const rootAgent = new SequentialAgent({ name: 'outer', sub_agents: [orchestrator, new ParallelAgent('idle', {})] });

if (require.main === module) {
  const runner = new Runner({ app_name: 'x', agent: rootAgent, session_service: new InMemorySessionService() });
  console.log(runner, runners, CallbackContext);
}
