// node-fetch, over the fetch that is built in, for agents that do not install it.
class FetchError extends Error {
  name = "FetchError";
  constructor(message, type, cause) {
    super(message, { cause });
    this.type = type;
    if (cause?.code) this.code = this.errno = cause.code;
  }
}

class AbortError extends Error {
  name = "AbortError";
  type = "aborted";
}

async function nodeFetch(url, init) {
  let response;
  try {
    response = await fetch(url, init);
  } catch (error) {
    if (error?.name === "AbortError") throw new AbortError("The operation was aborted.");
    if (!error?.cause) throw error;
    throw new FetchError(`request to ${url?.url ?? url} failed, reason: ${error.cause.message}`, "system", error.cause);
  }
  return Object.defineProperty(response, "buffer", { value: async () => Buffer.from(await response.arrayBuffer()) });
}

const isRedirect = (code) => [301, 302, 303, 307, 308].includes(code);

// It is the function itself in version 2, and the default export in version 3.
module.exports = Object.assign(nodeFetch, { AbortError, Blob, FetchError, File, FormData, Headers, Request, Response, isRedirect, default: nodeFetch });
Object.defineProperty(module.exports, "__esModule", { value: true });
