import { LlmAgent, RoutedAgent } from '@google/adk';

const agents = {
  short: new LlmAgent({ name: 'brief', model: 'small', instruction: 'Be brief.' }),
  long: new LlmAgent({ name: 'thorough', model: 'large', instruction: 'Be thorough.' }),
};

export const rootAgent = new RoutedAgent({
  name: 'desk',
  agents,
  router: async (all: typeof agents, context, failure?: { failedKeys: Set<string>; lastError: Error }) => {
    if (failure) return failure.failedKeys.has('long') ? undefined : 'long';
    const text = context.userContent.parts[0].text;
    if (text === 'odd') return 'middle';
    return text.length > 10 ? 'long' : Object.keys(all)[0];
  },
});
