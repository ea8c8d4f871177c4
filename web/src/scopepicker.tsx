import { useId, useState } from 'react';

import { useFixedUser } from './caller';
import { navigate, to, useAddress } from './router';
import { knownUsers } from './kept';
import { useApps, useScope } from './scope';
import { AppName, mostApps } from './ui/appname';

/** Chooses the application and the user. */
export function ScopePicker() {
  const scope = useScope();
  const path = useAddress();
  const apps = useApps().data ?? [];
  const [user, setUser] = useState<string>();
  const list = useId();
  const fixed = useFixedUser() !== undefined;
  const screen = /\/users\/[^/]+\/(runs|logins|schedules|triggers|webhooks|tools|memory)/.exec(path)?.[1] as 'runs' | 'logins' | 'schedules' | 'triggers' | 'webhooks' | 'tools' | 'memory' | undefined;
  const ofApp = /^\/ui\/apps\/[^/]+\/(evals|feedback)(\?|$)/.exec(path)?.[1];
  const go = (app: string, name: string) => navigate(ofApp && app !== scope.app ? `/ui/apps/${encodeURIComponent(app)}/${ofApp}` : to.user(app, name, screen ?? 'sessions'));
  const take = () => {
    const name = user?.trim();
    setUser(undefined);
    if (name && scope.app && name !== scope.user) go(scope.app, name);
  };
  return (
    <div className="overflow-hidden rounded-md border border-rule bg-sheet">
      <label className="flex items-center border-b pl-2.5">
        <span className="label w-9 shrink-0">app</span>
        {apps.length > mostApps ? <AppName names={apps.map((app) => app.name)} now={scope.app ?? ''} choose={(app) => go(app, scope.user)} className="h-7 w-full min-w-0 max-md:h-9 text-ellipsis bg-transparent px-1 font-medium" /> : (
          <select value={scope.app ?? ''} onChange={(e) => go(e.target.value, scope.user)} className="h-7 min-w-0 flex-1 max-md:h-9 bg-transparent pr-1 font-medium">
            {apps.length === 0 && <option value="">none</option>}
            {apps.map((app) => (
              <option key={app.name} value={app.name}>{app.name}</option>
            ))}
          </select>
        )}
      </label>
      <label className="flex items-center pl-2.5">
        <span className="label w-9 shrink-0">user</span>
        <input
          value={user ?? scope.user}
          list={fixed ? undefined : list}
          readOnly={fixed}
          title={fixed ? 'You are signed in as this user' : scope.user}
          onChange={(e) => setUser(e.target.value)}
          onBlur={take}
          onKeyDown={(e) => e.key === 'Enter' && take()}
          spellCheck={false}
          className="h-7 w-full min-w-0 max-md:h-9 text-ellipsis bg-transparent px-1 font-medium read-only:text-soft"
        />
        <datalist id={list}>
          {knownUsers().map((name) => (
            <option key={name} value={name} />
          ))}
        </datalist>
      </label>
    </div>
  );
}
