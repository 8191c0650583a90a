/** Tests TFRecord framing, CRC-32C and reading ahead. */
import { expect, test } from "vitest";
import { crc32c } from "../../../../../src/base/crc32c.ts";
import { bytesFile } from "../../../../../src/datasets/formats/sources/bytes-source.ts";
import { ReadAhead } from "../../../../../src/datasets/formats/sources/read-ahead.ts";
import type { SourceFile } from "../../../../../src/datasets/formats/sources/source.ts";
import { TfRecords } from "../../../../../src/datasets/formats/tfds/tfrecord.ts";
import { joined, crc32c as slow, tfRecord } from "../../../../support/tfrecord.ts";

const BYTES = Uint8Array.from({ length: 300 }, (_, i) => (i * 37 + (i >> 3)) & 255);

test("CRC-32C matches RFC 3720, at every offset and length", () => {
  expect(crc32c(new TextEncoder().encode("123456789"))).toBe(0xe3069283);
  expect(crc32c(new Uint8Array(32))).toBe(0x8a9136aa);
  expect(crc32c(new Uint8Array(32).fill(255))).toBe(0x62a8ab43);
  for (let from = 0; from < 12; from++) {
    for (let to = from; to < 80; to++) {
      const expected = slow(BYTES.subarray(from, to));
      expect([crc32c(BYTES, from, to), crc32c(BYTES.subarray(from, to))]).toEqual([expected, expected]);
    }
  }
});

function records(bytes: Uint8Array, maxBytes = 1000): TfRecords {
  return new TfRecords(bytesFile("a.tfrecord", bytes), { maxBytes });
}

test("a reader returns records one by one, including empty records", async () => {
  const reader = records(joined([tfRecord(BYTES), tfRecord(new Uint8Array(0)), tfRecord(BYTES.subarray(7, 9))]));
  expect(await reader.next()).toEqual(BYTES);
  expect(await reader.next()).toEqual(new Uint8Array(0));
  expect(reader.atEnd).toBe(false);
  await reader.skip();
  expect([reader.offset, reader.atEnd]).toEqual([332, true]);
});

test.each([
  ["a length that the file has no room for", tfRecord(BYTES, 301), 0, /declares 301 bytes, but only 300 are left/],
  ["a length of 64 bits", tfRecord(BYTES, 2n ** 64n - 1n), 0, /declares 18446744073709552000 bytes/],
  ["a damaged length", tfRecord(BYTES).map((byte, i) => (i === 0 ? byte ^ 1 : byte)), 0, /checksum of a record's length/],
  ["damaged data", tfRecord(BYTES).map((byte, i) => (i === 100 ? byte ^ 1 : byte)), 0, /checksum of a record does not match/],
  ["a file that was cut off", tfRecord(BYTES).subarray(0, 200), 0, /truncated/],
  ["a head that was cut off", tfRecord(BYTES).subarray(0, 9), 0, /only 9 are left/],
  ["a second record that is damaged", joined([tfRecord(BYTES), BYTES]), 316, /checksum of a record's length/],
])("%s throws CORRUPT with file and offset", async (_, bytes, offset, message) => {
  const reader = records(bytes);
  const failure = await (async () => {
    for (;;) await reader.next();
  })().catch((error) => error);
  expect(failure).toMatchObject({ name: "RldsError", code: "CORRUPT", file: "a.tfrecord", offset });
  expect(failure.message).toMatch(message);
});

/** Wraps a file and records its reads. */
function noting<T>(file: SourceFile, asked: T[], note: (at: number, length: number) => T): SourceFile {
  return {
    ...file,
    read(at, length) {
      asked.push(note(at, length));
      return file.read(at, length);
    },
  };
}

test("a reader rejects a record larger than maxBytes before it is read", async () => {
  const asked: number[] = [];
  const file = noting(bytesFile("a", tfRecord(BYTES)), asked, (_, length) => length);
  await expect(new TfRecords(file, { maxBytes: 299 }).next()).rejects.toThrow(/300 bytes, more than the 299 that maxBytes allows/);
  expect(asked).toEqual([316]);
});

test("requests the next block early, but never two blocks ahead", async () => {
  const asked: string[] = [];
  const file = noting(bytesFile("a", BYTES), asked, (at, length) => `${at}+${length}`);
  const ahead = new ReadAhead(file, { block: 64 });
  expect(await ahead.read(10)).toEqual(BYTES.subarray(0, 10));
  expect(asked).toEqual(["0+64", "64+64"]);
  expect(await ahead.read(200)).toEqual(BYTES.subarray(10, 210));
  expect(asked).toEqual(["0+64", "64+64", "128+64", "192+64", "256+44"]);
  ahead.skip(60);
  expect(await ahead.read(30)).toEqual(BYTES.subarray(270));
  expect(asked).toHaveLength(5);
  await expect(ahead.read(1)).rejects.toMatchObject({ code: "CORRUPT", file: "a", offset: 300 });
});

test("skipped bytes are not read", async () => {
  const asked: number[] = [];
  const file = noting(bytesFile("a", BYTES), asked, (at) => at);
  const ahead = new ReadAhead(file, { block: 16 });
  await ahead.read(4);
  ahead.skip(200);
  expect(await ahead.read(4)).toEqual(BYTES.subarray(204, 208));
  expect(asked).toEqual([0, 16, 204, 220]);
});

test("a failed read-ahead rejects the read that needs it, and the file is closed", async () => {
  let closed = 0;
  const file = bytesFile("a", BYTES);
  const ahead = new ReadAhead(
    {
      ...file,
      read: async (at, length) => {
        if (at > 0) throw new Error("no more");
        return file.read(at, length);
      },
      close: async () => {
        closed++;
      },
    },
    { block: 64 },
  );
  await ahead.read(64);
  await new Promise((done) => setTimeout(done, 5));
  await expect(ahead.read(1)).rejects.toThrow("no more");
  await ahead.close();
  expect(closed).toBe(1);
});
