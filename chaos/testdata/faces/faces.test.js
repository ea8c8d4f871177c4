// Clients as they are published, whose server is killed in the middle of a text. They go
// on at another server.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ClientFactory, ClientFactoryOptions, JsonRpcTransportFactory, RestTransportFactory } from '@a2a-js/sdk/client';
import { HttpAgent } from '@ag-ui/client';
import { Chat } from '@ai-sdk/react';
import { DefaultChatTransport, isToolUIPart } from 'ai';
import OpenAI from 'openai';

const { FIRST: first, SECOND: second, TEST: control } = process.env;
const story = 'Once upon a time there was a server.';
const half = 'Once upon a time ';

/** Tells the test that a client has come to a place. */
const tell = (place, client) => fetch(`${control}/${place}/${client}`);

/** The fetch of a client. The test learns when the second server answers. */
const fetchOf = (client) => async (address, init) => {
  const response = await fetch(address, init);
  if (String(address).startsWith(second) && response.ok) await tell('follows', client);
  return response;
};

describe('a server is killed', { concurrency: true }, () => {
  test('agui', async () => {
    const threadId = 'agui';
    const runId = 'r';
    const get = fetchOf('agui');
    /** A response that goes on after the last event that was received when its connection breaks. */
    const resuming = async (url, init) => {
      let response = await get(url, init);
      const { headers } = response;
      const body = new ReadableStream({
        async start(out) {
          let after;
          for (let ended = false; !ended; ) {
            let rest = '';
            try {
              for await (const text of response.body.pipeThrough(new TextDecoderStream())) {
                rest += text;
                const end = rest.lastIndexOf('\n\n') + 2;
                if (end < 2) continue;
                after = [...rest.slice(0, end).matchAll(/^id: (.*)$/gm)].at(-1)?.[1] ?? after;
                out.enqueue(new TextEncoder().encode(rest.slice(0, end)));
                rest = rest.slice(end);
              }
              ended = true;
            } catch { // the connection is broken
              response = await get(`${second}/apps/script/agui?protocolVersion=1.0&threadId=${threadId}&runId=${runId}`, { headers: { 'Last-Event-ID': after } });
            }
          }
          out.close();
        },
      });
      return new Response(body, { headers });
    };
    const agent = new HttpAgent({ url: `${first}/apps/script/agui`, threadId, fetch: resuming, initialMessages: [{ id: 'm', role: 'user', content: 'look agui' }] });
    const events = [];
    let seen;
    await agent.runAgent({ runId }, {
      onEvent: ({ event }) => void events.push(event),
      onTextMessageContentEvent({ textMessageBuffer, event }) {
        if (textMessageBuffer + event.delta === half) seen ??= tell('seen', 'agui');
      },
    });
    assert.deepEqual(agent.messages.map(({ role, content, toolCalls }) => [role, content ?? toolCalls?.map(({ function: f }) => f.name)]), [
      ['user', 'look agui'], ['assistant', ['look']], ['tool', '{"word":"agui"}'], ['assistant', story],
    ]);
    assert.deepEqual(['RUN_STARTED', 'RUN_FINISHED', 'TOOL_CALL_START', 'TOOL_CALL_RESULT'].map((name) => events.filter(({ type }) => type === name).length), [1, 1, 1, 1]);
  });

  test('aisdk', async () => {
    const chat = new Chat({
      id: 'aisdk',
      transport: new DefaultChatTransport({
        api: `${first}/apps/script/aisdk`,
        fetch: fetchOf('aisdk'),
        prepareReconnectToStreamRequest: ({ id }) => ({ api: `${second}/apps/script/aisdk/${id}/stream` }),
      }),
    });
    const textOf = ({ parts }) => parts.filter(({ type }) => type === 'text').map(({ text }) => text).join('|');
    const stop = chat['~registerMessagesCallback'](() => {
      if (textOf(chat.lastMessage) !== half) return;
      stop();
      void tell('seen', 'aisdk');
    });
    await chat.sendMessage({ text: 'look aisdk' });
    assert.equal(chat.status, 'error'); // the connection is broken
    assert.equal(textOf(chat.lastMessage), half);
    await chat.resumeStream();
    assert.equal(chat.status, 'ready');
    assert.equal(chat.error, undefined);
    assert.deepEqual(chat.messages.map(({ role }) => role), ['user', 'assistant']);
    assert.equal(textOf(chat.lastMessage), story);
    assert.deepEqual(chat.lastMessage.parts.filter(isToolUIPart).map(({ state, output }) => [state, output]), [['output-available', { word: 'aisdk' }]]);
  });

  test('openai', async () => {
    const at = (server) => new OpenAI({ baseURL: `${server}/v1`, apiKey: 'none', fetch: fetchOf('openai') }).responses;
    const seen = [];
    let text = '';
    const read = async (stream) => {
      for await (const event of stream) {
        seen.push(event);
        if (event.type === 'response.output_text.delta' && (text += event.delta) === half) await tell('seen', 'openai');
      }
    };
    await assert.rejects(read(await at(first).create({ model: 'script', input: 'look openai', background: true, stream: true })));
    assert.equal(text, half);
    const { id } = seen[0].response;
    await read(await at(second).retrieve(id, { stream: true, starting_after: seen.at(-1).sequence_number }));
    assert.deepEqual(seen.map(({ sequence_number }) => sequence_number), seen.map((_, i) => i));
    assert.equal(text, story);
    const { status, output } = seen.at(-1).response;
    assert.equal(status, 'completed');
    assert.deepEqual(output.map(({ type }) => type), ['parley:tool_call', 'message']);
    assert.equal((await at(second).retrieve(id)).output_text, story);
  });

  for (const [name, transport, binding] of [['a2a', JsonRpcTransportFactory, 'JSONRPC'], ['a2a_rest', RestTransportFactory, 'HTTP+JSON']]) {
    test(name, async () => {
      const at = (server) => new ClientFactory(ClientFactoryOptions.createFrom(ClientFactoryOptions.default, {
        transports: [new transport({ fetchImpl: fetchOf(name) })], preferredTransports: [binding],
      })).createFromUrl(`${server}/a2a/script/`, '.well-known/agent-card.json');
      const textOf = ({ parts }) => parts.map(({ content }) => (content.$case === 'text' ? content.value : '')).join('');
      const texts = new Map(); // of the artifacts
      let id;
      let state;
      const read = async (events) => {
        for await (const { payload: { $case: kind, value } } of events) {
          if (kind === 'task') { // all that there is of it, so what a killed server had begun to say is not
            id ??= value.id;
            assert.equal(value.id, id);
            texts.clear();
            for (const one of value.artifacts) texts.set(one.artifactId, textOf(one));
          }
          state = value.status?.state ?? state;
          if (kind !== 'artifactUpdate') continue;
          const { artifactId } = value.artifact;
          texts.set(artifactId, (value.append ? (texts.get(artifactId) ?? '') : '') + textOf(value.artifact));
          if (texts.get(artifactId) === half) await tell('seen', name);
        }
      };
      const message = {
        messageId: name, contextId: name, taskId: '', role: 1, parts: [{ content: { $case: 'text', value: `look ${name}` }, filename: '', mediaType: '', metadata: undefined }],
        referenceTaskIds: [], extensions: [], metadata: undefined,
      };
      await assert.rejects(read((await at(first)).sendMessageStream({ tenant: '', configuration: undefined, metadata: undefined, message })));
      assert.deepEqual([...texts.values()].filter(Boolean), [half]);
      const client = await at(second);
      await read(client.resubscribeTask({ tenant: '', id }));
      assert.equal(state, 3); // completed
      assert.deepEqual([...texts.values()].filter(Boolean), [story]);
      const { artifacts } = await client.getTask({ tenant: '', id });
      assert.equal(artifacts.flatMap(({ parts }) => parts).filter(({ content }) => content.value === story).length, 1);
    });
  }
});
