import { FunctionTool, LlmAgent } from '@google/adk';
import { generateKeyPair, generateKeyPairSync, pbkdf2, pbkdf2Sync, scryptSync } from 'node:crypto';
import { readFileSync } from 'node:fs';

// Each tool does something that must not hurt anyone else.
const tools: Record<string, (args: any, ctx: any) => unknown> = {
  loop: () => {
    for (;;) {}
  },
  loop_in_catch: () => {
    for (;;) {
      try {
        for (;;) {}
      } catch {}
    }
  },
  keys: () => {
    for (;;) generateKeyPairSync('rsa', { modulusLength: 4096 });
  },
  keys_together: async () => {
    const one = () => new Promise((resolve) => generateKeyPair('rsa', { modulusLength: 4096 }, resolve));
    for (;;) await Promise.all(Array.from({ length: 5000 }, one));
  },
  passwords: () => {
    for (;;) scryptSync('a', 'b', 64, { N: 1 << 16, r: 8, p: 1, maxmem: 1 << 27 });
  },
  passwords_together: async () => {
    const one = () => new Promise((resolve) => pbkdf2('a', 'b', 1_000_000, 64, 'sha512', resolve));
    for (;;) await Promise.all(Array.from({ length: 5000 }, one));
  },
  memory: () => scryptSync('a', 'b', 64, { N: 2 ** 24, r: 8, p: 1 }),
  rounds: () => pbkdf2Sync('a', 'b', 1e12, 32, 'sha1'),
  promises: async () => {
    for (;;) await null;
  },
  string: () => {
    let s = 'x';
    for (;;) s += s;
  },
  arrays: () => {
    const all: unknown[] = [];
    for (;;) all.push(new Array(1_000_000).fill(7));
  },
  buffer: () => new ArrayBuffer(2 ** 45).byteLength,
  recursion: () => {
    const f = (n: number): number => f(n + 1) + 1;
    return f(0);
  },
  recursion_map: () => {
    const f = (): any => [1].map(() => f());
    return f();
  },
  recursion_getter: () => {
    const o: any = {
      get next() {
        return this.next;
      },
    };
    return o.next;
  },
  recursion_string: () => {
    const o: any = { toString: () => `${o}` };
    return `${o}`;
  },
  recursion_proxy: () => {
    const p: any = new Proxy({}, { get: (_, key, self) => self[key] });
    return p.x;
  },
  recursion_sort: () => {
    const f = (): any => [2, 1].sort(() => f());
    return f();
  },
  recursion_construct: () => {
    class C {
      inner = new C();
    }
    return new C();
  },
  parse_json: () => JSON.parse('['.repeat(1_000_000)),
  parse_code: () => new Function('return ' + '('.repeat(1_000_000))(),
  parse_regexp: () => new RegExp('('.repeat(1_000_000)),
  regexp: () => /^(a+)+$/.test('a'.repeat(40) + 'b'),
  deep_json: () => {
    let v: unknown = 1;
    for (let i = 0; i < 100_000; i++) v = [v];
    return v;
  },
  getter: () => ({
    get boom() {
      throw new Error('from a getter');
    },
  }),
  cycle: () => {
    const o: any = {};
    o.self = o;
    return o;
  },
  exit: () => process.exit(3),
  passwd: () => readFileSync('/etc/passwd', 'utf8'),
  escape: () => readFileSync('../good/index.ts', 'utf8'),
  pollute: () => {
    (Object.prototype as any).polluted = 'yes';
    (Array.prototype as any).map = () => ['polluted'];
    (JSON as any).stringify = () => '{"t":"ok","id":1,"value":"polluted"}';
    (Promise.prototype as any).then = () => {};
    return 'polluted';
  },
  host: () => {
    const host = (globalThis as any).__host;
    const out: string[] = [];
    for (const args of [[], ['nope'], ['post', '{'], ['request', 'null'], ['timer', 'x'], ['state', '-1'], [{}, []], ['post', '{"t":"ok","id":999}']]) {
      try {
        host(...args);
      } catch (e: any) {
        out.push(String(e.message));
      }
    }
    return { refused: out.length };
  },
  never: () => new Promise(() => {}),
  timers: () => {
    for (let i = 0; i < 1_000; i++) setInterval(() => {}, 1);
    return 'started';
  },
  thrown_nothing: () => {
    throw undefined;
  },
  fine: () => 'fine',
};

export const rootAgent = new LlmAgent({
  name: 'hostile',
  model: 'scripted',
  tools: Object.entries(tools).map(([name, execute]) => new FunctionTool({ name, description: name, parameters: { type: 'OBJECT' as any, properties: {} }, execute })),
});
