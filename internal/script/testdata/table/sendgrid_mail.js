import client from "@sendgrid/client";
import mail from "@sendgrid/mail";
import { agent, url } from "./lib/agent.js";

const run = async () => {
  client.setApiKey("SG.x");
  client.setDefaultRequest("baseUrl", url);
  mail.setClient(client);
  const [answer] = await mail.send({ to: "a@b.co", from: "c@d.co", subject: "s", text: "t" });
  return [answer.statusCode, answer.body.echo.path, answer.body.echo.body];
};

export const rootAgent = agent(run);
