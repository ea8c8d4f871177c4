// A chat with an agent of a Parley server: texts, calls of tools, confirmations, a tool
// that runs in the browser, and a message that is still being written after a reload.
import { useChat } from '@ai-sdk/react';
import {
  DefaultChatTransport, getToolName, isToolUIPart, lastAssistantMessageIsCompleteWithApprovalResponses, lastAssistantMessageIsCompleteWithToolCalls,
} from 'ai';
import { useState } from 'react';
import { createRoot } from 'react-dom/client';

const query = new URLSearchParams(location.search);
const api = query.get('api') ?? 'http://127.0.0.1:8000/apps/weather/aisdk';
const chatId = query.get('chat') ?? crypto.randomUUID();
if (!query.has('chat')) { // a reload finds the chat again
  query.set('chat', chatId);
  history.replaceState(null, '', `?${query}`);
}

/** What the agent may call in the browser. */
const tools = { local_time: { description: 'The time where the user is.', parameters: { type: 'object', properties: {} } } };

function Chat() {
  const [text, setText] = useState('');
  const { messages, sendMessage, addToolApprovalResponse, addToolOutput, regenerate, status, error } = useChat({
    id: chatId,
    resume: true,
    transport: new DefaultChatTransport({ api, body: { tools } }),
    onToolCall({ toolCall: { toolName, toolCallId } }) { // not called for tools that the server runs
      if (toolName === 'local_time') void addToolOutput({ tool: toolName, toolCallId, output: new Date().toLocaleTimeString() });
    },
    sendAutomaticallyWhen: (chat) => lastAssistantMessageIsCompleteWithToolCalls(chat) || lastAssistantMessageIsCompleteWithApprovalResponses(chat),
  });
  const active = status === 'submitted' || status === 'streaming';
  const submit = (event) => {
    event.preventDefault();
    void sendMessage({ text });
    setText('');
  };
  return (
    <main>
      {messages.map((message) => (
        <article key={message.id} data-role={message.role}>
          {message.parts.map((part, i) => <Part key={i} part={part} approve={addToolApprovalResponse} answer={(id, value) => sendMessage(undefined, { body: { answers: { [id]: value } } })} />)}
        </article>
      ))}
      {error && <p role="alert">{error.message}</p>}
      <form onSubmit={submit}>
        <input aria-label="Message" value={text} onChange={(event) => setText(event.target.value)} />
        <button disabled={active || text === ''}>Send</button>
        {/* To stop reading does not stop the agent. */}
        <button type="button" disabled={!active} onClick={() => fetch(`${api}/${chatId}/cancel`, { method: 'POST' })}>Cancel</button>
        <button type="button" disabled={active || messages.length === 0} onClick={() => regenerate()}>Again</button>
      </form>
    </main>
  );
}

function Part({ part, approve, answer }) {
  if (part.type === 'text') return <p>{part.text}</p>;
  if (part.type === 'reasoning') return <p><em>{part.text}</em></p>;
  if (part.type === 'file') return <a href={part.url}>{part.mediaType}</a>;
  if (isToolUIPart(part)) {
    return (
      <p>
        <code>{getToolName(part)}({JSON.stringify(part.input)})</code> {part.state}
        {part.state === 'approval-requested' && <>
          <button onClick={() => approve({ id: part.approval.id, approved: true })}>Approve</button>
          <button onClick={() => approve({ id: part.approval.id, approved: false })}>Refuse</button>
        </>}
      </p>
    );
  }
  if (part.type === 'data-input' && !part.data.answered) {
    const submit = (event) => {
      event.preventDefault();
      const value = new FormData(event.currentTarget).get('value');
      try {
        void answer(part.data.id, JSON.parse(value));
      } catch { // it is not JSON, so it is a text
        void answer(part.data.id, value);
      }
    };
    return <form onSubmit={submit}>{part.data.message} <input name="value" aria-label="Answer" /><button>Answer</button></form>;
  }
  if (part.type === 'data-login' && !part.data.answered) {
    // callback.html sends its address to the page that has opened it.
    return <button onClick={() => logIn(part.data.authUri).then((authResponseUri) => answer(part.data.id, { authResponseUri }))}>Log in</button>;
  }
  return null;
}

/** Sends the user to the provider, and returns the address that the user comes back to. */
function logIn(authUri) {
  const address = new URL(authUri);
  address.searchParams.set('redirect_uri', new URL('callback.html', location.href).href);
  const popup = open(address);
  return new Promise((resolve) => {
    addEventListener('message', function listen({ origin, source, data }) {
      if (origin !== location.origin || source !== popup) return;
      removeEventListener('message', listen);
      resolve(data);
    });
  });
}

createRoot(document.getElementById('root')).render(<Chat />);
