import { App, BasePlugin, FunctionTool, GlobalInstructionPlugin, LlmAgent, LoggingPlugin, PolicyOutcome, SecurityPlugin } from '@google/adk';
import { z } from 'zod';

class Desk extends BasePlugin {
  override async onUserMessageCallback({ invocationContext, userMessage }) {
    const text = userMessage.parts[0].text;
    if (text === 'refuse') throw new Error('not at this desk');
    invocationContext.state.set('asked', text);
    return text === 'psst' ? { role: 'user', parts: [{ text: 'something secret' }] } : undefined;
  }
  override async beforeRunCallback({ invocationContext }) {
    return invocationContext.state.get('asked') === 'closed' ? { role: 'model', parts: [{ text: 'The desk is closed.' }] } : undefined;
  }
  override async onEventCallback({ event }) {
    const text = event.content?.parts?.[0]?.text;
    return text === 'Shout.' ? { ...event, content: { role: 'model', parts: [{ text: 'SHOUT!' }] } } : undefined;
  }
  override async afterRunCallback({ invocationContext }) {
    invocationContext.state.set('runs', (invocationContext.state.get('runs') ?? 0) + 1);
  }
  override async beforeAgentCallback({ agent, callbackContext }) {
    callbackContext.state.set('temp:agent', `${agent.name} ${callbackContext.agentName}`);
  }
  override async onModelErrorCallback({ llmRequest, error }) {
    return { content: { role: 'model', parts: [{ text: `${llmRequest.model} is unavailable: ${error.message}` }] } };
  }
  override async beforeToolSelection({ tools }) {
    delete tools.hidden;
    return tools;
  }
  override async beforeToolCallback({ toolArgs }) {
    if (toolArgs.of) toolArgs.of = toolArgs.of.toUpperCase();
  }
  override async afterToolCallback({ tool, result }) {
    return tool.name === 'look' ? { ...result, checked: true } : undefined;
  }
  override async onToolErrorCallback({ tool, error }) {
    return { failed: tool.name, why: error.message };
  }
}

class Policy {
  async evaluate({ tool, toolArgs }) {
    return tool.name === 'destroy' ? { outcome: PolicyOutcome.DENY, reason: `${toolArgs.of} is needed` } : { outcome: PolicyOutcome.ALLOW, reason: '' };
  }
}

const of = z.object({ of: z.string() });
const look = new FunctionTool({ name: 'look', description: 'Looks.', parameters: of, execute: ({ of }) => ({ found: of }) });
const destroy = new FunctionTool({ name: 'destroy', description: 'Destroys.', parameters: of, execute: () => ({ gone: true }) });
const hidden = new FunctionTool({ name: 'hidden', description: 'Hides.', execute: () => ({}) });
const breaks = new FunctionTool({ name: 'breaks', description: 'Breaks.', execute: () => { throw new Error('ouch'); } });

export const app = new App({
  name: 'plugins',
  rootAgent: new LlmAgent({ name: 'clerk', model: 'gemini-2.5-flash', instruction: 'Serve.', tools: [look, destroy, hidden, breaks] }),
  plugins: [new Desk('desk'), new SecurityPlugin({ policyEngine: new Policy() }), new GlobalInstructionPlugin('You are at {asked?}. {temp:agent?}'), new LoggingPlugin()],
});
