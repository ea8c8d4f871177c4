// What other clients need to talk to an application: an address, and code to begin with.
import { quote } from '../api/calls';
import type { Face } from '../api/types';

/** Which application, where, and for whom. */
export interface Target {
  origin: string;
  app: string;
  user: string;
  /** Whether callers need a token. */
  token: boolean;
}

export interface Snippet {
  /** What it is for, such as the name of a package or a file. */
  title: string;
  code: string;
}

/** One way to connect. */
export interface Connection {
  name: string;
  title: string;
  address: string;
  snippets: Snippet[];
}

/** A text in JavaScript. */
const js = (text: string) => `'${text.replaceAll(/[\\']/g, '\\$&')}'`;

const token = '`Bearer ${process.env.PARLEY_TOKEN}`';
/** The last member of options, if a token is needed. */
const headers = ({ token: needed }: Target) => (needed ? `, headers: { Authorization: ${token} }` : '');
/** The same for code in a browser, where the page has the token of its user. */
const browserHeaders = ({ token: needed }: Target) => (needed ? ', headers: { Authorization: `Bearer ${token}` }' : '');

/** The snippets of a face, by its name. */
const snippets: Record<string, (address: string, target: Target) => Snippet[]> = {
  agui: (address, target) => [
    {
      title: 'CopilotKit, @copilotkit/runtime in Node.js',
      code: `import { createServer } from 'node:http';
import { HttpAgent } from '@ag-ui/client';
import { CopilotRuntime } from '@copilotkit/runtime/v2';
import { createCopilotNodeListener } from '@copilotkit/runtime/v2/node';

const agents = { default: new HttpAgent({ url: ${js(address)}${headers(target)} }) };
createServer(createCopilotNodeListener({ runtime: new CopilotRuntime({ agents }), basePath: '/api/copilotkit' })).listen(4000);`,
    },
    {
      title: '@ag-ui/client',
      code: `import { HttpAgent } from '@ag-ui/client';

const agent = new HttpAgent({ url: ${js(address)}${headers(target)} });
agent.addMessage({ id: crypto.randomUUID(), role: 'user', content: 'Hello' });
const { newMessages } = await agent.runAgent();`,
    },
  ],
  aisdk: (address, target) => [{
    title: 'useChat, @ai-sdk/react',
    code: `import { useChat } from '@ai-sdk/react';
import { DefaultChatTransport } from 'ai';

const { messages, sendMessage } = useChat({
  id: chatId, // of your own, such as one in the address of the page
  resume: true,
  transport: new DefaultChatTransport({ api: ${js(address)}${browserHeaders(target)} }),
});`,
  }],
  openai: (address, { app, token: needed }) => [{
    title: 'openai',
    code: `import OpenAI from 'openai';

const client = new OpenAI({ baseURL: ${js(address)}, apiKey: ${needed ? 'process.env.PARLEY_TOKEN' : `'none'`} });
const response = await client.responses.create({ model: ${js(app)}, input: 'Hello' });
console.log(response.output_text);`,
  }],
  a2a: (address, { token: needed }) => {
    const card = `${address}/.well-known/agent-card.json`;
    return [
      { title: 'the agent card', code: `curl ${needed ? '-H "Authorization: Bearer $PARLEY_TOKEN" ' : ''}${quote(card)}` },
      {
        title: '@a2a-js/sdk',
        code: needed
          ? `import { ClientFactory, DefaultAgentCardResolver, JsonRpcTransportFactory, createAuthenticatingFetchWithRetry } from '@a2a-js/sdk/client';

const fetchImpl = createAuthenticatingFetchWithRetry(fetch, {
  headers: async () => ({ Authorization: ${token} }),
  shouldRetryWithHeaders: async () => undefined,
});
const factory = new ClientFactory({
  transports: [new JsonRpcTransportFactory({ fetchImpl })],
  cardResolver: new DefaultAgentCardResolver({ fetchImpl }),
});
const client = await factory.createFromUrl(${js(card)}, '');`
          : `import { ClientFactory } from '@a2a-js/sdk/client';

const client = await new ClientFactory().createFromUrl(${js(card)}, '');`,
      },
    ];
  },
  mcp: (address, { app, token: needed }) => [
    { title: 'Claude Code', code: `claude mcp add --transport http ${quote(app)} ${quote(address)}${needed ? ' --header "Authorization: Bearer $PARLEY_TOKEN"' : ''}` },
    {
      title: 'VS Code, .vscode/mcp.json',
      code: JSON.stringify({ servers: { [app]: { type: 'http', url: address, ...(needed ? { headers: { Authorization: 'Bearer ${input:token}' } } : {}) } }, ...(needed ? { inputs: [{ type: 'promptString', id: 'token', description: 'Token', password: true }] } : {}) }, null, 2),
    },
  ],
};

/** The server's own protocol, which needs no face. */
function adk(target: Target): Connection {
  const { origin, app, user } = target;
  return {
    name: 'adk', title: 'ADK', address: `${origin}/run_sse`, snippets: [{
      title: 'assistant-ui, @assistant-ui/react-google-adk',
      code: `import { AssistantRuntimeProvider } from '@assistant-ui/react';
import { createAdkSessionAdapter, createAdkStream, useAdkRuntime } from '@assistant-ui/react-google-adk';

const server = { appName: ${js(app)}, userId: ${js(user)}${browserHeaders(target)} };
const { adapter, load } = createAdkSessionAdapter({ apiUrl: ${js(origin)}, ...server });
const stream = createAdkStream({ api: ${js(origin)}, ...server });

export function Chat({ children }) {
  const runtime = useAdkRuntime({ stream, sessionAdapter: adapter, load });
  return <AssistantRuntimeProvider runtime={runtime}>{children}</AssistantRuntimeProvider>;
}`,
    }],
  };
}

/** How clients connect to an application: by the faces that are on, and as clients of the ADK. */
export function connectionsOf(faces: Face[], target: Target): Connection[] {
  const list = faces.map(({ name, title, path }) => {
    const address = target.origin + path.replaceAll('{app}', encodeURIComponent(target.app));
    return { name, title, address, snippets: snippets[name]?.(address, target) ?? [] };
  });
  return [...list, adk(target)];
}
