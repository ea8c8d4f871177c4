import { Component, type ReactNode } from 'react';

import { Button } from './ui/parts';

/** What is shown when a screen breaks: a mistake of ours, or a server that has another version by now. */
export class Mishap extends Component<{ children: ReactNode }, { error?: Error }> {
  override state: { error?: Error } = {};

  static getDerivedStateFromError(error: Error) {
    return { error };
  }

  override render() {
    const { error } = this.state;
    if (!error) return this.props.children;
    return (
      <main className="mx-auto max-w-[640px] p-8" role="alert">
        <h1>This screen is broken</h1>
        <p className="mt-1 mb-4 text-soft">
          If the server was updated, the page has to be loaded again. If it breaks once more, it is a mistake in Parley, and
          this is what it says: <code className="font-mono text-xs">{error.message}</code>
        </p>
        <Button tone="primary" icon="retry" onClick={() => window.location.reload()}>Load the page again</Button>
      </main>
    );
  }
}
