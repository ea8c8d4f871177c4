import { BigQuery } from "@google-cloud/bigquery";
import { agent } from "./lib/agent.js";

const run = () => [
  BigQuery.date("2026-01-02").value,
  BigQuery.timestamp(new Date(0)).value,
  new BigQuery({ projectId: "p" }).dataset("d").table("t").id,
  BigQuery.valueToQueryParameter_(5),
];

export const rootAgent = agent(run);
