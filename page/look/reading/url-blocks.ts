/** Reads a file at a URL synchronously, as HDF5's library requires. Requests block this worker, and blocks are cached. */
import { RldsError, type SourceFile } from "reprise/rlds";

/** The number of bytes per block, because HDF5's library reads small pieces close to each other. Below: the number of cached blocks. */
const BLOCK = 1 << 18;
const KEPT = 256;

type Now = (at: number, length: number) => Uint8Array;

/** Adds `readNow` to a file that lacks this method. Only a worker may block. @param address the address of the file */
export function withReadNow(file: SourceFile, address: string): SourceFile {
  if (file.readNow !== undefined) return file;
  const blocks = new Map<number, Uint8Array>();
  const block = (number: number) => {
    const found = blocks.get(number);
    const bytes = found ?? ranged(file, address, number * BLOCK, Math.min(BLOCK, file.size - number * BLOCK));
    // The most recently used block is last.
    blocks.delete(number);
    blocks.set(number, bytes);
    if (blocks.size > KEPT) blocks.delete(blocks.keys().next().value as number);
    return bytes;
  };
  const readNow: Now = (at, length) => {
    if (length > BLOCK) return ranged(file, address, at, length);
    const bytes = new Uint8Array(length);
    for (let done = 0; done < length; ) {
      const number = Math.floor((at + done) / BLOCK);
      const part = block(number).subarray(at + done - number * BLOCK, at + length - number * BLOCK);
      bytes.set(part, done);
      done += part.length;
    }
    return bytes;
  };
  return { name: file.name, size: file.size, read: (at, length) => file.read(at, length), readNow, close: () => file.close() };
}

function ranged({ name, size }: SourceFile, address: string, at: number, length: number): Uint8Array {
  const wrong = (what: string, cause?: unknown) => new RldsError("IO", what, { file: name, offset: at }, { cause });
  if (at + length > size) throw new RldsError("CORRUPT", `the file ends ${at + length - size} bytes too early`, { file: name, offset: size });
  const request = new XMLHttpRequest();
  request.open("GET", address, false);
  request.responseType = "arraybuffer";
  request.setRequestHeader("Range", `bytes=${at}-${at + length - 1}`);
  try {
    request.send();
  } catch (cause) {
    throw wrong(`the request failed: ${(cause as Error).message}`, cause);
  }
  if (request.status !== 206) throw wrong(`the server answered ${request.status} ${request.statusText}`.trim());
  const bytes = new Uint8Array(request.response as ArrayBuffer);
  if (bytes.length !== length) throw wrong(`the server sent ${bytes.length} bytes instead of ${length}`);
  return bytes;
}
