import express from "express";
import { agent } from "./lib/agent.js";

const run = () => {
  const app = express();
  app.get("/a/:id", (req, res) => res.json(req.params));
  return [typeof app.listen, app.router.stack.map((layer) => layer.route?.path), express.Router().stack.length];
};

export const rootAgent = agent(run);
