import { FunctionTool, LlmAgent } from '@google/adk';
import { createClient } from '@supabase/supabase-js';
import debug from 'debug';
import jwt from 'jsonwebtoken';
import pg from 'pg';
import pino from 'pino';

const reason = (f: () => unknown) => {
  try {
    return f();
  } catch (error: any) {
    return error.message;
  }
};

const fine = new FunctionTool({
  name: 'fine',
  description: 'Uses them all.',
  execute: async () => {
    debug('app')('not shown');
    pino({ base: null, timestamp: false }).child({ from: 'pino' }).info('hello');
    const token = jwt.sign({ a: 1 }, 'key', { noTimestamp: true });
    const { error } = await createClient('http://127.0.0.1:1', 'key').from('table').select();
    return [jwt.verify(token, 'key'), reason(() => jwt.verify(token, 'other')), new pg.Pool().totalCount, error?.message];
  },
});

export const rootAgent = new LlmAgent({ name: 'root', model: 'scripted', tools: [fine] });
