import { createClient } from "@supabase/supabase-js";
import { agent, url } from "./lib/agent.js";

const run = async () => {
  const client = createClient(url, "key", { auth: { persistSession: false }, realtime: { transport: class {} } });
  const { data, error } = await client.from("t").select("a,b").eq("a", 1).order("b").limit(3);
  return [data.echo.path, data.echo.query, error];
};

export const rootAgent = agent(run);
