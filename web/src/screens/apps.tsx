import { useQuery } from '@tanstack/react-query';
import { useSyncExternalStore } from 'react';

import { calls } from '../api/calls';
import { ask } from '../api/client';
import type { App, AppInfo } from '../api/types';
import { useCaller } from '../caller';
import { toolsOf } from '../log/graph';
import { Link, navigate, to } from '../router';
import { useApps, useFaces, useScope } from '../scope';
import { NewSession } from './newsession';
import { fixIt } from './notloaded';
import { Author, Button, Empty, Loading, Problem } from '../ui/parts';
import { Screen } from '../ui/screen';
import { Icon } from '../ui/icons';
import { Virtual } from '../ui/virtual';

/** Whether two cards are beside each other, as with the class lg:grid-cols-2. */
const wide = () => window.matchMedia('(width >= 64rem)');
const subscribe = (listener: () => void) => {
  const media = wide();
  media.addEventListener('change', listener);
  return () => media.removeEventListener('change', listener);
};

export function AppsScreen() {
  const apps = useApps();
  const scope = useScope();
  const columns = useSyncExternalStore(subscribe, () => (wide().matches ? 2 : 1));
  const all = apps.data ?? [];
  const rows = Array.from({ length: Math.ceil(all.length / columns) }, (_, i) => all.slice(i * columns, (i + 1) * columns));
  return (
    <Screen
      wide
      title="Applications"
      note="Every application is a root agent with the tools and agents that it may use. Choose one to talk to it."
      call={calls.apps()}
    >
      {apps.isPending && <Loading what="the applications" />}
      {apps.error && <Problem error={apps.error} what="The applications could not be listed" retry={() => void apps.refetch()} />}
      {apps.data?.length === 0 && (
        <Empty title="No applications yet">
          Run <code className="font-mono text-xs">parley create my_agent</code> in the agent directory, and this page shows it.
        </Empty>
      )}
      {all.length > 0 && (
        <div role="list" className="-mb-4">
          <Virtual items={rows} keyOf={(row) => row[0]!.name} height={223} draw={(row, measured) => (
            <div {...measured} className="grid gap-4 pb-4 lg:grid-cols-2">
              {row.map((app, i) => (
                <div key={app.name} role="listitem" aria-posinset={measured['data-index'] * columns + i + 1} aria-setsize={all.length} className="min-w-0">
                  {app.error ? <BrokenCard app={app} reload={() => void apps.refetch()} /> : <AppCard app={app} user={scope.user} />}
                </div>
              ))}
            </div>
          )} />
        </div>
      )}
      <Faces />
    </Screen>
  );
}

/** The protocols that other clients can use. */
function Faces() {
  const faces = useFaces().data ?? [];
  if (faces.length === 0) return null;
  return (
    <section aria-labelledby="faces" className="mt-8">
      <h2 id="faces" className="label mb-1">for other clients</h2>
      <dl className="grid grid-cols-[max-content_1fr] gap-x-4 gap-y-0.5">
        {faces.map(({ name, title, path }) => (
          <div key={name} className="contents">
            <dt>{title}</dt>
            <dd className="font-mono text-xs leading-5 break-all text-soft">{window.location.origin}{path}</dd>
          </div>
        ))}
      </dl>
    </section>
  );
}

function AppCard({ app, user }: { app: App; user: string }) {
  const developer = useCaller()?.developer ?? false;
  const info = useQuery({ queryKey: ['app-info', app.name], enabled: developer, queryFn: ({ signal }) => ask<AppInfo>(calls.appInfo(app.name), signal) });
  const agents = Object.values(info.data?.agents ?? {});
  const models = [...new Set(agents.map((a) => a.model).filter(Boolean))];
  return (
    <article className="flex h-full flex-col rounded-lg border border-line bg-sheet">
      <header className="flex items-baseline gap-3 border-b px-4 pt-3 pb-2.5">
        <div className="min-w-0 flex-1">
          <h2 className="text-base font-semibold">
            <Link href={developer ? to.app(app.name) : to.user(app.name, user, 'sessions')} className="hover:underline">{app.name}</Link>
          </h2>
          <p className="text-soft">{app.description || 'No description.'}</p>
        </div>
        <span className="label">{app.language}</span>
      </header>
      <div className="min-h-[76px] flex-1 px-4 py-3">
        {app.reloadError && <p className="mb-2 rounded-md bg-badtint px-3 py-1.5 text-bad"><b className="font-semibold">The last change could not be loaded.</b> <span className="font-mono text-xs [overflow-wrap:anywhere]">{app.reloadError.split('\n')[0]}</span></p>}
        {info.data && <AgentTree info={info.data} name={info.data.rootAgentName} />}
        {info.isLoading && <Loading what="the agents" />}
        {info.error && <p className="text-soft">{info.error.message}</p>}
        {!developer && <p className="text-soft">{app.rootAgentName ? 'You can talk to it. Only developers see its agents and tools.' : 'It cannot be used at the moment.'}</p>}
      </div>
      <footer className="flex flex-wrap items-center gap-2 border-t px-4 py-2.5">
        <span className="label flex-1 max-sm:basis-full">{info.data && (models.join(', ') || 'no model')}</span>
        {developer && <Button tone="quiet" className="max-sm:-ml-2.5" onClick={() => navigate(to.app(app.name))}>Graph</Button>}
        <Button tone="quiet" className={developer ? '' : 'max-sm:-ml-2.5'} onClick={() => navigate(to.user(app.name, user, 'sessions'))}>Sessions</Button>
        <NewSession app={app.name} user={user} />
      </footer>
    </article>
  );
}

export function AgentTree({ info, name, seen = [] }: { info: AppInfo; name: string; seen?: string[] }) {
  const agent = info.agents[name];
  if (!agent || seen.includes(name)) return null;
  const tools = toolsOf(agent);
  return (
    <div>
      <div className="flex flex-wrap items-baseline gap-x-2">
        <Author name={name} />
        <span className="label">{agent.kind}</span>
      </div>
      {tools.length > 0 && (
        <p className="mt-0.5 flex flex-wrap gap-1">
          {tools.map((tool) => (
            <span key={tool.name} title={tool.description} className="rounded-sm bg-sunk px-1.5 font-mono text-2xs leading-5 text-soft">{tool.name}</span>
          ))}
        </p>
      )}
      {agent.subAgents.length > 0 && (
        <ul className="mt-1.5 space-y-1.5 border-l border-rule pl-3">
          {agent.subAgents.map((sub) => (
            <li key={sub}><AgentTree info={info} name={sub} seen={[...seen, name]} /></li>
          ))}
        </ul>
      )}
    </div>
  );
}

function BrokenCard({ app, reload }: { app: App; reload: () => void }) {
  return (
    <article className="flex h-full flex-col rounded-lg border border-bad/50 bg-sheet">
      <header className="flex items-baseline gap-3 border-b px-4 pt-3 pb-2.5">
        <div className="min-w-0 flex-1">
          <h2 className="text-base font-semibold"><Link href={to.app(app.name)} className="hover:underline">{app.name}</Link></h2>
          <p className="flex items-center gap-1.5 text-bad"><Icon name="alert" size={14} /> This application cannot be loaded.</p>
        </div>
        <span className="label">{app.language}</span>
      </header>
      <pre className="json flex-1 px-4 py-3 text-soft">{app.error}</pre>
      <footer className="flex items-center gap-2 border-t px-4 py-2.5 text-xs text-faint">
        <span className="flex-1">{fixIt}</span>
        <Button icon="retry" onClick={reload}>Refresh</Button>
      </footer>
    </article>
  );
}
