/** Serves files of a folder on 127.0.0.1 for tests, with or without range requests, or with a custom response. */
import { readFileSync } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";

export interface FileServer extends AsyncDisposable {
  readonly url: string;
  /** The path and range of each request. */
  readonly asked: string[];
}

/** @param answer responds instead of the files if it returns true */
export async function fileServer(
  root: string,
  ranges: boolean,
  answer: (request: IncomingMessage, response: ServerResponse) => boolean = () => false,
): Promise<FileServer> {
  const asked: string[] = [];
  const server = createServer((request, response) => {
    const { pathname } = new URL(request.url ?? "", "http://localhost");
    asked.push(`${pathname} ${request.headers.range ?? "all"}`);
    if (answer(request, response)) return;
    let bytes: Uint8Array;
    try {
      bytes = readFileSync(join(root, decodeURIComponent(pathname)));
    } catch {
      response.writeHead(404).end();
      return;
    }
    const range = /^bytes=(\d+)-(\d+)$/.exec(request.headers.range ?? "");
    if (!ranges || range === null) {
      response.writeHead(200, { "Content-Length": bytes.length }).end(bytes);
      return;
    }
    const [from, to] = [Number(range[1]), Math.min(Number(range[2]), bytes.length - 1)];
    if (from >= bytes.length) response.writeHead(416, { "Content-Range": `bytes */${bytes.length}` }).end();
    else response.writeHead(206, { "Content-Range": `bytes ${from}-${to}/${bytes.length}` }).end(bytes.subarray(from, to + 1));
  });
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    asked,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((done) => server.close(done));
    },
  };
}
