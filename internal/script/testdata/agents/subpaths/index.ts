// Every path of adk-typescript leads to the same things.
import adk, { agents, models, sessions, tools, VERSION } from 'adk-typescript';
import { LlmAgent } from 'adk-typescript/agents';
import { RunConfig } from 'adk-typescript/agents/run_config';
import { InMemoryArtifactService } from 'adk-typescript/artifacts';
import { AuthCredentialTypes } from 'adk-typescript/auth';
import { EventActions } from 'adk-typescript/events';
import { InMemoryMemoryService } from 'adk-typescript/memory';
import { LlmRegistry, BaseLlm, LlmRequest, LlmResponse } from 'adk-typescript/models';
import { Content } from 'adk-typescript/models/types';
import { Runner } from 'adk-typescript/runners';
import { InMemorySessionService, State, StatePrefix } from 'adk-typescript/sessions';
import { exitLoop, FunctionTool, LongRunningFunctionTool } from 'adk-typescript/tools';
import { sleep, generateId } from 'adk-typescript/utils';
import * as official from '@google/adk';

class Parrot extends BaseLlm {
  constructor(model: string) {
    super(model);
  }
  static supportedModels(): string[] {
    return ['parrot-[0-9]+'];
  }
  async *generateContentAsync(llmRequest: LlmRequest, stream?: boolean) {
    const last: Content = llmRequest.contents[llmRequest.contents.length - 1];
    await sleep(1);
    yield new LlmResponse({ content: { role: 'model', parts: [{ text: `${this.model} says: ${last.parts[0].text}. ${llmRequest.config.systemInstruction}` }] } });
  }
}
LlmRegistry.register(Parrot);

const state = new State({ a: 1 }, {});
state.set('b', 2);
const found = {
  agents: [agents.LlmAgent, models.LlmRegistry, sessions.InMemorySessionService, tools.FunctionTool, adk.LlmAgent].every((x) => typeof x === 'function'),
  same: adk.LlmAgent === LlmAgent && official.BaseTool === tools.BaseTool,
  data: [AuthCredentialTypes.API_KEY, StatePrefix.USER_PREFIX, new RunConfig({ maxLlmCalls: 3 }).maxLlmCalls, new EventActions().stateDelta, generateId().length],
  services: [new InMemoryArtifactService(), new InMemoryMemoryService(), new InMemorySessionService()].length,
  tools: [exitLoop.name, new LongRunningFunctionTool(function later() {}).isLongRunning, new FunctionTool({ name: 'f', description: 'd', fn: () => 1 }).name],
  state: JSON.stringify(state),
  runner: typeof new Runner({ agent: new LlmAgent({ name: 'x', model: LlmRegistry.newLlm('gemini-2.5-flash') }), appName: 'x' }).runAsync,
  version: typeof VERSION,
};

export const rootAgent = new LlmAgent({ name: 'parrot', model: 'parrot-2', instruction: JSON.stringify(found) });
