import Stripe from "stripe";
import { agent, failure, url } from "./lib/agent.js";

const run = async () => {
  const at = new URL(url);
  const stripe = new Stripe("sk_test_1", { host: at.hostname, port: at.port, protocol: "http", maxNetworkRetries: 0, telemetry: false });
  const made = await stripe.customers.create({ email: "a@b.co", metadata: { k: "v" } });
  const payload = '{"id":"evt_1","object":"event"}';
  const header = stripe.webhooks.generateTestHeaderString({ payload, secret: "whsec_x" });
  return [made.echo.path, made.echo.body, stripe.webhooks.constructEvent(payload, header, "whsec_x").id, (await failure(() => stripe.webhooks.constructEvent(payload, header, "whsec_y")))[0]];
};

export const rootAgent = agent(run);
