// What agents do over HTTP, by way of the packages that they use for it. It runs in
// Node.js and as a tool.
import { once } from 'node:events';
import https from 'node:https';
import { pipeline } from 'node:stream/promises';
import { Readable, Writable } from 'node:stream';
import axios from 'axios';
import got from 'got';
import nodeFetch, { FormData, Blob } from 'node-fetch';
import needle from 'needle';
import WebSocketPackage from 'ws';
import * as undici from 'undici';
import { HttpsProxyAgent } from 'https-proxy-agent';
import { WebClient } from '@slack/web-api';
import { Octokit } from '@octokit/rest';
import sendgrid from '@sendgrid/mail';
import { Gaxios } from 'gaxios';
import TurndownService from 'turndown';

const reason = async (f) => {
  try {
    return await f();
  } catch (error) {
    return `${error.name}: ${error.message}`;
  }
};
const failure = (promise) => promise.then(() => 'no error').catch((e) => [e.name, e.code ?? null, e.message]);
const sizeOf = async (stream) => {
  let n = 0;
  for await (const chunk of stream) n += chunk.length;
  return n;
};

async function useAxios({ base }) {
  const client = axios.create({ baseURL: base, headers: { 'X-Own': '1' } });
  const { data, status, headers, request } = await client.post('/echo?x=1', { hello: 'wörld' });
  const zipped = await client.get('/gzip');
  const stream = await client.get('/big', { responseType: 'stream' });
  const sent = await client.put('/echo', Readable.from([Buffer.alloc(70_000, 'a'), 'b']));
  const stop = new AbortController();
  const stopped = failure(client.get('/slow', { signal: stop.signal }));
  setTimeout(() => stop.abort(), 5);
  const form = new FormData();
  form.set('name', 'value');
  form.set('file', new Blob(['content']), 'a.txt');
  return {
    data,
    status,
    type: headers['content-type'],
    path: request.path,
    zipped: zipped.data,
    big: await sizeOf(stream.data),
    sent: [sent.data.read, sent.data.encoding],
    redirected: (await client.get('/redirect')).data.url,
    failed: await failure(client.get('/status/500')),
    refused: await failure(axios.get('http://127.0.0.1:1/')),
    late: await failure(client.get('/slow', { timeout: 20 })),
    stopped: await stopped,
    redirects: await failure(client.get('/loop', { maxRedirects: 2 })),
    large: await failure(client.get('/big', { maxContentLength: 1000 })),
  };
}

async function useGot({ base }) {
  const client = got.extend({ prefixUrl: base, retry: { limit: 0 } });
  const retried = await client('flaky', { retry: { limit: 2, calculateDelay: ({ attemptCount }) => (attemptCount > 2 ? 0 : 1) } }).text();
  const stream = client.stream('big');
  let n = 0;
  await pipeline(stream, new Writable({ write: (chunk, _, done) => ((n += chunk.length), done()) }));
  const upload = client.stream.post('echo');
  const answer = (async () => JSON.parse(Buffer.concat(await upload.toArray())).read)();
  await pipeline(Readable.from([Buffer.alloc(100_000)]), upload);
  return {
    json: await client.post('echo', { json: { a: 1 }, searchParams: { q: 'ü' } }).json(),
    zipped: await client('gzip').text(),
    redirected: (await client('redirect')).redirectUrls.length,
    form: (await client.post('echo', { form: { a: 'b c' } }).json()).start,
    retried,
    stream: n,
    upload: await answer,
    failed: await failure(client('status/404')),
    late: await failure(client('slow', { timeout: { request: 30 } })),
    refused: await failure(got('http://127.0.0.1:1/', { retry: { limit: 0 } })),
  };
}

async function useNodeFetch({ base }) {
  const response = await nodeFetch(`${base}/echo`, { method: 'POST', body: JSON.stringify([1]), headers: { 'Content-Type': 'application/json' } });
  const stop = new AbortController();
  const stopped = failure(nodeFetch(`${base}/slow`, { signal: stop.signal }));
  setTimeout(() => stop.abort(), 5);
  const form = new FormData();
  form.set('name', 'value');
  return {
    json: await response.json(),
    ok: [response.ok, response.status, response.headers.get('content-type')],
    zipped: await (await nodeFetch(`${base}/gzip`)).text(),
    big: await sizeOf((await nodeFetch(`${base}/big`)).body),
    redirected: (await nodeFetch(`${base}/redirect`)).redirected,
    form: (await (await nodeFetch(`${base}/echo`, { method: 'POST', body: form })).json()).read > 50,
    stopped: await stopped,
    refused: await failure(nodeFetch('http://127.0.0.1:1/')),
  };
}

async function useOthers({ base }) {
  const piped = needle.get(`${base}/big`, {});
  return {
    needle: (await needle('post', `${base}/echo`, { a: 'b' }, { json: true })).body.start,
    gzip: (await needle('get', `${base}/gzip`, { compressed: true })).body.toString(),
    piped: await sizeOf(piped),
    gaxios: (await new Gaxios().request({ url: `${base}/echo`, method: 'POST', data: { a: 1 } })).data.start,
  };
}

async function useUndici({ base }) {
  const agent = new undici.Agent({ connections: 2 });
  const { statusCode, headers, body, trailers } = await undici.request(`${base}/trailers`, { dispatcher: agent });
  const text = await body.text();
  const posted = await undici.request(`${base}/echo`, { method: 'POST', body: Readable.from(['x'.repeat(50_000)]), headers: { a: ['1', '2'] } });
  const all = await Promise.all([1, 2, 3, 4, 5].map(async (n) => (await (await undici.request(`${base}/echo?${n}`, { dispatcher: agent })).body.json()).url));
  const client = new undici.Client(base, { pipelining: 3 });
  const piped = await Promise.all([1, 2, 3].map(async (n) => (await (await client.request({ path: `/echo?${n}`, method: 'GET' })).body.json()).url));
  await client.close();
  let streamed = 0;
  await undici.stream(`${base}/big`, { method: 'GET' }, () => new Writable({ write: (c, _, done) => ((streamed += c.length), setImmediate(done)) }));
  const fetched = await undici.fetch(`${base}/gzip`);
  const form = new undici.FormData();
  form.set('name', 'value');
  const sent = await (await undici.fetch(`${base}/echo`, { method: 'POST', body: form })).json();
  const stop = new AbortController();
  const stopped = failure(undici.fetch(`${base}/slow`, { signal: stop.signal }));
  setTimeout(() => stop.abort(), 5);
  const mock = new undici.MockAgent();
  mock.disableNetConnect();
  mock.get('http://mock.test').intercept({ path: '/' }).reply(200, 'mocked');
  const out = {
    trailers: [statusCode, headers.trailer, text, trailers],
    posted: await posted.body.json(),
    all,
    piped,
    streamed,
    fetched: [fetched.status, fetched.headers.get('content-encoding'), await fetched.text()],
    redirected: (await undici.fetch(`${base}/redirect`)).redirected,
    sent: sent.read > 50,
    stopped: await stopped,
    failed: await failure(undici.request('http://127.0.0.1:1/')),
    late: await failure(undici.request(`${base}/slow`, { headersTimeout: 1 }).catch((e) => { e.message = ''; throw e; })),
    mocked: await (await undici.request('http://mock.test/', { dispatcher: mock })).body.text(),
  };
  await agent.destroy();
  return out;
}

async function useProxy({ secure, ca, proxy }) {
  const [response] = await once(https.get(secure, { agent: new HttpsProxyAgent(proxy), ca, servername: 'example.com' }), 'response');
  return [response.statusCode, await sizeOf(response)];
}

async function useWs({ socket }) {
  const client = new WebSocketPackage(`${socket}/echo`, ['one', 'two'], { headers: { 'X-Own': '1' } });
  const [first] = await once(client, 'message'); // what it was asked
  const echoes = [];
  client.on('message', (data, binary) => echoes.push(binary ? [...data.subarray(0, 3), data.length] : String(data)));
  client.send('hellö');
  client.send(Buffer.from([1, 2, 3]));
  client.send('x'.repeat(70_000));
  client.ping('p');
  const [pong] = await once(client, 'pong');
  const bye = once(client, 'close');
  client.send('close 3000 enough');
  const [code, why] = await bye;
  const refused = new WebSocketPackage(`${socket}/refused`);
  const wrong = await new Promise((done) => refused.on('error', (e) => done(e.message)));
  return { first: String(first), protocol: client.protocol, extensions: client.extensions, echoes: echoes.map((e) => (e.length > 1000 ? e.length : e)), pong: String(pong), code, why: String(why), wrong };
}

async function services({ base }) {
  const slack = new WebClient('xoxb-1', { slackApiUrl: `${base}/slack/` });
  const posted = await slack.chat.postMessage({ channel: 'C1', text: 'hello' });
  const octokit = new Octokit({ baseUrl: `${base}/github`, auth: 'token' });
  const { data: issue } = await octokit.issues.get({ owner: 'o', repo: 'r', issue_number: 1 });
  const missing = await failure(octokit.issues.get({ owner: 'o', repo: 'r', issue_number: 2 }));
  sendgrid.setApiKey('SG.x');
  sendgrid.client.setDefaultRequest('baseUrl', `${base}/sendgrid`);
  const [{ statusCode }] = await sendgrid.send({ to: 'a@example.com', from: 'b@example.com', subject: 's', text: 't' });
  return { posted: posted.ok, issue: issue.title, missing, statusCode };
}

const forms = async () => ({
  // Forms for browsers would fail here, or be others.
  turndown: new TurndownService().turndown('<h1>Hi</h1><p>there <b>you</b></p>'),
});

export async function use(given) {
  const out = {};
  const all = { useAxios, useGot, useNodeFetch, useOthers, useUndici, useProxy, useWs, services, forms };
  for (const [name, f] of Object.entries(all)) out[name] = await reason(() => f(given));
  return out;
}
