// What a tool, an instruction and a callback see of the run.
import { CallbackContext, Context, FunctionTool, InvocationContext, LlmAgent, ReadonlyContext, State, ToolContext } from '@google/adk';
import { z } from 'zod';

const where = new FunctionTool({
  name: 'where',
  description: 'Tells where the tool runs.',
  execute: async (_args, context) => {
    const { appName, userId, sessionId, agentName, userContent, state } = context as Context;
    return {
      place: `${appName}/${userId}/${sessionId}/${agentName}`,
      ids: [typeof context.invocationId, context.functionCallId!.length > 0, context.invocationContext.session.id],
      said: userContent?.parts?.[0]?.text,
      agent: context.invocationContext.agent.model,
      aborted: context.abortSignal!.aborted,
      events: context.session.events.map((e: any) => `${e.author}${e.isFinalResponse() ? '.' : ''}`),
      kinds: [context instanceof Context, context instanceof ToolContext, context instanceof CallbackContext, context instanceof InvocationContext],
      state: state instanceof State,
    };
  },
});

const useState = new FunctionTool({
  name: 'use_state',
  description: 'Uses the state in every way.',
  parameters: z.object({ item: z.string() }),
  execute: ({ item }, context) => {
    const state = context!.state as any;
    const items = (state.get('items') ?? []) as string[];
    state.set('items', [...items, item]);
    state['last'] = item;
    state.user_level = 1;
    state.update({ 'user:name': 'Ada', 'app:limit': 5, 'temp:draft': true });
    delete state.user_level;
    context!.actions.stateDelta['direct'] = true;
    return {
      keys: Object.keys(state),
      json: JSON.stringify(state),
      has: ['last' in state, 'nothing' in state, state.has('items'), state.hasOwnProperty('last'), 'get' in state],
      fallback: state.get('nothing', 'fallback'),
      bySession: context!.session.state['last'],
      spread: { ...state }.last,
      record: Object.keys(state.toRecord()).length,
      changed: state.hasDelta(),
      entries: Object.entries(state).length,
      text: `${state}`,
    };
  },
});

export const rootAgent = new LlmAgent({
  name: 'observer',
  model: 'gemini-2.5-flash',
  instruction: async (context: ReadonlyContext) => {
    let refused = '';
    try {
      (context.state as any).set('x', 1);
    } catch (error) {
      refused = (error as Error).message;
    }
    return `${context.agentName} for ${context.userId} knows {not a place} ${JSON.stringify(context.state)}. ${refused}`;
  },
  tools: [where, useState],
});
