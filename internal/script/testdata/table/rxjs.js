import { bufferCount, delay, firstValueFrom, from, map, mergeMap, of, toArray } from "rxjs";
import { agent } from "./lib/agent.js";

const run = () => firstValueFrom(from([3, 1, 2]).pipe(mergeMap((n) => of(n).pipe(delay(n * 200))), map((n) => n * 2), bufferCount(2), toArray()));

export const rootAgent = agent(run);
