// One tool that uses a package: in an agent here, and by itself in Node.js.
import { FunctionTool, LlmAgent } from "@google/adk";

/** A server that answers every request with what it got; see echo in table_test.go. */
export const url = process.env.TABLE_URL;
/** A WebSocket server that sends everything back. */
export const sockets = process.env.TABLE_SOCKETS;
/** A port that nothing listens on. */
export const closed = Number(process.env.TABLE_CLOSED);

/** What a function throws. */
export const failure = async (run) => {
  try {
    await run();
    return "no error";
  } catch (error) {
    return [error.name, error.code, error.message];
  }
};

async function outcome(run) {
  try {
    return { result: JSON.parse(JSON.stringify((await run()) ?? null)) };
  } catch (error) {
    return { error: `${error?.name}: ${error?.message}` };
  }
}

const runs = new WeakMap();

export const agent = (run) => {
  const one = new LlmAgent({ name: "root", model: "m", tools: [tool("use", run)] });
  runs.set(one, run);
  return one;
};

/** One agent with the tools of many, by their names. */
export const together = (agents) =>
  new LlmAgent({ name: "root", model: "m", tools: Object.entries(agents).map(([name, one]) => tool(name, runs.get(one))) });

const tool = (name, run) => new FunctionTool({ name, description: "Uses the package.", execute: () => outcome(run) });
