import { FunctionTool, LlmAgent } from '@google/adk';
import { parse } from 'dotenv';
import { v3, v5 } from 'uuid';
import { z } from 'zod';

interface Category {
  name: string;
  children?: Category[];
}

const category: z.ZodType<Category> = z.object({ name: z.string(), children: z.lazy(() => category.array()).optional() });
const leaf = z.object({ size: z.number() });
const fresh = (): z.ZodTypeAny => z.object({ next: z.lazy(fresh).optional() });
const endless = (): z.ZodTypeAny => z.object({ next: z.lazy(() => endless()).optional() });

const count = (c: Category): number => 1 + (c.children ?? []).reduce((n, one) => n + count(one), 0);

const tree = new FunctionTool({
  name: 'tree',
  description: 'Counts categories.',
  parameters: z.object({ root: category, other: category.optional(), leaf: z.lazy(() => leaf).optional(), fresh: z.lazy(fresh).optional() }),
  execute: ({ root }) => count(root),
});
const whole = new FunctionTool({ name: 'whole', description: 'Is a category.', parameters: category as any, execute: (c: any) => count(c) });
const deep = new FunctionTool({ name: 'deep', description: 'Has no end.', parameters: z.object({ a: endless() }), execute: () => 1 });
const fine = new FunctionTool({
  name: 'fine',
  description: 'Uses the packages.',
  execute: () => [v3('a', v3.URL), v5('a', v5.URL), parse('A=1 # one')],
});

export const rootAgent = new LlmAgent({ name: 'root', model: 'scripted', tools: [tree, whole, deep, fine] });
