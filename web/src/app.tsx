import { lazy, Suspense, useEffect, useState, useSyncExternalStore } from 'react';

import { connection } from './api/connection';
import { roleOf, useAbout, useCaller, useRefusal, useSignIn } from './caller';
import { evalPlaces, evalScreen } from './evals';
import { decode, Link, match, navigate, to, useAddress, type UserScreen } from './router';
import { useApps, useInboxCount, useScope, type Scope } from './scope';
import { ScopePicker } from './scopepicker';
import { AppsScreen } from './screens/apps';
import { useNewSession, useOn } from './screens/newsession';
import { newSession, useShortcuts } from './shortcuts';
import { Icon, Mark, ThemeIcon, type IconName } from './ui/icons';
import { Button, Empty, Kbd, Loading, Problem } from './ui/parts';
import { Screen } from './ui/screen';
import { toggleTheme } from './theme';
import { say, Toasts } from './ui/toast';

const Palette = lazy(() => import('./palette'));
const SessionsScreen = lazy(() => import('./screens/sessions'));
const Workbench = lazy(() => import('./workbench/workbench'));
const AppScreen = lazy(() => import('./screens/app'));
const Shortcuts = lazy(() => import('./help'));
const ApiScreen = lazy(() => import('./screens/api'));
const UsageScreen = lazy(() => import('./screens/usage'));
const RunsScreen = lazy(() => import('./screens/runs'));
const InboxScreen = lazy(() => import('./screens/inbox'));
const WebhooksScreen = lazy(() => import('./screens/webhooks'));
const SchedulesScreen = lazy(() => import('./screens/schedules'));
const TriggersScreen = lazy(() => import('./screens/triggers'));
const ToolsScreen = lazy(() => import('./screens/tools'));
const MemoryScreen = lazy(() => import('./screens/memory'));
const LoginsScreen = lazy(() => import('./screens/logins'));
const ArtifactsScreen = lazy(() => import('./screens/artifacts'));
const StepsScreen = lazy(() => import('./screens/run/steps'));
const ReplayScreen = lazy(() => import('./screens/run/replay'));
const VariantsScreen = lazy(() => import('./screens/run/variants'));
const CompareScreen = lazy(() => import('./screens/compare'));
const SignInScreen = lazy(() => import('./screens/signin'));

/** The screens, for a user that the server knows. */
export function App() {
  const about = useAbout();
  if (about.isPending) return <div className="p-8"><Loading what="the page" /></div>;
  if (about.error) return <div className="mx-auto max-w-[640px] p-8"><Problem error={about.error} what="The server does not say who you are" retry={() => void about.refetch()} /></div>;
  if (about.data.caller) return <Screens />;
  return (
    <Suspense>
      <SignInScreen about={about.data} retry={() => void about.refetch()} />
    </Suspense>
  );
}

function Screens() {
  const address = useAddress();
  const [palette, setPalette] = useState(false);
  const [help, setHelp] = useState(false);
  const scope = useScope();
  const create = useNewSession(scope.app ?? '', scope.user);
  const refused = useRefusal()('run');
  useOn(newSession, () => scope.app && (refused ? say(refused, 'bad') : create()));
  useShortcuts({ scope, openPalette: () => setPalette(true), openHelp: () => setHelp(true) });
  useEffect(() => {
    document.getElementById('main')?.scrollTo(0, 0);
  }, [address.split('?')[0]]);
  return (
    <div className="flex h-full flex-col md:flex-row">
      <a href="#main" className="sr-only focus:not-sr-only focus:absolute focus:z-50 focus:bg-sheet focus:p-2">
        Skip to the content
      </a>
      <Rail scope={scope} address={address} openPalette={() => setPalette(true)} />
      <div className="flex min-h-0 min-w-0 flex-1 flex-col">
        <Lost />
        <NotLoaded address={address} />
        <main id="main" tabIndex={-1} className="min-h-0 flex-1 overflow-y-auto outline-none">
          <Suspense fallback={<div className="p-8"><Loading what="the screen" /></div>}>
            <Route address={address} />
          </Suspense>
        </main>
        <Toasts />
      </div>
      <BottomBar scope={scope} address={address} openPalette={() => setPalette(true)} />
      <Suspense>
        {palette && <Palette open onClose={() => setPalette(false)} scope={scope} openHelp={() => setHelp(true)} />}
        {help && <Shortcuts open onClose={() => setHelp(false)} />}
      </Suspense>
    </div>
  );
}

function Route({ address }: { address: string }) {
  const path = address.split('?')[0]!;
  let m: Record<string, string> | undefined;
  useTitle(path);
  if (path === '/' || path === '/dev-ui/' || path === '/ui/' || path === '/ui') return <AppsScreen />;
  if (match('/ui/api', path)) return <ApiScreen />;
  if (match('/ui/inbox', path)) return <InboxScreen />;
  if (match('/ui/usage', path)) return <UsageScreen />;
  const evals = evalScreen(path);
  if (evals) return evals;
  if ((m = match('/ui/apps/:app', path))) return <AppScreen app={m['app']!} />;
  if ((m = match('/ui/apps/:app/users/:user/sessions/:session', path))) {
    const key = { app: m['app']!, user: m['user']!, session: m['session']! };
    return <Workbench key={path} id={key} />;
  }
  if ((m = match('/ui/apps/:app/users/:user/sessions/:session/artifacts/*', path))) {
    return <ArtifactsScreen id={{ app: m['app']!, user: m['user']!, session: m['session']! }} name={m['*']!} />;
  }
  if ((m = match('/ui/apps/:app/users/:user/sessions/:session/runs/:run', path) ?? match('/ui/apps/:app/users/:user/sessions/:session/runs/:run/:screen', path))) {
    const props = { id: { app: m['app']!, user: m['user']!, session: m['session']! }, run: m['run']! };
    switch (m['screen']) {
      case undefined:
        return <StepsScreen key={path} {...props} />;
      case 'replay':
        return <ReplayScreen key={path} {...props} />;
      case 'variants':
        return <VariantsScreen key={path} {...props} />;
    }
  }
  if ((m = match('/ui/apps/:app/users/:user/:screen', path))) {
    const props = { app: m['app']!, user: m['user']!, key: path };
    const { key, ...rest } = props;
    switch (m['screen']) {
      case 'sessions':
        return <SessionsScreen key={key} {...rest} />;
      case 'waiting':
        return <Moved to={to.inbox(rest.app, rest.user)} />;
      case 'runs':
        return <RunsScreen key={key} {...rest} />;
      case 'compare':
        return <CompareScreen key={key} {...rest} />;
      case 'schedules':
        return <SchedulesScreen key={key} {...rest} />;
      case 'triggers':
        return <TriggersScreen key={key} {...rest} />;
      case 'tools':
        return <ToolsScreen key={key} {...rest} />;
      case 'memory':
        return <MemoryScreen key={key} {...rest} />;
      case 'webhooks':
        return <WebhooksScreen key={key} {...rest} />;
      case 'logins':
        return <LoginsScreen key={key} {...rest} />;
    }
  }
  return (
    <Screen title="Page not found">
      <Empty title="There is no page at this address" action={<Button tone="primary" onClick={() => navigate('/')}>Show the applications</Button>}>
        <code className="font-mono text-xs">{path}</code>
      </Empty>
    </Screen>
  );
}

/** An address that is another one now. */
function Moved({ to }: { to: string }) {
  useEffect(() => navigate(to, { replace: true }), [to]);
  return null;
}

function useTitle(path: string) {
  useEffect(() => {
    // As in /ui/apps/A/users/U/sessions/S/artifacts/NAME.
    const [kind, app, part, , screen, session, files, ...file] = path.split('/').filter(Boolean).slice(1).map((s) => decode(s) ?? s);
    const name = !kind ? 'Applications' : kind === 'api' ? 'API' : kind === 'usage' ? 'Usage' : kind === 'inbox' ? 'Inbox' : part === 'evals' || part === 'results' ? ['Evaluation', app].join(' · ') : part === 'feedback' ? ['Feedback', app].join(' · ') : files ? `${file.join('/') || files} · ${session}` : [session ?? screen, app].filter(Boolean).join(' · ');
    document.title = `${name} · Parley`;
  }, [path]);
}

/** Of the application at hand, the code on disk does not work. */
function NotLoaded({ address }: { address: string }) {
  const name = match('/ui/apps/:app/*', address)?.['app'];
  const app = useApps().data?.find((a) => a.name === name);
  const why = app?.reloadError ?? app?.error;
  if (!app || !why || match('/ui/apps/:app', address)) return null; // its own page has more room
  const [first, ...rest] = why.split('\n');
  return (
    <div role="status" data-not-loaded className="shrink-0 border-b border-bad/40 bg-badtint px-4 py-1.5">
      <p className="flex items-baseline gap-2">
        <span className="translate-y-0.5 text-bad"><Icon name="alert" size={14} /></span>
        <span className="min-w-0">
          <b className="font-semibold text-bad">{app.reloadError ? 'The last change could not be loaded; the code before it is running.' : `${app.name} cannot be loaded.`}</b>{' '}
          <Link href={to.app(app.name)} className="font-mono text-xs [overflow-wrap:anywhere] hover:underline">{first}</Link>
        </span>
      </p>
      {rest.length > 0 && <pre className="json max-h-24 overflow-y-auto pl-6 text-soft">{rest.join('\n')}</pre>}
    </div>
  );
}

function places(scope: Scope): { label: string; icon: IconName; href: string; keys: string; active: (path: string) => boolean }[] {
  const app = scope.app ?? '';
  const user = (screen: UserScreen) => (app ? to.user(app, scope.user, screen) : '/');
  const on = (screen: string) => (path: string) => new RegExp(`^/ui/apps/[^/]+/users/[^/]+/${screen}`).test(path);
  return [
    { label: 'Apps', icon: 'apps', href: '/', keys: 'g a', active: (p) => p === '/' || p === '/dev-ui/' || /^\/ui\/apps\/[^/]+$/.test(p) },
    { label: 'Sessions', icon: 'sessions', href: user('sessions'), keys: 'g s', active: on('sessions') },
    { label: 'Inbox', icon: 'waiting', href: to.inbox(), keys: 'g i', active: (p) => p.startsWith('/ui/inbox') || on('waiting')(p) },
    { label: 'Runs', icon: 'runs', href: user('runs'), keys: 'g r', active: (p) => on('runs')(p) || on('compare')(p) },
    ...evalPlaces(app),
    { label: 'Schedules', icon: 'schedules', href: user('schedules'), keys: 'g t', active: on('schedules') },
    { label: 'Triggers', icon: 'triggers', href: user('triggers'), keys: 'g h', active: on('triggers') },
    { label: 'Tools', icon: 'tools', href: user('tools'), keys: 'g o', active: on('tools') },
    { label: 'Memory', icon: 'memory', href: user('memory'), keys: 'g m', active: on('memory') },
    { label: 'Webhooks', icon: 'webhooks', href: user('webhooks'), keys: 'g k', active: on('webhooks') },
    { label: 'Logins', icon: 'logins', href: user('logins'), keys: 'g l', active: on('logins') },
    { label: 'Usage', icon: 'usage', href: to.usage(), keys: 'g u', active: (p) => p.startsWith('/ui/usage') },
    { label: 'API', icon: 'api', href: '/ui/api', keys: 'g p', active: (p) => p.startsWith('/ui/api') },
  ];
}

/** How much there is to do on a screen. */
function Badge({ count }: { count: number }) {
  if (count === 0) return null;
  return <span data-badge className="min-w-4 rounded-full bg-wait px-1 text-center font-mono text-[10px] leading-4 font-semibold text-sheet">{count > 99 ? '99+' : count}<span className="sr-only"> waiting</span></span>;
}

function Rail({ scope, address, openPalette }: { scope: Scope; address: string; openPalette: () => void }) {
  const path = address.split('?')[0]!;
  const waiting = useInboxCount();
  return (
    <nav aria-label="Screens" className="hidden w-[52px] shrink-0 flex-col border-r bg-sunk md:flex xl:w-[204px]">
      <Link href="/" className="flex h-13 items-center gap-2.5 px-4 text-accent" aria-label="parley, applications">
        <Mark />
        <span className="hidden text-lg font-semibold tracking-tight text-ink xl:inline">parley</span>
      </Link>
      <div className="hidden px-2.5 pb-3 xl:block">
        <ScopePicker />
      </div>
      <ul className="flex flex-col gap-0.5 px-2">
        {places(scope).map((place) => (
          <li key={place.label}>
            <Link
              href={place.href}
              title={place.label}
              aria-current={place.active(path) ? 'page' : undefined}
              className="group relative flex h-8 items-center gap-2.5 rounded-md px-2.5 text-soft hover:text-ink aria-[current]:bg-sheet aria-[current]:font-semibold aria-[current]:text-ink aria-[current]:shadow-[inset_2px_0_0_var(--accent)]"
            >
              <Icon name={place.icon} />
              <span className="sr-only flex-1 xl:not-sr-only">{place.label}</span>
              {place.label === 'Inbox' && waiting > 0 ? (
                <span className="max-xl:absolute max-xl:top-0 max-xl:-right-0.5"><Badge count={waiting} /></span>
              ) : (
                <span className="hidden opacity-0 group-hover:opacity-100 xl:inline"><Kbd>{place.keys}</Kbd></span>
              )}
            </Link>
          </li>
        ))}
      </ul>
      <div className="mt-auto flex flex-col items-stretch gap-1 p-2">
        <button type="button" onClick={openPalette} title="Commands (Ctrl K)" className="flex h-8 items-center gap-2.5 rounded-md px-2.5 text-soft hover:bg-sheet hover:text-ink">
          <Icon name="search" />
          <span className="sr-only flex-1 text-left xl:not-sr-only xl:flex-1">Commands</span>
          <span className="hidden xl:inline"><Kbd>Ctrl K</Kbd></span>
        </button>
        <ThemeButton />
        <SignedIn />
      </div>
    </nav>
  );
}

/** Who is signed in, and the way out. */
function SignedIn() {
  const caller = useCaller();
  const { signOut } = useSignIn();
  if (!caller?.signedIn) return null;
  const who = [caller.user, roleOf(caller)].filter(Boolean).join(', ');
  return (
    <button type="button" onClick={() => void signOut().catch((error: Error) => say(error.message, 'bad'))} title={`Sign out${who ? `: ${who}` : ''}`} className="flex h-8 items-center gap-2.5 rounded-md px-2.5 text-soft hover:bg-sheet hover:text-ink">
      <Icon name="out" />
      <span className="sr-only min-w-0 truncate text-left xl:not-sr-only">Sign out{who && <span className="text-faint"> ({who})</span>}</span>
    </button>
  );
}

/** The screens that a phone has room for. The others are among the commands. */
const onPhones = new Set(['Apps', 'Sessions', 'Inbox', 'Runs', 'API']);

/** The screens, on a phone. */
function BottomBar({ scope, address, openPalette }: { scope: Scope; address: string; openPalette: () => void }) {
  const path = address.split('?')[0]!;
  const waiting = useInboxCount();
  // The workbench needs the height while the keyboard of the phone is open.
  const low = /\/sessions\/[^/]+$/.test(path);
  const here = places(scope).find((p) => p.active(path));
  const item = `relative flex h-11 flex-1 flex-col items-center justify-center gap-0.5 text-2xs`;
  return (
    <nav aria-label="Screens" className={`flex shrink-0 border-t bg-sunk md:hidden ${low ? '[@media(max-height:500px)]:hidden' : ''}`}>
      {places(scope).filter((p) => onPhones.has(p.label)).map((place) => (
        <Link
          key={place.label}
          href={place.href}
          aria-current={place.active(path) ? 'page' : undefined}
          className={`text-soft aria-[current]:font-semibold aria-[current]:text-accent ${item}`}
        >
          <Icon name={place.icon} />
          {place.label}
          {place.label === 'Inbox' && <span className="absolute top-1 left-1/2 ml-1.5"><Badge count={waiting} /></span>}
        </Link>
      ))}
      <button type="button" onClick={openPalette} className={`${item} ${here && !onPhones.has(here.label) ? 'font-semibold text-accent' : 'text-soft'}`}>
        <Icon name="more" />
        More
      </button>
    </nav>
  );
}

function ThemeButton() {
  return (
    <button type="button" onClick={toggleTheme} title="Switch between light and dark" className="flex h-8 items-center gap-2.5 rounded-md px-2.5 text-soft hover:bg-sheet hover:text-ink">
      <ThemeIcon />
      <span className="sr-only text-left xl:not-sr-only">Theme</span>
    </button>
  );
}

/** The server does not answer. */
function Lost() {
  const lost = useSyncExternalStore(connection.subscribe, connection.isLost);
  return (
    <div role="status" aria-live="assertive" className="shrink-0">
      {lost && (
        <p className="flex items-center gap-2 bg-bad px-4 py-1.5 text-sm font-medium text-sheet">
          <Icon name="alert" />
          The server does not answer. Runs continue without this page, and the page reconnects by itself.
        </p>
      )}
    </div>
  );
}
