/**
 * Serves the page and the files of one folder over the loopback interface, to browsers that have the token.
 *
 * - `/…`: the page, which contains no secrets
 * - `/TOKEN/data/index.json`: the list of all files, `[{ path, size }]`
 * - `/TOKEN/data/PATH`: a file, or a range of its bytes
 *
 * Other sites cannot read the files. They do not know the token, and browsers do not let them read responses without CORS headers. A request to a foreign host
 * name that resolves to this machine fails the check of the Host header.
 */
import { createHash, randomBytes, timingSafeEqual } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { RldsError, type SourceFile } from "../../datasets/rlds/index.ts";
import { byteRange, hostsOf, isServable, segmentsOf } from "./request.ts";
import { type Exclusions, type ServedFiles, servedFiles } from "./served-files.ts";

export interface PageServer {
  /** The address to open in a browser. */
  readonly address: string;
  /** The links, folders and files that were not served when the server started. */
  readonly exclusions: Exclusions;
  /** Stops the server and ends all open requests. */
  close(): Promise<void>;
}

export interface PageServerOptions {
  /** The folder of the built page. */
  readonly page: string;
  /** The path of the file or folder to serve. */
  readonly path: string;
  /** The port, or 0 for any free port. */
  readonly port: number;
}

/** The maximum number of bytes that are read from a file at a time. */
const BLOCK = 1 << 20;

const COMMON = {
  "cache-control": "no-store",
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff",
  "x-frame-options": "DENY",
};
/** The content security policy of the page. The page itself sets a stricter policy for its resources, but only a header can forbid embedding in frames. */
const PAGE_POLICY = "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; object-src 'none'";
/** The content security policy of served files. A file may be an HTML document, whose scripts must not run. */
const DATA_POLICY = "default-src 'none'; frame-ancestors 'none'; sandbox";

const TYPES: { readonly [ending: string]: string } = {
  ...{ html: "text/html; charset=utf-8", css: "text/css; charset=utf-8", js: "text/javascript; charset=utf-8", json: "application/json" },
  ...{ svg: "image/svg+xml", png: "image/png", txt: "text/plain; charset=utf-8", wasm: "application/wasm", woff2: "font/woff2" },
};
/** The media types of the files that the page plays or shows by their addresses. All other files are served as plain bytes. */
const DATA_TYPES: { readonly [ending: string]: string } = { mp4: "video/mp4", webm: "video/webm", png: "image/png", jpg: "image/jpeg", jpeg: "image/jpeg" };
const BYTES = "application/octet-stream";

/**
 * Starts the server.
 * @throws RldsError NOT_FOUND if a path does not exist
 * @throws RldsError IO if the folder cannot be listed, or if the port is not available
 */
export async function pageServer({ page, path, port }: PageServerOptions): Promise<PageServer> {
  const [pageFiles, data] = [await servedFiles(page), await servedFiles(path)];
  const { exclusions } = await data.list();
  const token = randomBytes(32).toString("base64url");
  const server = createServer((request, response) => {
    respond(request, response, { pageFiles, data, token, port: (server.address() as AddressInfo).port }).catch((error) => respondWithError(response, error));
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", (cause) => reject(new RldsError("IO", `listening on port ${port} of 127.0.0.1 failed: ${cause.message}`, {}, { cause })));
    server.listen(port, "127.0.0.1", resolve);
  });
  // The file name is encoded twice: once for the path of the data, and once for the hash of the address.
  const from = `/${token}/data/${data.singleFile === undefined ? "" : encodeURIComponent(encodeURIComponent(data.singleFile))}`;
  return {
    address: `http://127.0.0.1:${(server.address() as AddressInfo).port}/#look?from=${from}`,
    exclusions,
    close: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

interface ServerContext {
  readonly pageFiles: ServedFiles;
  readonly data: ServedFiles;
  readonly token: string;
  readonly port: number;
}

async function respond(request: IncomingMessage, response: ServerResponse, { pageFiles, data, token, port }: ServerContext): Promise<void> {
  for (const [name, value] of Object.entries(COMMON)) response.setHeader(name, value);
  const { host, origin } = request.headers;
  const hosts = hostsOf(port);
  if (!hosts.includes(host ?? "")) return respondWithText(response, 403, "This is not the address of this server.");
  if (origin !== undefined && !hosts.includes(origin.replace(/^http:\/\//, ""))) return respondWithText(response, 403, "Other sites may not read this.");
  if (request.method !== "GET" && request.method !== "HEAD") {
    response.setHeader("allow", "GET, HEAD");
    return respondWithText(response, 405, "Only GET and HEAD are answered.");
  }
  const segments = segmentsOf(request.url ?? "");
  if (segments === undefined) return respondWithText(response, 400, "This path cannot name a file.");
  const [first = "", second, ...rest] = segments;
  if (second !== "data" || !isSame(first, token)) return sendPageFile(request, response, pageFiles, segments);
  const site = request.headers["sec-fetch-site"];
  if (site !== undefined && site !== "same-origin" && site !== "none") return respondWithText(response, 403, "Other sites may not read this.");
  response.setHeader("content-security-policy", DATA_POLICY);
  const path = rest.join("/");
  if (path === "index.json" || path === "") return sendListing(request, response, data);
  if (!isServable(rest)) return respondWithText(response, 404, "There is no such file.");
  return sendFile(request, response, await data.open(path), DATA_TYPES[endingOf(path)] ?? BYTES);
}

async function sendPageFile(request: IncomingMessage, response: ServerResponse, files: ServedFiles, segments: readonly string[]): Promise<void> {
  response.setHeader("content-security-policy", PAGE_POLICY);
  const path = segments.join("/") || "index.html";
  if (!isServable(path.split("/"))) return respondWithText(response, 404, "There is no such file.");
  return sendFile(request, response, await files.open(path), TYPES[endingOf(path)] ?? BYTES);
}

async function sendListing(request: IncomingMessage, response: ServerResponse, data: ServedFiles): Promise<void> {
  const text = Buffer.from(JSON.stringify((await data.list()).files));
  response.writeHead(200, { "content-type": "application/json", "content-length": text.length });
  response.end(request.method === "HEAD" ? undefined : text);
}

/** Sends the whole file or the requested range, and closes the file. */
async function sendFile(request: IncomingMessage, response: ServerResponse, file: SourceFile, type: string): Promise<void> {
  try {
    const range = byteRange(request.headers.range, file.size);
    if (range === "none") {
      response.setHeader("content-range", `bytes */${file.size}`);
      return respondWithText(response, 416, "The file has no such bytes.");
    }
    const { from, to } = range ?? { from: 0, to: file.size };
    response.writeHead(range === undefined ? 200 : 206, {
      "accept-ranges": "bytes",
      "content-type": type,
      "content-length": to - from,
      ...(range !== undefined && { "content-range": `bytes ${from}-${to - 1}/${file.size}` }),
    });
    if (request.method === "GET")
      for (let at = from; at < to && !response.destroyed; at += BLOCK) {
        const block = await file.read(at, Math.min(BLOCK, to - at));
        // After the client disconnects, the response never emits a drain event.
        if (!response.write(block) && !response.destroyed) await untilDrained(response);
      }
    response.end();
  } finally {
    await file.close();
  }
}

function untilDrained(response: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      response.off("drain", done).off("close", done);
      resolve();
    };
    response.on("drain", done).on("close", done);
  });
}

/**
 * Responds with status 500 to an IO error or an unexpected error, and with status 404 to any other error of a reader. If the response has already begun, closes
 * the connection.
 */
function respondWithError(response: ServerResponse, error: unknown): void {
  if (response.headersSent) response.destroy();
  else if (error instanceof RldsError && error.code !== "IO") respondWithText(response, 404, "There is no such file.");
  else respondWithText(response, 500, "The file cannot be read.");
}

function respondWithText(response: ServerResponse, status: number, text: string): void {
  response.writeHead(status, { "content-type": "text/plain; charset=utf-8", "content-length": Buffer.byteLength(text) });
  response.end(response.req.method === "HEAD" ? undefined : text);
}

/** Returns whether two texts are equal. The time of the comparison does not reveal how many characters match. */
function isSame(candidate: string, token: string): boolean {
  const [a, b] = [candidate, token].map((text) => createHash("sha256").update(text).digest()) as [Buffer, Buffer];
  return timingSafeEqual(a, b);
}

function endingOf(path: string): string {
  return /\.([a-z0-9]+)$/i.exec(path)?.[1]?.toLowerCase() ?? "";
}
