import { PassThrough } from "node:stream";
import { ZipArchive } from "archiver";
import { agent } from "./lib/agent.js";

const run = async () => {
  const zip = new ZipArchive({ zlib: { level: 9 } });
  const out = new PassThrough();
  zip.pipe(out);
  zip.append("hello", { name: "a.txt", date: new Date(0) });
  zip.append(Buffer.from("more"), { name: "d/b.txt", date: new Date(0) });
  const [parts] = await Promise.all([(async () => { const all = []; for await (const part of out) all.push(part); return all; })(), zip.finalize()]);
  const bytes = Buffer.concat(parts);
  return [bytes.subarray(0, 4).toString("hex"), bytes.includes("d/b.txt"), zip.pointer() === bytes.length];
};

export const rootAgent = agent(run);
