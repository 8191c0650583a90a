/** Reads a file whose bytes are already in memory. */
import { corruptFile } from "../../model/rlds-error.ts";
import type { SourceFile } from "./source.ts";

export function bytesFile(name: string, source: Uint8Array): SourceFile {
  // `Buffer.slice` returns a view, while `Uint8Array.slice` returns a copy. A plain Uint8Array makes both sources behave alike.
  const bytes = new Uint8Array(source.buffer, source.byteOffset, source.byteLength);
  const readNow = (at: number, length: number) => {
    if (at + length > bytes.length) throw corruptFile({ file: name, offset: bytes.length }, `the file ends ${at + length - bytes.length} bytes too early`);
    return bytes.subarray(at, at + length);
  };
  return {
    name,
    size: bytes.length,
    read: async (at, length) => readNow(at, length),
    readNow,
    async close() {},
  };
}
