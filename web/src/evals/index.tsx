import { lazy } from 'react';

import { match } from '../router';
import { toEvals } from './api';

const SetsScreen = lazy(() => import('./sets'));
const SetScreen = lazy(() => import('./set'));
const CaseScreen = lazy(() => import('./case'));
const NewCaseScreen = lazy(() => import('./case').then((m) => ({ default: m.NewCaseScreen })));
const VariantsScreen = lazy(() => import('./variants'));
const ResultScreen = lazy(() => import('./result'));
const FeedbackScreen = lazy(() => import('./feedback'));

/** The evaluation screen of a path, if it is one. */
export function evalScreen(path: string) {
  let m: Record<string, string> | undefined;
  if ((m = match('/ui/apps/:app/evals', path))) return <SetsScreen key={path} app={m['app']!} />;
  if ((m = match('/ui/apps/:app/evals/:set', path))) return <SetScreen key={path} app={m['app']!} set={m['set']!} />;
  if ((m = match('/ui/apps/:app/evals/:set/:case', path))) return <CaseScreen key={path} app={m['app']!} set={m['set']!} id={m['case']!} />;
  if ((m = match('/ui/apps/:app/newcase/:set', path))) return <NewCaseScreen key={path} app={m['app']!} set={m['set']!} />;
  if ((m = match('/ui/apps/:app/variants/:set', path))) return <VariantsScreen key={path} app={m['app']!} set={m['set']!} />;
  if ((m = match('/ui/apps/:app/results/:result', path))) return <ResultScreen key={path} app={m['app']!} id={m['result']!} />;
  if ((m = match('/ui/apps/:app/feedback', path))) return <FeedbackScreen key={path} app={m['app']!} />;
  return undefined;
}

/** The places of the screens in the list of all. */
export const evalPlaces = (app: string) => [{
  label: 'Feedback', icon: 'feedback' as const, href: app ? toEvals.feedback(app) : '/', keys: 'g f', active: (p: string) => /^\/ui\/apps\/[^/]+\/feedback$/.test(p),
}, {
  label: 'Evals', icon: 'check' as const, href: app ? toEvals.sets(app) : '/', keys: 'g e', active: (p: string) => /^\/ui\/apps\/[^/]+\/(evals|results|variants|newcase)(\/|$)/.test(p),
}];
