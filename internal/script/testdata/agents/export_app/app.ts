import { App, LlmAgent, SequentialAgent, createResumabilityConfig, isApp } from '@google/adk';

const first = new LlmAgent({ name: 'first', model: 'gemini-2.5-flash' });
export const app = new App({
  name: 'my_app',
  rootAgent: new SequentialAgent({ name: 'in_app', subAgents: [first] }),
  resumabilityConfig: createResumabilityConfig({ isResumable: true }),
});
export const rootAgent = isApp(app) ? new LlmAgent({ name: 'not_this_one', model: 'gemini-2.5-flash' }) : undefined;
