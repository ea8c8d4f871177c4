// The files that the Gemini API keeps for requests.
import fs from "../node/fs.cjs";
import path from "../node/path.cjs";
import { unsupported } from "../adk/names.js";
import { fileName } from "./request.js";

const pieceSize = 8 << 20;

const types = Object.fromEntries(
  Object.entries({
    "application/json": "json",
    "application/pdf": "pdf",
    "application/msword": "doc",
    "application/vnd.openxmlformats-officedocument.presentationml.presentation": "pptx",
    "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet": "xlsx",
    "application/vnd.openxmlformats-officedocument.wordprocessingml.document": "docx",
    "application/xml": "xml",
    "application/zip": "zip",
    "audio/aac": "aac",
    "audio/mpeg": "mp3",
    "audio/ogg": "oga ogg",
    "audio/opus": "opus",
    "audio/wav": "wav",
    "image/gif": "gif",
    "image/jpeg": "jpg jpeg",
    "image/png": "png",
    "image/svg+xml": "svg",
    "image/webp": "webp",
    "text/css": "css",
    "text/csv": "csv",
    "text/html": "htm html",
    "text/javascript": "js mjs",
    "text/markdown": "md",
    "text/plain": "txt",
    "video/mp4": "mp4",
    "video/mpeg": "mpeg",
    "video/webm": "webm",
  }).flatMap(([type, endings]) => endings.split(" ").map((ending) => [ending, type])),
);

export class Files {
  #connection;

  constructor(connection) {
    this.#connection = connection;
    for (const name of ["list", "download", "registerFiles"]) {
      Object.defineProperty(this, name, { value: unsupported(`GoogleGenAI.files.${name}`, "call the service with fetch") });
    }
  }

  #refuseVertex() {
    if (this.#connection.vertex) throw new Error("Vertex AI does not keep files: give the model a fileData with the address of an object in Cloud Storage");
  }

  /** Uploads a file of the application's directory, or a Blob. */
  async upload({ file, config = {} }) {
    this.#refuseVertex();
    const isPath = typeof file === "string";
    const blob = isPath ? new Blob([await fs.promises.readFile(file)], { type: types[path.extname(file).slice(1).toLowerCase()] ?? "" }) : file;
    const mimeType = config.mimeType ?? blob.type;
    if (!mimeType) throw new Error("the type of the file is not known: give mimeType in the config");
    const name = config.name && !config.name.startsWith("files/") ? `files/${config.name}` : config.name;
    const named = isPath && { "X-Goog-Upload-File-Name": path.basename(file) };
    const start = {
      apiVersion: "",
      headers: {
        "X-Goog-Upload-Protocol": "resumable",
        "X-Goog-Upload-Command": "start",
        "X-Goog-Upload-Header-Content-Length": String(blob.size),
        "X-Goog-Upload-Header-Content-Type": mimeType,
        ...named,
        ...config.httpOptions?.headers,
      },
    };
    const body = { file: { mimeType, name, displayName: config.displayName, sizeBytes: String(blob.size) } };
    const response = await this.#connection.send("POST", "upload/v1beta/files", { body, http: start, signal: config.abortSignal });
    await response.bytes();
    const url = response.headers.get("x-goog-upload-url");
    if (!url) throw new Error("the service did not answer with the address for the upload");
    return this.#send(blob, named, this.#near(url), config.abortSignal);
  }

  // The address is that of the service, also behind a proxy.
  #near(address) {
    const url = new URL(address);
    const base = new URL(this.#connection.baseUrl);
    url.protocol = base.protocol;
    url.host = base.host;
    url.port = base.port;
    return url.href;
  }

  async #send(blob, named, baseUrl, signal) {
    for (let offset = 0; ; offset += pieceSize) {
      const last = offset + pieceSize >= blob.size;
      const headers = { ...named, "X-Goog-Upload-Command": last ? "upload, finalize" : "upload", "X-Goog-Upload-Offset": String(offset) };
      const response = await this.#connection.send("POST", "", { body: blob.slice(offset, offset + pieceSize), http: { apiVersion: "", baseUrl, headers }, signal });
      const answer = await response.text();
      const status = response.headers.get("x-goog-upload-status");
      if (last && status === "final") return JSON.parse(answer).file;
      if (last || status !== "active") throw new Error(`the upload ended at byte ${offset} with the status ${status}`);
    }
  }

  async get({ name, config }) {
    this.#refuseVertex();
    const response = await this.#connection.send("GET", `files/${fileName(name)}`, { http: config?.httpOptions, signal: config?.abortSignal });
    return response.json();
  }

  async delete({ name, config }) {
    this.#refuseVertex();
    return this.#connection.call("DELETE", `files/${fileName(name)}`, { body: {}, http: config?.httpOptions, signal: config?.abortSignal });
  }
}
