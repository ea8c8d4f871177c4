// Parameters in every form that a FunctionTool takes.
import { FunctionTool, LlmAgent, zodObjectToSchema } from '@google/adk';
import { Type, type Schema } from '@google/genai';
import * as z3 from 'zod/v3';
import { z } from 'zod/v4';

enum Priority {
  Low = 'low',
  High = 'high',
}

const createTicket = new FunctionTool({
  name: 'create_ticket',
  description: 'Creates a ticket.',
  parameters: z3.object({
    title: z3.string().min(3).describe('What it is about'),
    priority: z3.nativeEnum(Priority).default(Priority.Low),
    labels: z3.array(z3.string()).optional(),
    due: z3.string().nullable(),
  }),
  execute: async ({ title, priority, labels, due }) => ({ title, priority, labels: labels?.length ?? 0, due }),
});

const search: Schema = {
  type: Type.OBJECT,
  properties: {
    query: { type: Type.STRING, description: 'Words to look for' },
    limit: { type: Type.INTEGER, minimum: 1 },
    tags: { type: Type.ARRAY, items: { type: Type.STRING }, minItems: '1', nullable: true },
  },
  required: ['query'],
};

const searchTickets = new FunctionTool({
  name: 'search_tickets',
  description: 'Finds tickets.',
  parameters: search,
  execute: (params: { query: string; limit?: number }) => [params.query, params.limit ?? 10],
});

async function countTickets() {
  return 7;
}

const shape = z.object({ id: z.union([z.string(), z.number()]), note: z.string().max(20).nullish() });

export const rootAgent = new LlmAgent({
  name: 'tickets',
  model: 'gemini-2.5-flash',
  instruction: `Closing a ticket takes ${JSON.stringify(zodObjectToSchema(shape).properties?.note)}`,
  tools: [
    createTicket,
    searchTickets,
    new FunctionTool({ description: 'Counts tickets.', execute: countTickets }),
    new FunctionTool({ name: 'close_ticket', description: 'Closes a ticket.', parameters: shape, execute: ({ id, note }) => `${typeof id} ${note ?? 'no note'}` }),
  ],
});
