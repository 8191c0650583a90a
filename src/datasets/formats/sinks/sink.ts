/** Where datasets are written to: a folder of the system, one that a page was given, or memory. */

import { mustBe } from "../../../base/error.ts";
import { unsupportedFile } from "../../model/rlds-error.ts";
import { isUrl } from "../sources/source.ts";
import { type DirectoryHandle, handleSink } from "./handle-sink.ts";
import { memoryFolder } from "./memory-folder.ts";
import { nodeSink } from "./node-sink.ts";
import type { SinkFolder } from "./sink-folder.ts";

export type { SinkFile, SinkFolder } from "./sink-folder.ts";

/** A path (in Node, Deno and Bun), a FileSystemDirectoryHandle, a Map of files, which any reader takes, or a folder of one's own. */
export type Sink = string | DirectoryHandle | Map<string, Uint8Array> | SinkFolder;

/** Files by their paths, in memory: give it to a reader. */
export function memorySink(): Map<string, Uint8Array> {
  return new Map();
}

/** A folder, and the file in it that the sink names, if it names one. */
export interface SinkTarget {
  readonly folder: SinkFolder;
  readonly file?: string;
}

/** @param endings of paths that name a file, not a folder @throws TypeError · RldsError UNSUPPORTED for a path where there is no file system */
export async function sinkOf(to: Sink, endings: readonly string[] = []): Promise<SinkTarget> {
  if (typeof to === "string") {
    if (isUrl(to)) throw unsupportedFile({ file: to }, "cannot write to a URL. Use a path, a directory handle or a Map");
    const { path, folder } = await nodeSink(to, endings);
    return path === undefined ? { folder } : { folder, file: path };
  }
  if (to instanceof Map) return { folder: memoryFolder(to) };
  if (typeof (to as DirectoryHandle)?.getDirectoryHandle === "function") return { folder: handleSink(to as DirectoryHandle) };
  if (typeof (to as SinkFolder)?.create === "function") return { folder: to as SinkFolder };
  throw mustBe(TypeError, "to", "a path, a FileSystemDirectoryHandle, a Map or a SinkFolder", to);
}
