import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { setNonce } from 'get-nonce';
import { lazy, StrictMode, Suspense } from 'react';
import { createRoot } from 'react-dom/client';

import { connection } from './api/connection';
import { ConnectionError } from './api/client';
import { App } from './app';
import { watchCaller } from './caller';
import { deliverLogin } from './login';
import { Mishap } from './mishap';
import './styles.css';

const SharedScreen = lazy(() => import('./shared'));

const root = createRoot(document.getElementById('root')!);

if (deliverLogin()) {
  root.render(<p className="p-8 text-base">You are back. This window closes by itself; if it does not, close it.</p>);
} else {
  // Libraries that lock the page behind a dialog do so with a style of their own.
  setNonce(document.querySelector<HTMLMetaElement>('meta[name=csp-nonce]')?.content ?? '');
  const client = new QueryClient({
    defaultOptions: {
      queries: { retry: (count, error) => error instanceof ConnectionError && count < 1, staleTime: 5000, refetchOnWindowFocus: false },
    },
  });
  watchCaller(client);
  connection.subscribe(() => {
    if (!connection.isLost()) void client.invalidateQueries();
  });
  root.render(
    <StrictMode>
      <QueryClientProvider client={client}>
        <Mishap>
          {window.location.pathname.startsWith('/shared/') ? <Suspense><SharedScreen /></Suspense> : <App />}
        </Mishap>
      </QueryClientProvider>
    </StrictMode>,
  );
}
