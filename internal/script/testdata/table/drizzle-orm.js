import { and, eq, gt, sql } from "drizzle-orm";
import { integer, pgTable, QueryBuilder, text } from "drizzle-orm/pg-core";
import { agent } from "./lib/agent.js";

const users = pgTable("users", { id: integer("id").primaryKey(), name: text("name") });
const run = () =>
  new QueryBuilder()
    .select({ id: users.id, upper: sql`upper(${users.name})` })
    .from(users)
    .where(and(eq(users.name, "x"), gt(users.id, 3)))
    .limit(2)
    .toSQL();

export const rootAgent = agent(run);
