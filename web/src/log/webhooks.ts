// What a form makes of a webhook.
import type { Schemas } from '@parley-run/client';

export type Webhook = Schemas['Webhook'];
export type DeliveryPage = Schemas['WebhookDeliveryPage'];

/** The types of events that a receiver can choose from, in words. */
export const events = {
  'run.completed': 'a run is completed',
  'run.waiting': 'a run waits',
  'run.failed': 'a run has failed',
  'run.cancelled': 'a run is cancelled',
  'schedule.missed': 'a schedule was missed',
  'budget.reached': 'a budget is reached',
  'inbox.escalated': 'something has waited for long',
} as const;

export type EventType = keyof typeof events;

export interface Draft {
  id: string;
  url: string;
  description: string;
  events: EventType[];
}

export const complete = (d: Draft) => d.url.trim() !== '' && d.events.length > 0;

/** The body of the request that creates a webhook. All events are those to come, too. */
export function requestOf(d: Draft): Record<string, unknown> {
  const body: Record<string, unknown> = { url: d.url.trim() };
  if (d.id.trim()) body['id'] = d.id.trim();
  if (d.description.trim()) body['description'] = d.description.trim();
  if (d.events.length < Object.keys(events).length) body['events'] = d.events;
  return body;
}

/** The events of a webhook, in a few words. */
export const wants = (w: Pick<Webhook, 'events'>) => (Object.keys(events).every((type) => w.events.includes(type)) ? 'all events' : w.events.join(', '));
