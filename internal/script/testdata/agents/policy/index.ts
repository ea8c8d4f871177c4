import { App, FunctionTool, LlmAgent, PolicyOutcome, SecurityPlugin, type BasePolicyEngine, type PolicyCheckResult, type ToolCallPolicyContext } from '@google/adk';
import { z } from 'zod';

class Limit implements BasePolicyEngine {
  async evaluate({ tool, toolArgs }: ToolCallPolicyContext): Promise<PolicyCheckResult> {
    if (tool.name !== 'pay' || toolArgs.amount < 100) return { outcome: PolicyOutcome.ALLOW, reason: 'small' };
    return { outcome: PolicyOutcome.CONFIRM, reason: `${toolArgs.amount} is much` };
  }
}

const pay = new FunctionTool({
  name: 'pay',
  description: 'Pays.',
  parameters: z.object({ amount: z.number() }),
  execute: ({ amount }, context) => {
    const total = context.state.get('paid', 0) + amount;
    context.state.set('paid', total);
    return { total };
  },
});

export const app = new App({
  name: 'policy',
  rootAgent: new LlmAgent({ name: 'clerk', model: 'gemini-2.5-flash', tools: [pay] }),
  plugins: [new SecurityPlugin({ policyEngine: new Limit() })],
});
