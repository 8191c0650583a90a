/** Opens the targets to which datasets are written, which are folders in the file system, folders to which a page has access, or memory. */

import { mustBe } from "../../../base/error.ts";
import { unsupportedFile } from "../../model/rlds-error.ts";
import { isUrl } from "../sources/source.ts";
import { type DirectoryHandle, handleSink } from "./handle-sink.ts";
import { memoryFolder } from "./memory-folder.ts";
import { nodeSink } from "./node-sink.ts";
import type { SinkFolder } from "./sink-folder.ts";

export type { SinkFile, SinkFolder } from "./sink-folder.ts";

/** The target of a writer: a path (in Node, Deno and Bun), a FileSystemDirectoryHandle, a custom folder, or a Map of files. Any reader accepts such a Map. */
export type Sink = string | DirectoryHandle | Map<string, Uint8Array> | SinkFolder;

/** Returns an empty map of files by path, for writers that write to memory. Readers accept this map. */
export function memorySink(): Map<string, Uint8Array> {
  return new Map();
}

/** A folder. If the target is a single file, `file` is its name in the folder. */
export interface SinkTarget {
  readonly folder: SinkFolder;
  readonly file?: string;
}

/**
 * Opens the target of a writer. @param endings the endings of paths that name a file
 * @throws TypeError if the value is not a target · RldsError UNSUPPORTED if it is a URL, or a path without a file system
 */
export async function sinkOf(to: Sink, endings: readonly string[] = []): Promise<SinkTarget> {
  if (typeof to === "string") {
    if (isUrl(to)) throw unsupportedFile({ file: to }, "Reprise cannot write to a URL. Use a path, a directory handle or a Map");
    const { path, folder } = await nodeSink(to, endings);
    return path === undefined ? { folder } : { folder, file: path };
  }
  if (to instanceof Map) return { folder: memoryFolder(to) };
  if (typeof (to as DirectoryHandle)?.getDirectoryHandle === "function") return { folder: handleSink(to as DirectoryHandle) };
  if (typeof (to as SinkFolder)?.create === "function") return { folder: to as SinkFolder };
  throw mustBe(TypeError, "to", "a path, a FileSystemDirectoryHandle, a Map or a SinkFolder", to);
}
