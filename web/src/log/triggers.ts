// What a form makes of a trigger.
import type { Schemas } from '@parley-run/client';

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
}

/** Whether the sender shows its secret, so that it has to be typed in. */
export const showsSecret = (check: Check) => check === 'slack' || check === 'stripe';

/** The body of the request that creates a trigger. */
export function requestOf(d: Draft, user: string): Record<string, unknown> {
  const body: Record<string, unknown> = { check: d.check, userId: user };
  const google = d.check === 'google';
  const texts = { name: d.name, secret: google ? '' : d.secret, audience: google ? d.audience : '', email: google ? d.email : '', message: d.message, sessionId: d.session };
  for (const [name, text] of Object.entries(texts)) if (text.trim()) body[name] = text.trim();
  const events = d.events.split(/[\s,]+/).filter(Boolean);
  if (events.length > 0) body['events'] = events;
  return body;
}

/** Whether a draft has what its check needs. The server checks the rest. */
export function complete(d: Draft): boolean {
  if (d.check === 'google') return d.audience.trim() !== '' && d.email.trim() !== '';
  return !showsSecret(d.check) || d.secret.trim() !== '';
}
