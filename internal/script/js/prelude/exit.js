// process.exit in an application: the process is the server's, or has other calls in
// flight.
import { loading } from "../guest.js";

/** What process.exit throws: it ends the call in which it was called, or the loading of the application. */
export class ProcessExit extends Error {
  constructor(code) {
    const effect = loading()
      ? " while the application was loading: that ends the loading, and the server continues"
      : ": here it ends this call, and the server continues";
    super(`process.exit(${code ?? ""}) was called${effect}`);
    this.code = "ERR_PROCESS_EXIT";
    this.exitCode = Number(code ?? 0) || 0;
  }
  get name() {
    return "ProcessExit";
  }
}

/** A file that ends with process.exit is complete when it is run as a program. Its agents are loaded nevertheless. */
export function exit(code, warn) {
  if (!loading() || Number(code ?? 0) !== 0) throw new ProcessExit(code);
  warn("process.exit() has no effect while an application is loading: the server continues, and so does this file");
}
