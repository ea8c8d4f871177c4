// Runs the code that the developer UI shows for other clients, as it is shown.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { build, transform } from 'esbuild';
import { Window } from 'happy-dom';

const { BASE: base, COPILOTKIT: copilotkit } = process.env;
const app = 'weather';
const run = async (...command) => (await promisify(execFile)(...command)).stdout;
const shell = (command) => run('sh', ['-c', command]);

/** Writes a module, which may have JSX in it, to a place from which packages are found, and returns where it is. */
async function write(name, source, dir = 'node_modules/.connect') {
  mkdirSync(dir, { recursive: true });
  const { code } = await transform(source, { loader: 'jsx', jsx: 'automatic' });
  writeFileSync(`${dir}/${name}.mjs`, code);
  return `${dir}/${name}.mjs`;
}

const load = async (...module) => import(pathToFileURL(await write(...module)));

const built = await build({ entryPoints: ['../../web/src/log/connect.ts'], bundle: true, format: 'esm', write: false, logLevel: 'error' });
const { connectionsOf } = await load('connect', built.outputFiles[0].text);
const { faces } = await (await fetch(`${base}/faces`)).json();
const connections = connectionsOf(faces, { origin: base, app, user: 'ann', token: false });

/** Puts what follows the imports of a module into a component, between other code. */
const within = (code, before, after) => code.replace(/^((?:import .*\n)+)([^]*)$/, `$1\nexport function Chat(props) {\n${before}\n$2\n${after}\n}\n`);

/** React, which looks for a page when it is loaded. */
async function react() {
  if (!globalThis.document) {
    const page = new Window({ url: base });
    for (const [name, value] of Object.entries({ window: page, document: page.document, navigator: page.navigator })) Object.defineProperty(globalThis, name, { value });
  }
  return { ...(await import('react')), ...(await import('react-dom/client')) };
}

/** Shows a component until find returns something for what it passes on. */
async function until(component, find, inside) {
  const { createElement, createRoot } = await react();
  const root = createRoot(document.body.appendChild(document.createElement('div')));
  const found = await new Promise((resolve) => {
    const pass = (value) => {
      const text = find(value);
      if (text) resolve(text);
    };
    root.render(createElement(component, { pass, children: inside?.({ pass }) }));
  });
  root.unmount();
  return found;
}

/** How each kind of code is tried, by its title: what the agent, or a description of it, says. */
const tries = {
  'CopilotKit, @copilotkit/runtime in Node.js': async (code) => {
    const anyPort = code.replace(/^createServer(.*)\.listen\(4000\);$/m, "export const server = createServer$1.listen(0, '127.0.0.1');");
    const { server } = await load('snippet', anyPort, copilotkit);
    if (!server.listening) await once(server, 'listening');
    const { HttpAgent } = await import('@ag-ui/client');
    const agent = new HttpAgent({ url: `http://127.0.0.1:${server.address().port}/api/copilotkit/agent/default/run`, initialMessages: [{ id: 'm', role: 'user', content: 'Hello' }] });
    const { newMessages } = await agent.runAgent();
    server.close();
    return newMessages.at(-1).content;
  },
  '@ag-ui/client': async (code) => (await load('agui', `${code}\nexport { newMessages };`)).newMessages.at(-1).content,
  'useChat, @ai-sdk/react': async (code) => {
    const { Chat } = await load('aisdk', within(code, "const chatId = 'connect';", 'props.pass({ messages, sendMessage });\nreturn null;'));
    let sent;
    return until(Chat, ({ messages, sendMessage }) => {
      sent ??= sendMessage({ text: 'Hello' });
      return messages.at(-1)?.metadata?.status === 'completed' && messages.at(-1).parts.map((part) => part.text ?? '').join('');
    });
  },
  openai: async (code) => run(process.execPath, [await write('openai', code)]),
  'the agent card': async (code) => JSON.parse(await shell(`${code} --silent --fail`)).name,
  '@a2a-js/sdk': async (code) => {
    const { client } = await load('a2a', `${code}\nexport { client };`);
    const message = { messageId: 'm', role: 1, parts: [{ content: { $case: 'text', value: 'Hello' } }], contextId: '', taskId: '', referenceTaskIds: [], extensions: [] };
    const { artifacts } = await client.sendMessage({ tenant: '', message });
    return artifacts[0].parts[0].content.value;
  },
  // The program is not there: what it would get.
  'Claude Code': async (code) => {
    const [mcp, add, option, transport, name, address, ...rest] = (await shell(`claude() { printf '%s\\n' "$@"; }; ${code}`)).trim().split('\n');
    assert.deepEqual([mcp, add, option, transport, name, rest], ['mcp', 'add', '--transport', 'http', app, []]);
    return initialize(address);
  },
  'VS Code, .vscode/mcp.json': async (code) => {
    const { type, url } = JSON.parse(code).servers[app];
    assert.equal(type, 'http');
    return initialize(url);
  },
  'assistant-ui, @assistant-ui/react-google-adk': async (code) => {
    const { createElement } = await react();
    const { Chat } = await load('adk', code);
    const { useAui, useAuiState } = await import('@assistant-ui/react');
    function Inside({ pass }) {
      pass({ aui: useAui(), thread: useAuiState((state) => state.thread) });
      return null;
    }
    let sent;
    return until(Chat, ({ aui, thread }) => {
      sent ??= setTimeout(() => aui.thread().append('Hello')); // not while it is drawn
      const last = thread.messages.at(-1);
      return !thread.isRunning && last?.role === 'assistant' && last.content.map((part) => part.text ?? '').join('');
    }, (props) => createElement(Inside, props));
  },
};

/** Greets a server as clients of MCP do, and returns its name. */
async function initialize(address) {
  const response = await fetch(address, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', Accept: 'application/json, text/event-stream' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'test', version: '1' } } }),
  });
  assert.equal(response.status, 200);
  return (await response.text()).match(/"serverInfo":\{"name":"([^"]*)"/)[1];
}

assert.ok(connections.length > 5);
for (const { title, snippets } of connections) {
  assert.ok(snippets.length > 0, `there is no code for ${title}`);
  for (const snippet of snippets) {
    test(`${title}: ${snippet.title}`, { timeout: 300_000 }, async () => {
      assert.ok(tries[snippet.title], 'say in tries how it is tried');
      assert.match(await tries[snippet.title](snippet.code), /offline model|weather/);
    });
  }
}
