import nodemailer from "nodemailer";
import { agent, closed, failure } from "./lib/agent.js";

const run = async () => {
  const mail = { from: "a@b.co", to: "c@d.co", subject: "Grüße", text: "hello", messageId: "<1@b.co>", date: new Date(0), attachments: [{ filename: "a.txt", content: "x" }] };
  const { message } = await nodemailer.createTransport({ streamTransport: true, buffer: true }).sendMail({ ...mail, attachments: [] });
  return [message.toString(), (await failure(() => nodemailer.createTransport({ host: "127.0.0.1", port: closed }).sendMail(mail))).slice(0, 2)];
};

export const rootAgent = agent(run);
