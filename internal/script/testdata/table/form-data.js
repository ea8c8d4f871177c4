import FormData from "form-data";
import { agent } from "./lib/agent.js";

const run = () => {
  const form = new FormData();
  form.setBoundary("b");
  form.append("a", "1");
  form.append("f", Buffer.from("file"), { filename: "f.txt", contentType: "text/plain" });
  return [form.getHeaders(), form.getBuffer().toString(), form.getLengthSync()];
};

export const rootAgent = agent(run);
