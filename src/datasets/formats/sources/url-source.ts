/** Reads files at URLs in ranges, if the server supports ranges. Otherwise, the whole file is kept in memory. */
import { concat } from "../../../base/bytes.ts";
import type { Fetch } from "../../../base/host.ts";
import { corruptFile, RldsError, unsupportedFile } from "../../model/rlds-error.ts";
import { bytesFile } from "./bytes-source.ts";
import { checkInside, type OpenOptions, type SourceFile, type SourceFolder } from "./source.ts";

export interface UrlOptions {
  readonly signal?: AbortSignal;
  /** A replacement for the runtime's `fetch`, for example to add headers. */
  readonly fetch?: Fetch;
  /** The maximum size in bytes of a file that is kept in memory because its server does not support ranges. */
  readonly maxBytes: number;
}

/** The number of bytes in the first request, which returns a small file completely. */
const FIRST = 1 << 18;

/** Presents the URLs below a base URL as a folder that cannot be listed. */
export function urlFolder(base: URL, options: UrlOptions): SourceFolder {
  return {
    name: base.href,
    async open(path, openOptions) {
      const url = new URL(base);
      const names = checkInside(path, base.href).split("/").map(encodeURIComponent);
      url.pathname = `${base.pathname.replace(/\/$/, "")}/${names.join("/")}`;
      return urlFile(url, options, openOptions);
    },
    async list() {
      return undefined;
    },
  };
}

/** Opens a file. The first request returns its beginning and its size. @throws RldsError NOT_FOUND if the file does not exist · IO if the request fails */
export async function urlFile(url: URL, options: UrlOptions, { grows = false }: OpenOptions = {}): Promise<SourceFile> {
  const name = url.href;
  const response = await request(url, options, [0, FIRST - 1]);
  // An empty file has no valid range.
  if (response.status === 416) {
    await response.body?.cancel();
    return bytesFile(name, new Uint8Array(0));
  }
  if (response.status !== 206) return bytesFile(name, await readBody(response, name, options));
  const range = rangeOf(response);
  // Without a range, the whole file is requested. The header may also be missing because another origin does not expose it to a page.
  if (range === undefined) {
    await response.body?.cancel();
    return bytesFile(name, await readBody(await request(url, options), name, options));
  }
  const { size } = range;
  const { signal } = options;
  let first: Uint8Array | undefined = await readRange(response, { name, at: 0, length: Math.min(FIRST, size), size, grows, signal });
  return {
    name,
    size,
    async read(at, length) {
      if (at + length > size) throw corruptFile({ file: name, offset: size }, `the file ends ${at + length - size} bytes too early`);
      if (first !== undefined && at + length <= first.length) return first.subarray(at, at + length);
      if (length === 0) return new Uint8Array(0);
      return readRange(await request(url, options, [at, at + length - 1]), { name, at, length, size, grows, signal });
    },
    async close() {
      first = undefined;
    },
  };
}

async function request(url: URL, { signal, fetch: fetcher }: UrlOptions, range?: readonly [number, number]): Promise<Response> {
  let response: Response;
  try {
    response = await (fetcher ?? fetch)(url, { signal, headers: range === undefined ? {} : { Range: `bytes=${range[0]}-${range[1]}` } });
  } catch (cause) {
    signal?.throwIfAborted();
    throw new RldsError("IO", `the request failed: ${(cause as Error)?.message}`, { file: url.href }, { cause });
  }
  const empty = response.status === 416 && range?.[0] === 0;
  if (response.ok || empty) return response;
  await response.body?.cancel();
  const isMissing = response.status === 404 || response.status === 410;
  throw new RldsError(isMissing ? "NOT_FOUND" : "IO", `the server answered ${response.status} ${response.statusText}`.trim(), { file: url.href });
}

/** Parses `Content-Range: bytes 0-99/1234`. */
function rangeOf(response: Response): { readonly from: number; readonly to: number; readonly size: number } | undefined {
  const match = /^bytes (\d+)-(\d+)\/(\d+)$/.exec(response.headers.get("Content-Range") ?? "");
  return match === null ? undefined : { from: Number(match[1]), to: Number(match[2]), size: Number(match[3]) };
}

interface Range {
  readonly name: string;
  readonly at: number;
  readonly length: number;
  /** The size of the whole file. */
  readonly size: number;
  /** Whether the file may have grown. */
  readonly grows: boolean;
  readonly signal?: AbortSignal;
}

/** Returns the bytes of a range response. @throws RldsError IO if they are not the requested bytes */
async function readRange(response: Response, { name, at, length, size, grows, signal }: Range): Promise<Uint8Array> {
  const range = rangeOf(response);
  const io = (message: string) => new RldsError("IO", message, { file: name, offset: at });
  const isSame = range?.size === size || (grows && (range?.size ?? 0) > size);
  if (response.status !== 206 || range?.from !== at || range.to !== at + length - 1 || !isSame) {
    await response.body?.cancel();
    throw io(`the server did not send bytes ${at} … ${at + length - 1} of ${size}: the file may have changed`);
  }
  const bytes = await collectBody(response, name, length, signal);
  if (bytes?.length !== length)
    throw io(`the server sent ${bytes === undefined ? "more" : `${bytes.length} bytes`} ${bytes === undefined ? "than" : "instead of"} ${length}`);
  return bytes;
}

/** Reads a whole body of at most `maxBytes`. */
async function readBody(response: Response, name: string, { maxBytes, signal }: UrlOptions): Promise<Uint8Array> {
  const bytes = await collectBody(response, name, maxBytes, signal);
  if (bytes !== undefined) return bytes;
  throw unsupportedFile(
    { file: name },
    `the server does not support range requests, and the file is larger than the ${maxBytes} bytes that maxBytes allows. Increase maxBytes`,
  );
}

/** Reads a body. Returns undefined, without waiting for the rest, if the body exceeds `max` bytes. */
async function collectBody(response: Response, name: string, max: number, signal?: AbortSignal): Promise<Uint8Array | undefined> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  try {
    for (const reader = response.body?.getReader(); reader !== undefined; ) {
      const { done, value } = await reader.read();
      if (done) break;
      size += value.length;
      if (size > max) {
        await reader.cancel();
        return undefined;
      }
      chunks.push(value);
    }
  } catch (cause) {
    signal?.throwIfAborted();
    throw new RldsError("IO", `the response ended early, after ${size} bytes`, { file: name }, { cause });
  }
  return concat(chunks);
}
