// A chat with an agent of a Parley server: texts, calls of tools, questions of the
// server, logins, and a tool that runs in the browser.
import { CopilotChat, CopilotKitProvider, useDefaultRenderTool, useFrontendTool, useInterrupt } from '@copilotkit/react-core/v2';
import { useState } from 'react';
import { createRoot } from 'react-dom/client';
import { z } from 'zod';
import '@copilotkit/react-core/v2/styles.css';

function Chat() {
  useDefaultRenderTool(); // shows the calls of tools
  useFrontendTool({
    name: 'local_time',
    description: 'The time where the user is.',
    parameters: z.object({}),
    handler: async () => new Date().toLocaleTimeString(),
  });
  useInterrupt({ render: ({ interrupt, resolve, cancel }) => <Question {...interrupt} resolve={resolve} cancel={cancel} /> });
  return <CopilotChat />;
}

/** What the agent asks: whether it may do something, for a login, or for a value. */
function Question({ reason, message, metadata, resolve, cancel }) {
  if (reason === 'confirmation') {
    return (
      <p>
        {message}
        <button onClick={() => resolve({ approved: true })}>Approve</button>
        <button onClick={() => resolve({ approved: false })}>Refuse</button>
      </p>
    );
  }
  if (reason === 'adk:credential') {
    return (
      <p>
        {message}
        <button onClick={() => logIn(metadata.authUri).then((authResponseUri) => resolve({ authResponseUri }))}>Log in</button>
        <button onClick={() => cancel()}>Cancel</button>
      </p>
    );
  }
  const submit = (event) => {
    event.preventDefault();
    const value = new FormData(event.currentTarget).get('value');
    try {
      resolve(JSON.parse(value));
    } catch { // it is not JSON, so it is a text
      resolve(value);
    }
  };
  return (
    <form onSubmit={submit}>
      {message} <input name="value" aria-label="Answer" />
      <button>Answer</button>
      <button type="button" onClick={() => cancel()}>Cancel</button>
    </form>
  );
}

/** Sends the user to the provider, and returns the address that the user comes back to. */
function logIn(authUri) {
  const address = new URL(authUri);
  address.searchParams.set('redirect_uri', new URL('callback.html', location.href).href);
  const popup = open(address);
  return new Promise((resolve) => {
    addEventListener('message', function listen({ origin, source, data }) { // of callback.html
      if (origin !== location.origin || source !== popup) return;
      removeEventListener('message', listen);
      resolve(data);
    });
  });
}

function App() {
  const [problem, setProblem] = useState('');
  return (
    <CopilotKitProvider runtimeUrl="/api/copilotkit" onError={({ error }) => setProblem(error.message)}>
      {problem && <p role="alert">{problem}</p>}
      <Chat />
    </CopilotKitProvider>
  );
}

createRoot(document.getElementById('root')).render(<App />);
