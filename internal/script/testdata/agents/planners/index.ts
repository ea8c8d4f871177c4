import { LlmAgent, SequentialAgent } from 'adk-typescript/agents';
import { BasePlanner, PlanReActPlanner } from 'adk-typescript/planners';

class Loud extends BasePlanner {
  buildPlanningInstruction(context, request) {
    return `Think, ${context.agentName}, of ${request.contents.length}.`;
  }
  processPlanningResponse(context, parts) {
    context.state.set('parts', parts.length);
    return parts.map((p) => ({ ...p, text: p.text.toUpperCase() }));
  }
}

export const rootAgent = new SequentialAgent({
  name: 'all',
  subAgents: [
    new LlmAgent({ name: 'react', model: 'react', instruction: 'Plan.', planner: new PlanReActPlanner(), outputKey: 'answer' }),
    new LlmAgent({ name: 'loud', model: 'loud', instruction: 'Shout.', planner: new Loud() }),
  ],
});
