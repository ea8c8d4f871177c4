// The page, and the runtime of CopilotKit, which passes its requests on to the server.
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { extname } from 'node:path';
import process from 'node:process';
import { HttpAgent } from '@ag-ui/client';
import { CopilotRuntime } from '@copilotkit/runtime/v2';
import { createCopilotNodeListener } from '@copilotkit/runtime/v2/node';

const { PARLEY = 'http://127.0.0.1:8000/apps/weather/agui', PORT = '3000' } = process.env;

// Without the header, an agent that the user stops goes on.
const agents = { default: new HttpAgent({ url: PARLEY, headers: { 'X-Parley-On-Disconnect': 'cancel' } }) };
const copilotkit = createCopilotNodeListener({ runtime: new CopilotRuntime({ agents }), basePath: '/api/copilotkit' });

const types = { '.html': 'text/html', '.js': 'text/javascript', '.css': 'text/css' };
const server = createServer(async (request, response) => {
  const { pathname } = new URL(request.url, 'http://localhost');
  if (pathname.startsWith('/api/copilotkit')) return copilotkit(request, response);
  const [file] = /^(dist\/[\w.-]+|callback\.html)$/.exec(pathname.slice(1)) ?? ['index.html'];
  try {
    const content = await readFile(new URL(file, import.meta.url));
    response.writeHead(200, { 'Content-Type': types[extname(file)] ?? 'application/octet-stream' }).end(content);
  } catch {
    response.writeHead(404).end();
  }
});
server.listen(Number(PORT), '127.0.0.1', () => console.log(`http://127.0.0.1:${server.address().port}/`));
