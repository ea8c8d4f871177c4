import { useEffect, useRef } from 'react';

import { toEvals } from './evals/api';
import { navigate, to, type UserScreen } from './router';
import type { Scope } from './scope';

/** Events that the workbench listens to. */
export const focusComposer = 'parley:compose';
export const newSession = 'parley:new-session';

interface Options {
  scope: Scope;
  openPalette: () => void;
  openHelp: () => void;
}

export const typing = (target: EventTarget | null) =>
  target instanceof HTMLElement && (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName));

export function useShortcuts(options: Options) {
  const now = useRef(options);
  now.current = options;
  useEffect(() => {
    let going = false; // after g, which names a screen together with the next key
    const elsewhere = (event: KeyboardEvent) => typing(event.target) || event.metaKey || event.ctrlKey || event.altKey || document.querySelector('[role=dialog]');
    const go = (key: string) => {
      const { scope } = now.current;
      const user = (screen: UserScreen) => scope.app && navigate(to.user(scope.app, scope.user, screen));
      switch (key) {
        case 'a': return navigate('/');
        case 's': return void user('sessions');
        case 'i':
        case 'w': return navigate(to.inbox());
        case 'r': return void user('runs');
        case 'l': return void user('logins');
        case 't': return void user('schedules');
        case 'h': return void user('triggers');
        case 'o': return void user('tools');
        case 'm': return void user('memory');
        case 'k': return void user('webhooks');
        case 'u': return navigate(to.usage());
        case 'p': return navigate('/ui/api');
        case 'f': return void (scope.app && navigate(toEvals.feedback(scope.app)));
        case 'e': return void (scope.app && navigate(toEvals.sets(scope.app)));
      }
    };
    // The key after g means nothing else: it is taken before other listeners have it, such as those of a screen that is
    // left, which stay until the next screen is loaded.
    const onSecond = (event: KeyboardEvent) => {
      if (!going) return;
      if (elsewhere(event)) going = false;
      if (!going || event.key.length > 1) return; // such as Shift, or Tab
      event.preventDefault();
      event.stopImmediatePropagation();
      going = event.key === 'g';
      go(event.key);
    };
    const onKey = (event: KeyboardEvent) => {
      const { openPalette, openHelp } = now.current;
      if ((event.metaKey || event.ctrlKey) && event.key.toLowerCase() === 'k') {
        event.preventDefault();
        openPalette();
        return;
      }
      if (elsewhere(event)) return;
      switch (event.key) {
        case 'g':
          going = true;
          return;
        case '?':
          openHelp();
          return;
        case '/': {
          const box = document.querySelector<HTMLElement>('[data-search]');
          if (!box) return;
          event.preventDefault();
          box.focus();
          return;
        }
        case 'c':
          event.preventDefault();
          window.dispatchEvent(new Event(focusComposer));
          return;
        case 'n':
          event.preventDefault();
          window.dispatchEvent(new Event(newSession));
      }
    };
    window.addEventListener('keydown', onSecond, { capture: true });
    window.addEventListener('keydown', onKey);
    return () => {
      window.removeEventListener('keydown', onSecond, { capture: true });
      window.removeEventListener('keydown', onKey);
    };
  }, []);
}
