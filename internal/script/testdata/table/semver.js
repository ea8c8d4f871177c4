import semver from "semver";
import { agent } from "./lib/agent.js";

const run = () => [semver.satisfies("1.2.3", "^1.0.0 || >=3"), semver.inc("1.2.3-beta.1", "prerelease"), semver.sort(["2.0.0", "1.10.0", "1.9.0"]), semver.minVersion(">1.2").version];

export const rootAgent = agent(run);
