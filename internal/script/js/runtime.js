// The start of every application: the globals that agents expect, the protocol with
// Go, and the description of the application.
import "./prelude/index.js";
import { serve } from "./guest.js";
import { describeApp } from "./adk/define.js";

export { useZod } from "./adk/schema.js";

export function start(exports) {
  serve(() => describeApp(exports));
}
