import { useEffect } from 'react';

import { calls } from '../api/calls';
import { ask } from '../api/client';
import type { Session } from '../api/types';
import { navigate, to } from '../router';
import { Action } from '../ui/parts';
import { say } from '../ui/toast';

/** Makes a session and goes there. */
export function useNewSession(app: string, user: string) {
  return () =>
    void ask<Session>(calls.createSession(app, user))
      .then((made) => navigate(to.session({ app, user, session: made.id })))
      .catch((error: Error) => say(error.message, 'bad'));
}

export function NewSession({ app, user }: { app: string; user: string }) {
  return <Action tone="primary" icon="plus" call={calls.createSession(app, user)} onClick={useNewSession(app, user)}>New session</Action>;
}

/** Calls act when a shortcut asks for it. */
export function useOn(name: string, act: () => void) {
  useEffect(() => {
    window.addEventListener(name, act);
    return () => window.removeEventListener(name, act);
  });
}
