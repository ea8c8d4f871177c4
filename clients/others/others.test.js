// Conversations and logins with the code of clients that others have written, as it is published.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Window } from 'happy-dom';

// React looks for a page when it is loaded.
const page = new Window();
for (const [name, value] of Object.entries({ window: page, document: page.document, navigator: page.navigator })) Object.defineProperty(globalThis, name, { value });
const { createElement, useEffect } = await import('react');
const { createRoot } = await import('react-dom/client');
const { AssistantRuntimeProvider } = await import('@assistant-ui/core/react');
const adk = await import('@assistant-ui/react-google-adk');

const { BASE: base, REDIRECT: redirect, DEVTOOLS: devtools } = process.env;
const app = 'calendar';
const ask = 'List the events in my calendar';

/** What the user's browser comes back with; the provider lets users in without a page. */
async function visit(authUri) {
  let address = `${authUri}&redirect_uri=${encodeURIComponent(redirect)}&auto_login=ann`;
  while (!address.startsWith(redirect)) {
    const response = await fetch(address, { redirect: 'manual' });
    address = new URL(response.headers.get('Location'), address).href;
  }
  return address;
}

/** A session of a user. */
async function created(user) {
  const response = await fetch(`${base}/apps/${app}/users/${user}/sessions`, { method: 'POST' });
  return (await response.json()).id;
}

/** What answers a request, after the user has logged in. */
async function credentialFor(config) {
  const authUri = config.exchangedAuthCredential?.oauth2.authUri ?? config.exchanged_auth_credential.oauth2.auth_uri;
  return { authType: 'oauth2', oauth2: { authResponseUri: await visit(authUri), redirectUri: redirect } };
}

/** A promise with the function that resolves it. */
function pending() {
  let resolve;
  const promise = new Promise((r) => (resolve = r));
  return { promise, resolve };
}

const collect = async (events) => {
  const list = [];
  for await (const event of events) list.push(event);
  return list;
};

const called = (events) => events.flatMap(({ content }) => content?.parts ?? []).find(({ functionResponse }) => functionResponse?.name === 'list_events')?.functionResponse.response;

// It hands the events to its caller, who finds the call by what is in it, as adk-web does.
test('AdkApiClient', async () => {
  const { AdkApiClient } = await import(`${devtools}/adk_api_client.js`);
  const client = new AdkApiClient({ backendUrl: base });
  const { id: sessionId } = await client.createSession({ appName: app, userId: 'a' });
  const run = (newMessage) => collect(client.runAsync({ appName: app, userId: 'a', sessionId, newMessage, streaming: true }));
  const events = await run({ role: 'user', parts: [{ text: ask }] });
  const call = events.flatMap(({ content, longRunningToolIds }) => content.parts.map((p) => p.functionCall).filter((c) => longRunningToolIds?.includes(c?.id))).find(({ args }) => args.authConfig);
  const answer = structuredClone(call.args.authConfig);
  const { oauth2 } = answer.exchangedAuthCredential;
  Object.assign(oauth2, { authResponseUri: await visit(oauth2.authUri), redirectUri: redirect });
  const after = await run({ role: 'user', parts: [{ functionResponse: { id: call.id, name: call.name, response: answer } }] });
  assert.equal(called(after)?.status, 'success', JSON.stringify(after));
});

// Without a setting it shows what actions.requestedAuthConfigs asks for. Its hook cannot answer that, since it takes the
// answer for one of the tool; a page can, with the same stream.
test('assistant-ui, its stream', async () => {
  const stream = adk.createAdkStream({ api: base, appName: app, userId: 'b' });
  const externalId = await created('b');
  const send = (message) => collect(stream([message], { initialize: async () => ({ externalId }), abortSignal: new AbortController().signal }));
  const seen = new adk.AdkEventAccumulator();
  for (const event of await send({ id: 'm1', type: 'human', content: ask })) seen.processEvent(event);
  const { toolCallId, authConfig } = seen.getAuthRequests()[0];
  const after = await send({ id: 'm2', type: 'tool', tool_call_id: toolCallId, name: 'adk_request_credential', content: JSON.stringify(await credentialFor(authConfig)), status: 'success' });
  assert.equal(called(after)?.status, 'success', JSON.stringify(after));
});

// With the ADK's name all of it works, its hooks included. They run in React, on a page without a browser.
test('assistant-ui, its hooks', async () => {
  const events = [];
  const runs = [pending(), pending()];
  let run = 0;
  const stream = adk.createAdkStream({ api: base, appName: app, userId: 'c', headers: { 'X-Parley-Credential-Call': 'adk_request_credential' } });
  async function* recorded(...args) {
    for await (const event of await stream(...args)) {
      events.push(event);
      yield event;
    }
    runs[run++].resolve();
  }
  const shown = pending();
  const asked = pending();
  function Login() {
    const requests = adk.useAdkAuthRequests();
    const submit = adk.useAdkSubmitAuth();
    if (requests.length > 0) asked.resolve({ request: requests[0], submit });
    return null;
  }
  function Chat() {
    const runtime = adk.useAdkRuntime({ stream: recorded, create: async () => ({ externalId: await created('c') }) });
    shown.resolve(runtime);
    return createElement(AssistantRuntimeProvider, { runtime }, createElement(Login));
  }
  const root = createRoot(page.document.body.appendChild(page.document.createElement('div')));
  root.render(createElement(Chat));
  (await shown.promise).thread.append(ask);
  const { request, submit } = await asked.promise;
  await runs[0].promise;
  const before = events.length;
  await submit(request.toolCallId, await credentialFor(request.authConfig));
  await runs[1].promise;
  root.unmount();
  assert.equal(called(events.slice(before))?.status, 'success', JSON.stringify(events));
});

/** A chat as a page has it: the runtime, and the confirmations that it shows. */
async function chat(appName, userId) {
  const started = pending();
  const open = { confirmations: [], confirm: undefined, changed: () => {} };
  const { adapter, load } = adk.createAdkSessionAdapter({ apiUrl: base, appName, userId });
  const stream = adk.createAdkStream({ api: base, appName, userId });
  function Confirmations() {
    open.confirmations = adk.useAdkToolConfirmations();
    open.confirm = adk.useAdkConfirmTool();
    useEffect(() => open.changed());
    return null;
  }
  function Chat() {
    const runtime = adk.useAdkRuntime({ stream, sessionAdapter: adapter, load });
    started.resolve(runtime);
    return createElement(AssistantRuntimeProvider, { runtime }, createElement(Confirmations));
  }
  const root = createRoot(page.document.body.appendChild(page.document.createElement('div')));
  root.render(createElement(Chat));
  const { thread } = await started.promise;
  /** Waits for what the page shows. */
  const until = (find) => new Promise((resolve) => {
    const look = () => {
      const found = find({ ...open, ...thread.getState() });
      if (found) resolve(found);
    };
    thread.subscribe(look);
    open.changed = look;
    look();
  });
  const parts = ({ messages }) => messages.filter(({ role }) => role === 'assistant').flatMap(({ content }) => content);
  const text = (state) => parts(state).filter(({ type }) => type === 'text').map((part) => part.text).join('\n');
  const idle = (pattern) => until((state) => !state.isRunning && pattern.test(text(state)) && state);
  return { thread, until, parts, text, idle, close: () => root.unmount() };
}

test('assistant-ui: two turns with a tool', async () => {
  const { thread, idle, parts, close } = await chat('weather', 'd');
  thread.append('What is the weather in Oslo?');
  const [call] = parts(await idle(/Oslo is sunny/)).filter(({ type }) => type === 'tool-call');
  assert.equal(call.toolName, 'get_weather');
  assert.equal(JSON.parse(call.result).status, 'success');
  thread.append('What is the weather in Rome?');
  await idle(/Rome is sunny/);
  close();
  const sessions = await (await fetch(`${base}/apps/weather/users/d/sessions`)).json();
  assert.equal(sessions.length, 1);
});

test('assistant-ui: a text in pieces', async () => {
  const { thread, until, text, idle, close } = await chat('teller', 'e');
  thread.append('Once upon [assistant] a time');
  await until((state) => state.isRunning && text(state) === 'Once upon ');
  const other = await chat('teller', 'f');
  other.thread.append('open assistant');
  await other.idle(/open assistant/);
  await idle(/^Once upon a time $/);
  other.close();
  close();
});

for (const confirmed of [true, false]) {
  test(`assistant-ui: a confirmation, ${confirmed}`, async () => {
    const { thread, until, idle, close } = await chat('approval', 'g');
    thread.append('Close my account');
    const { confirmations, confirm } = await until((state) => !state.isRunning && state.confirmations.length > 0 && state);
    assert.equal(confirmations[0].toolName, 'close_account');
    await confirm(confirmations[0].toolCallId, confirmed);
    await idle(confirmed ? /The account is closed/ : /rejected/);
    close();
  });
}
