// Files and memory, with the context of tools, of callbacks and of custom agents.
import { BaseAgent, Context, FunctionTool, InvocationContext, LOAD_ARTIFACTS, LlmAgent, LoadMemoryTool, PRELOAD_MEMORY, SequentialAgent, createEvent } from '@google/adk';
import { z } from 'zod';

const work = new FunctionTool({
  name: 'work',
  description: 'Works with files.',
  parameters: z.object({ on: z.string() }),
  execute: async ({ on }, context?: Context) => {
    const c = context!;
    const first = await c.saveArtifact(on, { text: 'one' });
    const second = await c.saveArtifact(on, { inlineData: { mimeType: 'text/plain', data: Buffer.from('two').toString('base64') } });
    const bytes = await c.saveArtifact('user:bytes', { inlineData: { mimeType: 'image/png', data: new Uint8Array([0, 255]) as any } });
    const service = c.invocationContext.artifactService as any;
    return {
      versions: [first, second, bytes],
      names: await c.listArtifacts(),
      latest: await c.loadArtifact(on),
      first: await c.loadArtifact(on, 0),
      bytes: await c.loadArtifact('user:bytes'),
      missing: (await c.loadArtifact('missing')) === undefined,
      all: await service.listVersions({ filename: on }),
      type: (await service.getArtifactVersion({ filename: on })).mimeType,
    };
  },
});

class Clerk extends BaseAgent {
  async *runAsyncImpl(ctx: InvocationContext) {
    const service = ctx.artifactService as any;
    const version = await service.saveArtifact({ filename: 'clerk', artifact: { text: 'by the clerk' } });
    await (ctx as any).saveArtifact('noted', { text: 'n' });
    const loaded = await service.loadArtifact({ filename: 'clerk' });
    await service.deleteArtifact({ filename: 'clerk' });
    const left = await service.listArtifactKeys();
    yield createEvent({ author: this.name, content: { role: 'model', parts: [{ text: `${version} ${loaded.text} ${left}` }] } });
  }
  async *runLiveImpl() {}
}

const worker = new LlmAgent({
  name: 'worker',
  model: 'gemini-2.5-flash',
  instruction: 'File: {artifact.dir/a.txt?}',
  tools: [work, LOAD_ARTIFACTS],
});

const rememberer = new LlmAgent({
  name: 'rememberer',
  model: 'memory-model',
  instruction: async () => 'Remember.',
  tools: [new LoadMemoryTool(), PRELOAD_MEMORY],
  afterAgentCallback: async (context: any) => {
    await context.addSessionToMemory();
    const { memories } = await context.searchMemory('please WORK');
    return { role: 'model', parts: [{ text: `${memories.length}: ${memories[0].author} said ${memories[0].content.parts[0].text}` }] };
  },
});

export const rootAgent = new SequentialAgent({ name: 'office', subAgents: [worker, new Clerk({ name: 'clerk' }), rememberer] });
