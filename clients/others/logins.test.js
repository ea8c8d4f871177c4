// Logins with the code of clients that others have written, as it is published.
import assert from 'node:assert/strict';
import { test } from 'node:test';

const { BASE: base, REDIRECT: redirect, DEVTOOLS: devtools } = process.env;
const pkg = './node_modules/@assistant-ui/react-google-adk/dist'; // its index needs a browser
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

// It shows what actions.requestedAuthConfigs asks for, and calls of adk_request_credential; and answers with that name
// and the id of the call that waits.
for (const name of [undefined, 'svc_request_credential', 'adk_request_credential']) {
  test(`assistant-ui, ${name}`, async () => {
    const { createAdkStream } = await import(`${pkg}/AdkClient.js`);
    const { AdkEventAccumulator } = await import(`${pkg}/AdkEventAccumulator.js`);
    const response = await fetch(`${base}/apps/${app}/users/${name}/sessions`, { method: 'POST' });
    const { id: externalId } = await response.json();
    const stream = createAdkStream({ api: base, appName: app, userId: `${name}`, headers: name ? { 'X-Parley-Credential-Call': name } : {} });
    const send = (message) => collect(stream([message], { initialize: async () => ({ externalId }), abortSignal: new AbortController().signal }));
    const seen = new AdkEventAccumulator();
    for (const event of await send({ id: 'm1', type: 'human', content: ask })) seen.processEvent(event);
    const requests = seen.getAuthRequests();
    assert.ok(requests.length > 0);
    assert.equal(new Set(requests.map(({ toolCallId }) => toolCallId)).size, 1);
    const { toolCallId, authConfig } = requests[0];
    const authUri = authConfig.exchangedAuthCredential?.oauth2.authUri ?? authConfig.exchanged_auth_credential.oauth2.auth_uri;
    const credential = { authType: 'oauth2', oauth2: { authResponseUri: await visit(authUri), redirectUri: redirect } };
    // What its useAdkSubmitAuth sends.
    const after = await send({ id: 'm2', type: 'tool', tool_call_id: toolCallId, name: 'adk_request_credential', content: JSON.stringify(credential), status: 'success' });
    assert.equal(called(after)?.status, 'success', JSON.stringify(after));
  });
}
