import * as yup from "yup";
import { agent } from "./lib/agent.js";

const run = async () => {
  const schema = yup.object({ name: yup.string().required(), age: yup.number().positive().integer(), site: yup.string().url() });
  return [await schema.validate({ name: "a", age: "24" }), await schema.validate({ age: -1, site: "x" }, { abortEarly: false }).catch((e) => e.errors)];
};

export const rootAgent = agent(run);
