// The applications of the conformance suite, as package testkit has them, for
// adk-js. The model does what the user's message says.
import { BaseLlm, FunctionTool, getUserChoiceTool, LlmAgent, LongRunningFunctionTool, requestInputTool, SequentialAgent } from '@google/adk';
import { z } from 'zod';

/** Places where calls wait for each other. The applications are bundled one by one, and share them. */
const places = (globalThis.parleyPlaces ??= new Map());

function place(name) {
  if (!places.has(name)) {
    let open;
    const opened = new Promise((resolve) => (open = resolve));
    places.set(name, { open, opened, arrived: 0 });
  }
  return places.get(name);
}

const none = z.object({});
const tool = (name, description, parameters, execute, more = {}) => new FunctionTool({ name, description, parameters, execute, ...more });

const tools = () => [
  tool('get_weather', 'The weather in a city.', z.object({ city: z.string() }), ({ city }) => ({ status: 'success', report: `It is sunny in ${city}.` })),
  tool('meet', 'Waits for the other call of the same response.', z.object({ seat: z.number() }), async ({ seat }, context) => {
    const table = place(`table ${context.invocationContext?.invocationId ?? context.invocationId}`);
    if (++table.arrived === 2) table.open();
    await table.opened;
    return { seat };
  }),
  tool('remember', 'Sets a value in every scope of the state.', z.object({ value: z.string() }), ({ value }, context) => {
    for (const key of ['user:u', 'app:a', 'temp:t', 'k']) context.state.set(key, value);
    return { status: 'success' };
  }),
  tool('keep', 'Sets one value of the state.', z.object({ key: z.string(), value: z.string() }), ({ key, value }, context) => {
    context.state.set(key, value);
    return { status: 'success' };
  }),
  tool('recall', 'Reads one value of the state.', z.object({ key: z.string() }), ({ key }, context) => {
    const value = context.state.get(key);
    return { found: value !== undefined, value: value ?? null };
  }),
  tool('save_file', 'Saves an artifact.', z.object({ name: z.string(), text: z.string() }), async ({ name, text }, context) => ({ version: await context.saveArtifact(name, { text }) })),
  tool('remind', 'Searches the memory.', z.object({ key: z.string() }), async ({ key }, context) => {
    const { memories } = await context.searchMemory(key);
    return { said: memories.map((one) => `${one.author}: ${(one.content?.parts ?? []).map((part) => part.text ?? '').join('')}`) };
  }),
  tool('wait_for', 'Waits until a gate is opened.', z.object({ gate: z.string() }), async ({ gate }) => {
    await place(gate).opened;
    return { status: 'success' };
  }),
  tool('open', 'Opens a gate.', z.object({ gate: z.string() }), ({ gate }) => {
    place(gate).open();
    return { status: 'success' };
  }),
  tool('fail', 'Fails.', none, () => {
    throw new Error('the sensor is broken');
  }),
  tool('explode', 'Panics.', none, () => {
    throw new Error('a secret of the tool');
  }),
  tool(
    'delete_table',
    'Deletes a table.',
    z.object({ table: z.string() }),
    ({ table }, context) => {
      context.state.set(`deleted_${table}`, Number(context.state.get(`deleted_${table}`) ?? 0) + 1);
      return { deleted: table };
    },
    { requireConfirmation: true },
  ),
  requestInputTool,
  getUserChoiceTool,
  new LongRunningFunctionTool({ name: 'ask_approval', description: 'Asks a person, who answers later.', parameters: none, execute: () => ({ status: 'pending', ticket: 't-1' }) }),
  new LongRunningFunctionTool({ name: 'ask_silently', description: 'Asks a person, who answers later.', parameters: none, execute: () => undefined }),
];

const calls = (...list) => ({ calls: list.map(([name, args]) => ({ name, args: args ?? {} })) });
const plain = (word) => word.replace(/^[.,:;!?]+|[.,:;!?]+$/g, '');
const city = (rest) => (rest.includes('in') && rest[rest.indexOf('in') + 1] ? plain(rest[rest.indexOf('in') + 1]) : 'Oslo');

const commands = {
  weather: (rest) => calls(['get_weather', { city: city(rest) }]),
  pair: () => calls(['meet', { seat: 1 }], ['meet', { seat: 2 }]),
  state: ([value = '']) => calls(['remember', { value }]),
  keep: ([key = '', value = '']) => calls(['keep', { key, value }]),
  recall: ([key = '']) => calls(['recall', { key }]),
  art: ([name = '', text = '']) => calls(['save_file', { name, text }]),
  remind: (rest) => calls(['remind', { key: rest.join(' ') }]),
  long: () => calls(['ask_approval']),
  silent: () => calls(['ask_silently']),
  danger: ([table = '']) => calls(['delete_table', { table }]),
  dangers: () => calls(['delete_table', { table: 'one' }], ['delete_table', { table: 'two' }]),
  ask: () => calls(['adk_request_input', { message: 'How many?', responseSchema: { type: 'object', properties: { n: { type: 'integer', minimum: 1, maximum: 9 } }, required: ['n'] } }]),
  choose: () => calls(['get_user_choice', { options: ['red', 'blue'] }]),
  slow: ([gate = '']) => calls(['wait_for', { gate }]),
  release: ([gate = '']) => calls(['open', { gate }]),
  broken: () => calls(['fail']),
  panic: () => calls(['explode']),
  fail: () => ({ lost: true }),
  stutter: () => ({ text: 'One moment, please', lost: true }),
  errcode: () => ({ error: { errorCode: 'SAFETY', errorMessage: 'The answer was withheld.' } }),
};

/** What the model answers to a conversation. */
function answer(contents) {
  const last = contents.at(-1)?.parts ?? [];
  const responses = last.map((part) => part.functionResponse).filter(Boolean);
  if (responses.length > 0) {
    if (responses[0].name === 'remember') return calls(['recall', { key: 'temp:t' }]);
    return { text: responses.map((r) => (r.name === 'get_weather' && r.response?.report ? r.response.report : `${r.name} returned ${JSON.stringify(r.response)}`)).join(' ') };
  }
  const file = last.find((part) => part.inlineData)?.inlineData;
  if (file) return { text: `I see ${Buffer.from(file.data, 'base64').length} bytes of ${file.mimeType}.` };
  const text = last.map((part) => part.text ?? '').join('');
  const words = text.split(/\s+/).filter(Boolean);
  for (const [i, word] of words.entries()) {
    const name = plain(word).toLowerCase();
    if (Object.hasOwn(commands, name)) return commands[name](words.slice(i + 1));
  }
  return { text: `You said: ${text}` };
}

class Scripted extends BaseLlm {
  constructor(answer) {
    super({ model: 'scripted' });
    this.answer = answer;
  }

  async *generateContentAsync(request, stream) {
    const step = this.answer(request);
    if (step.error) {
      yield step.error;
      return;
    }
    if (step.calls) {
      yield { content: { role: 'model', parts: step.calls.map((functionCall) => ({ functionCall })) } };
      return;
    }
    if (step.text !== undefined && stream) {
      for (const piece of step.text.match(/\S+\s*/g) ?? []) yield { partial: true, content: { role: 'model', parts: [{ text: piece }] } };
    }
    if (step.lost) throw new Error('boom');
    yield { content: { role: 'model', parts: [{ text: step.text }] }, ...(stream ? { turnComplete: true } : {}) };
  }

  connect() {
    throw new Error('there is no live connection');
  }
}

const weatherAgent = (name) =>
  new LlmAgent({
    name,
    description: 'Tells the weather in any city.',
    instruction: 'Answer questions about the weather. Look it up; never guess.',
    model: new Scripted((request) => answer(request.contents)),
    tools: tools(),
  });

export const weather = () => weatherAgent('weather_agent');

export const relay = () =>
  new SequentialAgent({
    name: 'relay_agent',
    description: 'Reports, then reviews.',
    subAgents: [
      weatherAgent('reporter'),
      new LlmAgent({
        name: 'reviewer',
        instruction: (context) => (context.userContent?.parts ?? []).map((part) => part.text ?? '').join(''),
        model: new Scripted((request) => (String(request.config?.systemInstruction ?? '').includes('break') ? { lost: true } : { text: 'I approve.' })),
      }),
    ],
  });
