import { BSON, MongoClient, ObjectId } from "mongodb";
import { agent, closed, failure } from "./lib/agent.js";

const run = async () => {
  const bytes = BSON.serialize({ a: 1, b: "x", c: [true, null], d: new Date(0), e: new ObjectId("507f1f77bcf86cd799439011") });
  const client = new MongoClient(`mongodb://127.0.0.1:${closed}`, { serverSelectionTimeoutMS: 100 });
  return [Buffer.from(bytes).toString("hex"), BSON.deserialize(bytes), (await failure(() => client.connect())).slice(0, 1)];
};

export const rootAgent = agent(run);
