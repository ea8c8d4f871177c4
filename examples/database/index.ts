// An agent that answers from a Postgres database, over the npm package pg.
import { readFileSync } from "node:fs";
import { FunctionTool, LlmAgent } from "@google/adk";
import pg from "pg";
import { z } from "zod";

const pool = new pg.Pool({
  connectionString: process.env.SHOP_DATABASE_URL ?? "postgres://postgres:postgres@127.0.0.1:5432/postgres",
  max: 4,
});
// The server may close a connection that is not in use.
pool.on("error", (error) => console.warn("a connection was lost", error.message));

// The example data is stored when it is first needed. The lock lets one server do it.
let ready: Promise<void> | undefined;
async function fill() {
  const client = await pool.connect();
  try {
    await client.query("BEGIN");
    await client.query("SELECT pg_advisory_xact_lock(7304)");
    const { rows } = await client.query("SELECT to_regclass('shop.orders') IS NOT NULL AS there");
    if (!rows[0].there) await client.query(readFileSync(new URL("./shop.sql", import.meta.url), "utf8"));
    await client.query("COMMIT");
  } catch (error) {
    await client.query("ROLLBACK").catch(() => {});
    throw error;
  } finally {
    client.release();
  }
}

// Whatever a model writes, it is executed in a transaction that only reads, that ends
// soon, and whose result is small.
const mostRows = 50;
async function read(sql: string, values: unknown[] = []) {
  ready ??= fill().catch((error) => {
    ready = undefined; // try again next time
    throw error;
  });
  await ready;
  const client = await pool.connect();
  try {
    await client.query("BEGIN READ ONLY");
    await client.query("SET LOCAL statement_timeout = '5s'; SET LOCAL search_path = shop");
    // The extended protocol takes one statement: none can end the transaction and go on.
    const { rows } = await client.query({ text: sql, values, queryMode: "extended" });
    return { rows: rows.slice(0, mostRows), more: rows.length > mostRows };
  } finally {
    await client.query("ROLLBACK").catch(() => {});
    client.release();
  }
}

const listTables = new FunctionTool({
  name: "list_tables",
  description: "Lists the tables of the shop with their columns.",
  execute: async () => {
    const { rows } = await read(
      `SELECT table_name AS table, string_agg(column_name || ' ' || data_type, ', ' ORDER BY ordinal_position) AS columns
       FROM information_schema.columns WHERE table_schema = 'shop' GROUP BY table_name ORDER BY table_name`,
    );
    return { tables: rows };
  },
});

const findOrders = new FunctionTool({
  name: "find_orders",
  description: "Finds the orders of a customer.",
  parameters: z.object({ customer: z.string().describe("the name of the customer") }),
  execute: async ({ customer }) => {
    const { rows } = await read(
      `SELECT o.id, p.name AS product, o.quantity, (o.quantity * p.price)::float AS total, o.ordered::text
       FROM orders o JOIN products p ON p.id = o.product JOIN customers c ON c.id = o.customer
       WHERE c.name ILIKE $1 ORDER BY o.id`,
      [customer],
    );
    return rows.length > 0 ? { orders: rows } : { status: "error", error_message: `There is no order of ${customer}.` };
  },
});

const runQuery = new FunctionTool({
  name: "run_query",
  description: `Executes a SELECT statement, and returns at most ${mostRows} rows. Look at the tables first.`,
  parameters: z.object({ sql: z.string().describe("one SELECT statement of Postgres") }),
  execute: async ({ sql }) => {
    try {
      return await read(sql);
    } catch (error) {
      // The model can correct its statement. What is not about the statement fails the call.
      if (!(error instanceof pg.DatabaseError)) throw error;
      return { status: "error", error_message: error.message };
    }
  },
});

export const rootAgent = new LlmAgent({
  name: "database",
  model: "gemini-2.5-flash",
  description: "Answers questions about a shop from its database.",
  instruction: `You answer questions about a shop. Use find_orders for the orders of one customer. For anything else, look at
the tables with list_tables, then write a statement for run_query. Say the numbers that you found, not how you found them.`,
  tools: [listTables, findOrders, runQuery],
});
