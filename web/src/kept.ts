// What the browser keeps between visits: what the screens were about, and what was searched for.
const scopeKey = 'parley.scope';
const usersKey = 'parley.users';
const searchesKey = 'parley.searches';
const filtersKey = 'parley.filters';
const metricsKey = 'parley.metrics';

const read = <T>(key: string, otherwise: T): T => {
  try {
    return (JSON.parse(localStorage.getItem(key) ?? 'null') as T | null) ?? otherwise;
  } catch {
    return otherwise;
  }
};

export const keptScope = () => read<{ app?: string; user?: string }>(scopeKey, {});

/** Users that were looked at before; the server does not list them. */
export const knownUsers = () => read<string[]>(usersKey, []);

export function keepScope(scope: { app: string | undefined; user: string }) {
  localStorage.setItem(scopeKey, JSON.stringify(scope));
  localStorage.setItem(usersKey, JSON.stringify([scope.user, ...knownUsers().filter((user) => user !== scope.user)].slice(0, 12)));
}

/** Searches in the sessions of an application that were saved, by its name. */
export const keptSearches = () => read<Record<string, string[]>>(searchesKey, {});

export const keepSearches = (all: Record<string, string[]>) => localStorage.setItem(searchesKey, JSON.stringify(all));

/** Filters of screens that were saved, by the name of the screen: queries of addresses. */
export const keptFilters = () => read<Record<string, string[]>>(filtersKey, {});

export const keepFilters = (all: Record<string, string[]>) => localStorage.setItem(filtersKey, JSON.stringify(all));

/** What evaluations measured last, by the name of the application. */
export const keptMetrics = () => read<Record<string, unknown>>(metricsKey, {});

export const keepMetrics = (all: Record<string, unknown>) => localStorage.setItem(metricsKey, JSON.stringify(all));

/** Forgets all of it, before another user signs in. */
export function forgetKept() {
  for (const key of [scopeKey, usersKey, searchesKey, filtersKey, metricsKey]) localStorage.removeItem(key);
}
