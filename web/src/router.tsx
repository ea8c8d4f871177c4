// Addresses. A screen below /ui has the path of what it shows in the API.
import { useSyncExternalStore, type AnchorHTMLAttributes, type MouseEvent } from 'react';

import { encodePath } from './api/calls';
import type { Key } from './api/types';

const changed = 'parley:navigate';

const subscribe = (listener: () => void) => {
  window.addEventListener('popstate', listener);
  window.addEventListener(changed, listener);
  return () => {
    window.removeEventListener('popstate', listener);
    window.removeEventListener(changed, listener);
  };
};

/** The path and the query of the screen that is shown. */
export function useAddress(): string {
  return useSyncExternalStore(subscribe, () => window.location.pathname + window.location.search);
}

export function useQuery(): URLSearchParams {
  return new URLSearchParams(useAddress().split('?')[1] ?? '');
}

export function navigate(to: string, options: { replace?: boolean } = {}) {
  if (options.replace) history.replaceState(null, '', to);
  else history.pushState(null, '', to);
  window.dispatchEvent(new Event(changed));
}

/** Changes the query of the screen, without a step in the history. */
export function setQuery(changes: Record<string, string | undefined>) {
  const query = new URLSearchParams(window.location.search);
  for (const [name, value] of Object.entries(changes)) {
    if (value) query.set(name, value);
    else query.delete(name);
  }
  const text = query.toString();
  navigate(window.location.pathname + (text ? `?${text}` : ''), { replace: true });
}

/** The named segments of a path, decoded, if it fits a pattern such as /ui/apps/:app. A * at its end is what is left, with its slashes. */
export function match(pattern: string, path: string): Record<string, string> | undefined {
  const want = pattern.split('/').filter(Boolean);
  const have = path.split('?')[0]!.split('/').filter(Boolean);
  const rest = want.at(-1) === '*' && want.pop();
  if (rest ? want.length > have.length : want.length !== have.length) return undefined;
  const names: Record<string, string> = {};
  for (const [i, segment] of want.entries()) {
    if (segment.startsWith(':')) {
      const text = decode(have[i]!);
      if (text === undefined) return undefined;
      names[segment.slice(1)] = text;
    } else if (segment !== have[i]) return undefined;
  }
  if (rest) {
    const left = have.slice(want.length).map(decode);
    if (left.includes(undefined)) return undefined;
    names['*'] = left.join('/');
  }
  return names;
}

export function decode(segment: string): string | undefined {
  try {
    return decodeURIComponent(segment);
  } catch {
    return undefined;
  }
}

/** The screens about a user of an application. */
export type UserScreen = 'sessions' | 'runs' | 'logins' | 'schedules' | 'triggers' | 'webhooks' | 'tools' | 'memory';

const enc = encodeURIComponent;
export const to = {
  apps: () => '/',
  app: (app: string) => `/ui/apps/${enc(app)}`,
  user: (app: string, user: string, screen: UserScreen) => `/ui/apps/${enc(app)}/users/${enc(user)}/${screen}`,
  tool: (app: string, user: string, agent: string, tool: string) => `${to.user(app, user, 'tools')}?${new URLSearchParams({ agent, tool })}`,
  session: (key: Key) => `/ui/apps/${enc(key.app)}/users/${enc(key.user)}/sessions/${enc(key.session)}`,
  /** The page of a run: its steps, or what can be tried with it. */
  run: (key: Key, run: string, screen: '' | 'replay' | 'variants' = '') => `${to.session(key)}/runs/${enc(run)}${screen && `/${screen}`}`,
  /** Runs beside each other: each a session and a run, with the user before them if it is another one. */
  compare: (app: string, user: string, runs: { user?: string; session: string; run: string }[]) =>
    `/ui/apps/${enc(app)}/users/${enc(user)}/compare?${runs.map((r) => `run=${[...(r.user && r.user !== user ? [r.user] : []), r.session, r.run].map((s) => enc(enc(s))).join('/')}`).join('&')}`,
  artifact: (key: Key, name = '', version?: number) =>
    `${to.session(key)}/artifacts${name && `/${encodePath(name)}`}${version === undefined ? '' : `?version=${version}`}`,
  inbox: (app?: string, user?: string) => `/ui/inbox${app ? `?app=${enc(app)}${user ? `&user=${enc(user)}` : ''}` : ''}`,
  usage: (app?: string, user?: string) => `/ui/usage${app ? `?app=${enc(app)}${user ? `&user=${enc(user)}` : ''}` : ''}`,
  api: (operation?: string) => `/ui/api${operation ? `?operation=${enc(operation)}` : ''}`,
};

export function Link({ href, onClick, ...rest }: AnchorHTMLAttributes<HTMLAnchorElement> & { href: string }) {
  const go = (event: MouseEvent<HTMLAnchorElement>) => {
    onClick?.(event);
    if (event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    navigate(href);
  };
  return <a href={href} onClick={go} {...rest} />;
}
