/** Tests archives larger than 4 GiB: the reader accepts the 64-bit numbers of the writer. */
import { expect, test } from "vitest";
import { findEntryStart, zipEntries, zipPieces } from "../../../../../src/datasets/formats/npz/zip.ts";
import { ZipWriter } from "../../../../../src/datasets/formats/npz/zip-writer.ts";
import type { StagedFile } from "../../../../../src/datasets/formats/sinks/staging.ts";
import type { SourceFile } from "../../../../../src/datasets/formats/sources/source.ts";

/** Returns a file that pretends to have `before` bytes already, which are not stored. */
function fileAfter(before: number) {
  const chunks: Uint8Array[] = [];
  const sink = {
    bytes: before,
    async write(bytes: Uint8Array) {
      chunks.push(bytes.slice());
      sink.bytes += bytes.length;
    },
  };
  const source = (): SourceFile => {
    const bytes = Buffer.concat(chunks);
    return {
      name: "large.npz",
      size: before + bytes.length,
      async read(at: number, length: number) {
        const all = new Uint8Array(length);
        const from = at - before;
        all.set(bytes.subarray(Math.max(from, 0), from + length), Math.max(-from, 0));
        return all;
      },
      async close() {},
    } as SourceFile;
  };
  return { sink: sink as unknown as StagedFile, source };
}

test.each([0, 2 ** 32 - 40, 2 ** 32 + 5, 2 ** 40])("entries after %d bytes are read back", async (before) => {
  const { sink, source } = fileAfter(before);
  const zip = new ZipWriter(sink);
  const contents = [Uint8Array.of(1, 2, 3), new Uint8Array(5000).fill(7), new Uint8Array(0)];
  for (const [i, content] of contents.entries()) await zip.add(`日本${i}.npy`, [content.subarray(0, 2), content.subarray(2)], i === 1);
  await zip.finish();
  const file = source();
  const entries = await zipEntries(file, 2 ** 30);
  expect(entries.map(({ name, size, method }) => [name, size, method])).toEqual(contents.map(({ length }, i) => [`日本${i}.npy`, length, i === 1 ? 8 : 0]));
  for (const [i, entry] of entries.entries()) {
    expect(await findEntryStart(file, entry)).toBeGreaterThan(before);
    const pieces = [];
    for await (const piece of zipPieces(file, entry)) pieces.push(piece);
    expect(new Uint8Array(Buffer.concat(pieces))).toEqual(contents[i]);
  }
});
