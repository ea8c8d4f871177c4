import { App, BasePlugin, ContextCompactionTrigger, type InvocationContext, LlmAgent, TruncatingContextCompactor } from '@google/adk';

const heard: string[] = [];

class Listener extends BasePlugin {
  async beforeContextCompaction({ invocationContext, trigger }: { invocationContext: InvocationContext; trigger: ContextCompactionTrigger }) {
    heard.push(`before in ${invocationContext.agent.name}: ${trigger === ContextCompactionTrigger.Auto}`);
  }
  async afterContextCompaction({ invocationContext }: { invocationContext: InvocationContext; trigger: ContextCompactionTrigger }) {
    heard.push(`after in ${invocationContext.agent.name}`);
  }
}

export const app = new App({
  name: 'app',
  rootAgent: new LlmAgent({
    name: 'root',
    model: 'root',
    contextCompactors: [new TruncatingContextCompactor({ threshold: 2, preserveLeadingEvents: 0 })],
    instruction: () => heard.join(', ') || 'nothing',
  }),
  plugins: [new Listener('listener')],
});
