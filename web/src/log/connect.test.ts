import { expect, test } from 'vitest';

import { connectionsOf, type Target } from './connect';

const target: Target = { origin: 'http://h:8000', app: "it's", user: 'ann', token: false };
const faces = [
  { name: 'agui', title: 'AG-UI', path: '/apps/{app}/agui' },
  { name: 'aisdk', title: 'AI SDK', path: '/apps/{app}/aisdk' },
  { name: 'openai', title: 'OpenAI', path: '/v1' },
  { name: 'a2a', title: 'A2A', path: '/a2a/{app}' },
  { name: 'mcp', title: 'MCP', path: '/apps/{app}/mcp' },
  { name: 'later', title: 'Later', path: '/later/{app}' },
];

test('every face has its address, and those that are known have code with it', () => {
  const all = connectionsOf(faces, target);
  expect(all.map((c) => `${c.name} ${c.address}`)).toEqual([
    "agui http://h:8000/apps/it's/agui", "aisdk http://h:8000/apps/it's/aisdk", 'openai http://h:8000/v1',
    "a2a http://h:8000/a2a/it's", "mcp http://h:8000/apps/it's/mcp", "later http://h:8000/later/it's", 'adk http://h:8000/run_sse',
  ]);
  for (const { name, snippets } of all) expect(snippets.length > 0, name).toBe(name !== 'later');
  const code = all.flatMap((c) => c.snippets.map((s) => s.code)).join('\n');
  expect(code).not.toMatch(/undefined|PARLEY_TOKEN/);
  expect(code).toContain("new HttpAgent({ url: 'http://h:8000/apps/it\\'s/agui' })");
  expect(code).toContain("model: 'it\\'s'");
  expect(code).toContain("claude mcp add --transport http 'it'\\''s' 'http://h:8000/apps/it'\\''s/mcp'");
});

test('where callers need a token, the code sends one', () => {
  for (const { name, snippets } of connectionsOf(faces.slice(0, 5), { ...target, token: true })) {
    for (const { title, code } of snippets) expect(code, `${name}, ${title}`).toMatch(/PARLEY_TOKEN|\$\{(input:)?token\}/);
  }
});

test('without faces there is the ADK', () => {
  expect(connectionsOf([], target).map((c) => c.name)).toEqual(['adk']);
});
