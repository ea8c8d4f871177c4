// Prints requests as their senders sign them.
import { sign } from '@octokit/webhooks-methods';
import { Webhook } from 'standardwebhooks';
import Stripe from 'stripe';

const [secret, key, body] = process.argv.slice(2);
const now = new Date();

console.log(JSON.stringify({
  github: { 'X-Hub-Signature-256': await sign(secret, body) },
  'standard-webhooks': {
    'Webhook-Id': 'msg_1',
    'Webhook-Timestamp': String(Math.floor(now.getTime() / 1000)),
    'Webhook-Signature': new Webhook(key).sign('msg_1', now, body),
  },
  stripe: { 'Stripe-Signature': new Stripe('sk_test_1').webhooks.generateTestHeaderString({ payload: body, secret }) },
}));
