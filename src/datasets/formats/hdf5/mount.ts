/**
 * Mounts a file in the file system of the library. This file system contains no other user files, so references from the file to other files cannot be
 * followed.
 */
import { corruptFile, unsupportedFile } from "../../model/rlds-error.ts";
import type { SourceFile } from "../sources/source.ts";
import { heapsIn, isWalkable } from "./global-heap.ts";
import { type FileNode, freePath, type Library } from "./h5wasm.ts";

/** A function that reads synchronously from any place in the file. It returns fewer bytes only at the end of the file. */
type ReadNow = (at: number, length: number) => Uint8Array;

/** A mounted file. */
export interface Mount {
  readonly path: string;
  /** The error of a failed read. It is stored here, because an exception must not pass through the code of the library. */
  failure?: unknown;
  unmount(): void;
}

const EIO = 29;

/** Mounts a file under an unused path. @param bytes reads the bytes that the library requests */
export function mount(library: Library, { name: file, size }: SourceFile, bytes: ReadNow): Mount {
  const directories = new Set<number>();
  const { FS } = library as unknown as { FS: Library["FS"] & { ErrnoError: new (code: number) => Error } };
  const path = freePath(FS, "/reprise-", ".hdf5");
  const node: FileNode = FS.createFile("/", path.slice(1), {}, true, false);
  const mount: Mount = {
    path,
    unmount() {
      node.usedBytes = 0;
      FS.unlink(path);
    },
  };
  node.usedBytes = size;
  node.stream_ops = {
    ...node.stream_ops,
    read(_stream: unknown, buffer: Uint8Array, offset: number, length: number, position: number): number {
      const readLength = Math.max(0, Math.min(length, size - position));
      if (readLength === 0) return 0;
      try {
        const read = bytes(position, readLength);
        for (const at of heapsIn(read)) {
          if (!directories.has(position + at) && !isWalkable(position + at, size, bytes))
            throw corruptFile({ file, offset: position + at }, "the global heap, which stores strings and bytes, is damaged");
          directories.add(position + at);
        }
        buffer.set(read, offset);
        return readLength;
      } catch (error) {
        mount.failure = error;
        throw new FS.ErrnoError(EIO);
      }
    },
  };
  return mount;
}

/** The maximum number of bytes that are loaded into memory at a time. */
const CHUNK_BYTES = 2 ** 23;

/**
 * Returns a function that reads synchronously from the file or, if the runtime cannot do that, from a copy of the file in memory. @throws RldsError UNSUPPORTED
 * if the copy would exceed maxBytes
 */
export async function readNow(file: SourceFile, maxBytes: number, signal?: AbortSignal): Promise<ReadNow> {
  if (file.readNow !== undefined) return file.readNow;
  if (file.size > maxBytes) {
    const rule = `this runtime can read HDF5 only from memory, but the file has ${file.size} bytes, more than the ${maxBytes} that maxBytes allows`;
    throw unsupportedFile({ file: file.name }, `${rule}. Increase maxBytes, open the file in a worker, or open its path in Node`);
  }
  const all = new Uint8Array(file.size);
  for (let at = 0; at < all.length; at += CHUNK_BYTES) {
    signal?.throwIfAborted();
    all.set(await file.read(at, Math.min(CHUNK_BYTES, all.length - at)), at);
  }
  return (at, length) => all.subarray(at, at + length);
}
