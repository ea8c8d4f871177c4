// What a form makes of a webhook.
import type { Schemas } from '@parley-run/client';

export type Webhook = Schemas['Webhook'];
export type DeliveryPage = Schemas['WebhookDeliveryPage'];
export type FailedPage = Schemas['FailedDeliveryPage'];

/** The types of events that a receiver can choose from, in words. */
export const events = {
  'run.completed': 'a run is completed',
  'run.waiting': 'a run waits',
  'run.failed': 'a run has failed',
  'run.cancelled': 'a run is cancelled',
  'schedule.missed': 'a schedule was missed',
  'budget.reached': 'a budget is reached',
  'inbox.escalated': 'something has waited too long',
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

/** What a form shows of a webhook. */
export const draftOf = (w: Webhook): Draft => ({
  id: w.id, url: w.url, description: w.description ?? '', events: (Object.keys(events) as EventType[]).filter((type) => w.events.includes(type)),
});

/** The body of the request that changes a webhook to a draft. */
export function patchOf(d: Draft): Record<string, unknown> {
  const { id: _, ...body } = requestOf(d);
  return { description: null, events: null, ...body };
}

/** Whose a delivery is that was given up, in words. */
export function whose(d: FailedPage['deliveries'][number]): string {
  if (d.webhookId) return d.webhookId;
  return { 'webhook-run': 'webhook of a request', a2a: 'push notification of A2A' }[d.kind] ?? d.kind;
}

/** The events of a webhook, in a few words. */
export const wants = (w: Pick<Webhook, 'events'>) => (Object.keys(events).every((type) => w.events.includes(type)) ? 'all events' : w.events.map((type) => events[type as EventType] ?? type).join(', '));
