// What a form makes of a trigger.
import type { Schemas } from '@parley-run/client';

import { matchText, readMatch, readState, stateText } from './state';

export type Trigger = Schemas['Trigger'];
export type Delivery = Schemas['Delivery'];

/** How a trigger knows its sender, in words. */
export const checks = {
  secret: 'a secret',
  'standard-webhooks': 'Standard Webhooks',
  github: 'GitHub',
  slack: 'Slack',
  stripe: 'Stripe',
  google: 'a service account of Google',
} as const;

export type Check = keyof typeof checks;

export interface Draft {
  name: string;
  check: Check;
  secret: string;
  audience: string;
  email: string;
  events: string; // with commas or spaces
  message: string;
  session: string;
  user: string; // empty for the one of the screen
  state: string; // a JSON object
  match: string; // lines with a path and a value
  delivery: string;
  description: string;
}

/** Whether the sender shows its secret, so that it has to be typed in. */
export const showsSecret = (check: Check) => check === 'slack' || check === 'stripe';

/** The body of the request that creates a trigger. */
export function requestOf(d: Draft, user: string): Record<string, unknown> {
  const body: Record<string, unknown> = { check: d.check, userId: d.user.trim() || user };
  const google = d.check === 'google';
  const texts = { name: d.name, secret: google ? '' : d.secret, audience: google ? d.audience : '', email: google ? d.email : '', message: d.message, sessionId: d.session, deliveryId: d.delivery, description: d.description };
  for (const [name, text] of Object.entries(texts)) if (text.trim()) body[name] = text.trim();
  const events = d.events.split(/[\s,]+/).filter(Boolean);
  if (events.length > 0) body['events'] = events;
  const [state, match] = [readState(d.state), readMatch(d.match)];
  if (state) body['stateDelta'] = state;
  if (match) body['match'] = match;
  return body;
}

/** What a form shows of a trigger. Its secret is not known. */
export const draftOf = (t: Trigger): Draft => ({
  name: t.name, check: t.check as Check, secret: '', audience: t.audience ?? '', email: t.email ?? '', events: (t.events ?? []).join(', '),
  message: t.message ?? '', session: t.sessionId ?? '', user: t.userId, state: stateText(t.stateDelta), match: matchText(t.match),
  delivery: t.deliveryId ?? '', description: t.description ?? '',
});

/** The body of the request that changes a trigger to a draft. What the draft does not have is reset, but for the secret. */
export function patchOf(d: Draft, of: Trigger): Record<string, unknown> {
  const { name: _, ...body } = requestOf(d, of.userId);
  const patch: Record<string, unknown> = { message: null, sessionId: null, deliveryId: null, description: null, events: null, match: null, stateDelta: null, ...body };
  const before = draftOf(of);
  // What is not edited stays as it is: the form may not show all of it, such as long numbers.
  const members = { message: 'message', session: 'sessionId', delivery: 'deliveryId', description: 'description', events: 'events', match: 'match', state: 'stateDelta' } as const;
  for (const [field, member] of Object.entries(members)) if (d[field as keyof typeof members] === before[field as keyof typeof members]) delete patch[member];
  if (d.check !== of.check) Object.assign(patch, { header: null, query: null, issuer: null, ...(d.check !== 'google' && { audience: null, email: null }) });
  return patch;
}

/** Whether a draft has what its check needs. The server checks the rest. */
export function complete(d: Draft, of?: Trigger): boolean {
  if (readState(d.state) === undefined || readMatch(d.match) === undefined) return false;
  if (d.check === 'google') return d.audience.trim() !== '' && d.email.trim() !== '';
  return !showsSecret(d.check) || d.secret.trim() !== '' || d.check === of?.check;
}
