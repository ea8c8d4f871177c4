import { useState } from 'react';

import { ParleyError } from '../api/client';
import { useSignIn, type State } from '../caller';
import { useAddress } from '../router';
import { Mark } from '../ui/icons';
import { Button, Field } from '../ui/parts';

/** Asks who the user is. It takes the place of the screen that wanted to know, and the address stays. */
export default function SignInScreen({ about, retry }: { about: State; retry: () => void }) {
  const address = useAddress();
  const key = about.signIn === 'key';
  return (
    <main className="flex h-full items-start justify-center overflow-y-auto px-4 pt-[14vh] pb-10">
      <div className="w-full max-w-[400px]">
        <p className="mb-6 flex items-center gap-2.5 text-accent"><Mark /><span className="text-lg font-semibold tracking-tight text-ink">parley</span></p>
        <h1>{about.signIn === 'none' ? 'Who are you?' : 'Sign in'}</h1>
        <p className="mb-5 text-soft" role={about.ended ? 'status' : undefined}>
          {about.ended && 'Your sign-in has ended. '}
          {about.signIn === 'none'
            ? 'The server does not know. What is in front of it has to say so: sign in there, and try again.'
            : about.ended ? 'Sign in again, and continue where you were.' : 'Sign in to use this server.'}
        </p>
        {about.signIn === 'none' && <Button tone="primary" icon="retry" onClick={retry}>Try again</Button>}
        {about.issuer && (
          <a href={`/dev-ui/signin?return=${encodeURIComponent(address)}`} className="mb-5 flex min-h-10 items-center justify-center rounded-md border border-accent bg-accent px-4 py-2 text-center font-medium text-onaccent hover:opacity-90">
            Sign in at {hostOf(about.issuer)}
          </a>
        )}
        {about.signIn !== 'none' && (about.issuer ? (
          <details>
            <summary className="text-soft">Use an identity token instead</summary>
            <div className="mt-3"><TokenForm what="identity token" note="For this server, and of an issuer that it knows." /></div>
          </details>
        ) : (
          <TokenForm what={key ? 'API key' : 'identity token'} note={key ? <>The operator of the server makes one with <code className="font-mono text-2xs">parley keys create</code>.</> : 'For this server, and of an issuer that it knows.'} />
        ))}
      </div>
    </main>
  );
}

function TokenForm({ what, note }: { what: string; note: React.ReactNode }) {
  const { signIn } = useSignIn();
  const [token, setToken] = useState('');
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState('');
  const submit = () => {
    if (!token.trim()) return setProblem(`The ${what} is missing.`);
    setBusy(true);
    setProblem('');
    signIn(token).catch((error: Error) => {
      setBusy(false);
      setProblem(error instanceof ParleyError && error.status === 401 ? `The server does not accept this ${what}. It may be wrong or expired.` : error.message);
    });
  };
  return (
    <form className="space-y-3" onSubmit={(e) => (e.preventDefault(), submit())}>
      <Field label={what} note={note}>
        <input type="password" autoComplete="current-password" autoFocus spellCheck={false} className="field w-full font-mono" value={token} onChange={(e) => setToken(e.target.value)} aria-invalid={problem !== ''} />
      </Field>
      {problem && <p role="alert" className="text-bad">{problem}</p>}
      <Button tone="primary" type="submit" disabled={busy} className="w-full">Sign in</Button>
    </form>
  );
}

function hostOf(issuer: string): string {
  try {
    return new URL(issuer).host;
  } catch {
    return issuer;
  }
}
