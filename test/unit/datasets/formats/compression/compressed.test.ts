/** Tests single files that are compressed with gzip or Zstandard: reading them returns the same data as the original file, within the same limits. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync as gzipBuffer } from "node:zlib";
import { afterAll, describe, expect, it } from "vitest";
import { decompressedFile } from "../../../../../src/datasets/formats/compression/compressed-file.ts";
import { isEndlessTable } from "../../../../../src/datasets/formats/compression/huffman-weights.ts";
import { openRlds } from "../../../../../src/datasets/formats/open.ts";
import type { RldsReader } from "../../../../../src/datasets/formats/reader.ts";
import { bytesFile } from "../../../../../src/datasets/formats/sources/bytes-source.ts";
import { RldsError } from "../../../../../src/datasets/model/rlds-error.ts";
import { openJsonl, openNpz, openParquet } from "../../../../../src/datasets/rlds/index.ts";
import { all, columnsTold } from "../../../../support/columns.ts";
import { TestRandom } from "../../../../support/random.ts";
import { scaled, whole } from "../../../../support/size.ts";
import { dataFolder, fileBytes } from "../../rlds/data.ts";

const folder = mkdtempSync(join(tmpdir(), "reprise-compressed-"));
afterAll(() => rmSync(folder, { recursive: true }));

const gzipSync = (data: Uint8Array | string) => new Uint8Array(gzipBuffer(data));
const extra = (name: string) => fileBytes(dataFolder(`extra/${name}`));
const zstd = (name: string) => fileBytes(dataFolder(`compressed/${name}`));

async function told(reader: RldsReader) {
  try {
    return columnsTold(await all(reader));
  } finally {
    await reader.close();
  }
}

const FILES = ["own.jsonl", "steps.jsonl", "plain.parquet", "d4rl/whole.hdf5", "npz/recorded.npz"] as const;

describe("gzip", () => {
  it.each(FILES)("%s reads like the uncompressed file", async (name) => {
    const path = join(folder, `${name.replace("/", "-")}.gz`);
    writeFileSync(path, gzipSync(extra(name)));
    const [packed, plain] = [(await openRlds(path)) as RldsReader, (await openRlds(dataFolder(`extra/${name}`))) as RldsReader];
    expect([packed.format, packed.stepSpec]).toEqual([plain.format, plain.stepSpec]);
    expect(packed.name).not.toContain(".gz");
    expect(await told(packed)).toEqual(await told(plain));
  });

  it("with several members is read, also by the open function of a format", async () => {
    const lines = extra("own.jsonl");
    const half = lines.indexOf(10, lines.length >> 1) + 1;
    const members = new Blob([gzipSync(lines.subarray(0, half)), gzipSync(new Uint8Array(0)), gzipSync(lines.subarray(half))]);
    const plain = await told(await openJsonl(new Blob([lines])));
    expect(await told(await openJsonl(members))).toEqual(plain);
    await openParquet(new Blob([gzipSync(extra("plain.parquet"))])).then((reader) => reader.close());
    await openNpz(new Blob([gzipSync(extra("npz/recorded.npz"))])).then((reader) => reader.close());
  });

  it("with a wrong checksum, truncated or with a damaged member is rejected", async () => {
    const lines = extra("steps.jsonl");
    const damaged = (change: (bytes: Uint8Array<ArrayBuffer>) => Uint8Array<ArrayBuffer>) => change(gzipSync(lines));
    const set = (at: number) => (bytes: Uint8Array<ArrayBuffer>) => {
      bytes[bytes.length + at] = (bytes[bytes.length + at] as number) ^ 1;
      return bytes;
    };
    const bad = [damaged(set(-6)), damaged(set(-2)), damaged((bytes) => bytes.slice(0, -3)), damaged((bytes) => bytes.slice(0, 60))];
    for (const bytes of bad)
      for (const parts of [[bytes], [bytes, gzipSync(lines)]])
        await expect(openRlds(new Blob(parts))).rejects.toMatchObject({ name: "RldsError", code: "CORRUPT", message: expect.stringMatching(/gzip/) });
  });

  it("of a truncated file is read up to the cut with salvage", async () => {
    const lines = extra("own.jsonl");
    const bytes = gzipSync(lines);
    const reader = await openRlds(new Blob([bytes.subarray(0, bytes.length * 0.8)]), { salvage: true });
    const episodes = await all(reader);
    expect(episodes.length).toBeGreaterThan(0);
    expect(reader.losses?.length).toBeGreaterThan(0);
    await reader.close();
  });

  it("of a tar archive is rejected as an archive", async () => {
    const tar = new Uint8Array(1024);
    tar.set(new TextEncoder().encode("ustar"), 257);
    tar.set(new TextEncoder().encode("steps.jsonl"), 0);
    await expect(openRlds(new File([gzipSync(tar)], "x.tar.gz"))).rejects.toMatchObject({
      code: "UNSUPPORTED",
      file: "x.tar",
      message: expect.stringContaining("a tar archive"),
    });
  });

  it.runIf(whole)("larger than maxBytes is rejected, except for text", async () => {
    const zeros = gzipSync(new Uint8Array(2 ** 24));
    await expect(openRlds(new Blob([zeros]), { maxBytes: 2 ** 20 })).rejects.toMatchObject({
      code: "CORRUPT",
      message: expect.stringMatching(/more than the 1048576 bytes that maxBytes allows/),
    });
    const line = `${JSON.stringify({ obs: [1, 2], action: 0, reward: 1, done: false })}\n`;
    const lines = gzipSync(line.repeat(20_000) + line.replace("false", "true"));
    const reader = await openRlds(new Blob([lines]), { maxBytes: 2 ** 21 });
    let steps = 0;
    for await (const episode of reader) steps += episode.steps.length;
    // The last episode is terminated, so RLDS adds a step of zeros.
    expect(steps).toBe(20_002);
    await reader.close();
  });
});

describe("Zstandard", () => {
  it.each([
    ["own.jsonl.zst", "own.jsonl"],
    ["stream.jsonl.zst", "own.jsonl"],
    ["frames.jsonl.zst", "own.jsonl"],
    ["whole.hdf5.zst", "d4rl/whole.hdf5"],
    ["plain.parquet.zst", "plain.parquet"],
  ])("%s reads like the uncompressed file", async (packed, plain) => {
    const reader = (await openRlds(dataFolder(`compressed/${packed}`))) as RldsReader;
    expect(await told(reader)).toEqual(await told((await openRlds(dataFolder(`extra/${plain}`))) as RldsReader));
  });

  it("rejects files that need more memory than the limits", async () => {
    await expect(openRlds(dataFolder("compressed/bomb.zst"), { maxBytes: 2 ** 20 })).rejects.toMatchObject({
      code: "CORRUPT",
      message: expect.stringContaining("maxBytes"),
    });
    await expect(openRlds(dataFolder("compressed/window.jsonl.zst"))).rejects.toMatchObject({
      code: "CORRUPT",
      message: expect.stringMatching(/needs 1073741824 bytes of memory, more than the maximum of 134217728\. Compress the file again without --long/),
    });
  });

  it("isEndlessTable detects a Huffman table with a symbol that takes no bits", () => {
    // The block has literals of type 3, an accuracy of 5, and a first symbol with all 32 places, stored as the 5 bits of 31 and one more bit.
    const block = Uint8Array.of(2, 0, 0, 4, 0xf0, 0x03, 0, 0, 1);
    expect(isEndlessTable(block)).toBe(true);
    expect(isEndlessTable(Uint8Array.of(2, 0, 0, 4, 0x20, 0x42, 0, 0, 1))).toBe(false);
    expect(isEndlessTable(Uint8Array.of(0, 0, 0, 4, 0xf0, 0x03, 0, 0, 1))).toBe(false);
  });
});

describe("a decompressed file", () => {
  it("returns the same bytes for reads at any offset, forward and backward", async () => {
    const random = new TestRandom(3);
    const bytes = new TextEncoder().encode(Array.from({ length: 200_000 }, (_, i) => `${i},`).join(""));
    const file = (await decompressedFile(bytesFile("x.csv.gz", gzipSync(bytes)), { maxBytes: 2 ** 16 })) as NonNullable<
      Awaited<ReturnType<typeof decompressedFile>>
    >;
    expect([file.name, file.size]).toEqual(["x.csv", bytes.length]);
    const places = Array.from({ length: scaled(60) }, () => random.below(bytes.length));
    const read = await Promise.all(places.map((at) => file.read(at, Math.min(5000, bytes.length - at))));
    for (const [i, at] of places.entries()) expect(Buffer.compare(read[i] as Uint8Array, bytes.subarray(at, at + 5000))).toBe(0);
    await expect(file.read(bytes.length - 1, 2)).rejects.toMatchObject({ code: "CORRUPT" });
    await file.close();
  });
});

it("damaged compressed files either read or throw an RldsError that names the file", async () => {
  const random = new TestRandom(7);
  const counts = { read: 0, refused: 0 };
  const originals = [gzipSync(extra("own.jsonl")), zstd("own.jsonl.zst"), zstd("stream.jsonl.zst"), zstd("frames.jsonl.zst")];
  for (const original of originals)
    for (let i = 0; i < scaled(150); i++) {
      const bytes = original.slice(0, random.below(6) === 0 ? random.below(original.length) : original.length);
      // Half of the changes affect the first bytes, because most errors are possible in heads.
      for (let n = random.below(3); n >= 0 && bytes.length > 0; n--) {
        const at = random.below(random.below(2) === 0 ? Math.min(bytes.length, 40) : bytes.length);
        bytes[at] = (bytes[at] as number) ^ (1 << random.below(8));
      }
      try {
        const reader = await openRlds(new File([bytes], "x"), { maxBytes: 2 ** 22 });
        try {
          await all(reader);
        } finally {
          await reader.close();
        }
        counts.read++;
      } catch (error) {
        expect(error).toBeInstanceOf(RldsError);
        expect((error as RldsError).file).toBe("x");
        counts.refused++;
      }
    }
  expect(counts.refused).toBeGreaterThan(counts.read);
});

it("decompressedFile closes its source with the reader, or after loading it into memory", async () => {
  let closed = 0;
  const source = (name: string) => ({ ...bytesFile(`${name}.gz`, gzipSync(extra(name))), close: async () => void closed++ });
  const text = await decompressedFile(source("own.jsonl"), { maxBytes: 2 ** 20 });
  expect(closed).toBe(0);
  await text?.close();
  expect(closed).toBe(1);
  await decompressedFile(source("plain.parquet"), { maxBytes: 2 ** 20 });
  expect(closed).toBe(2);
});
