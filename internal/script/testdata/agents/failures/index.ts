// Tools that fail, and tools that return odd things.
import { FunctionTool, LlmAgent } from '@google/adk';

class OutOfStock extends Error {
  override name = 'OutOfStock';
}

const results: Record<string, () => unknown> = {
  throws_error: () => {
    throw new Error('the disk is full');
  },
  throws_text: () => {
    throw 'just a text';
  },
  throws_object: () => {
    throw { code: 42 };
  },
  throws_own: () => {
    throw new OutOfStock('no more apples');
  },
  throws_type: () => (undefined as any).length,
  rejects: () => Promise.reject(new Error('too late')),
  gives_nothing: () => undefined,
  gives_null: async () => null,
  gives_text: () => 'text',
  gives_number: () => 42,
  gives_list: () => [1, 2],
  gives_error: () => ({ status: 'error', error_message: 'of its own' }),
  gives_map: () => ({ when: new Date(0), map: new Map([['a', 1]]), none: undefined, nan: NaN }),
  gives_big: () => ({ big: 10n }),
  gives_circle: () => {
    const circle: Record<string, unknown> = {};
    circle['self'] = circle;
    return circle;
  },
};

export const rootAgent = new LlmAgent({
  name: 'failing',
  model: 'gemini-2.5-flash',
  tools: Object.entries(results).map(([name, execute]) => new FunctionTool({ name, description: name, execute })),
});
