import { expect, test } from "vitest";
import { crc32c } from "../../src/base/crc32c.ts";
import { TABLE, WRITERS } from "../../src/base/kinds.ts";
import { Replay, ReplayError, u8 } from "../../src/index.ts";
import { TestRandom } from "../support/random.ts";
import { bytesOf, errorOf, expectError } from "../support/refused.ts";
import { SCENES } from "../support/scenes.ts";
import { scaled, some } from "../support/size.ts";

/** The offset of the first free slot in a table's record (assembly/persistence/table.ts). */
const FREE_FIRST = 80;

function sceneBytes(name: string): Buffer {
  const { make, act } = SCENES[name] as (typeof SCENES)[string];
  const replay = make();
  const random = new TestRandom(3);
  for (let i = 0; i < 150; i++) act(replay, random);
  return bytesOf(replay);
}

/** Returns the start offset of each section, and the end of the last section. */
function borders(bytes: Buffer): number[] {
  const found: number[] = [];
  for (let at = 8; at < bytes.length; at += 16 + bytes.readUInt32LE(at + 8)) found.push(at);
  return [...found, bytes.length];
}

const refusalOf = (bytes: Uint8Array) => errorOf(() => Replay.restore(bytes)) as ReplayError;

test("a snapshot that is empty, cut, extended or of another format throws CORRUPT", () => {
  const bytes = sceneBytes("fifo over fifo");
  for (const source of [new Uint8Array(0), [], bytes.subarray(0, 3), bytes.subarray(0, 8), Buffer.from("not a snapshot, but long enough")]) {
    expectError(
      errorOf(() => Replay.restore(source)),
      "CORRUPT",
      /^the snapshot /,
    );
  }
  expectError(refusalOf(Buffer.concat([bytes, Buffer.from([0])])), "CORRUPT", /follow the end/);
  expectError(refusalOf(Buffer.concat([bytes, bytes])), "CORRUPT", /follow the end/);
  expectError(refusalOf(Buffer.concat([bytes.subarray(0, 8), bytes])), "CORRUPT");
});

test("a snapshot of another version throws UNSUPPORTED with that version", () => {
  const bytes = Buffer.from(sceneBytes("fifo over fifo"));
  bytes.write("REPRISE2");
  expectError(refusalOf(bytes), "UNSUPPORTED", /must begin with REPRISE1, got "REPRISE2"/, /the version of Reprise that wrote it/);
  bytes.write("RPRSNAQ1");
  expectError(refusalOf(bytes), "CORRUPT", /RPRSNAQ1/);
});

test.each(some(["items that wait", "several writers and lanes", "shared and wide leaves"], 1))("a snapshot that is cut anywhere throws CORRUPT: %s", (name) => {
  const bytes = sceneBytes(name);
  const cuts = new Set(borders(bytes).flatMap((at) => [at - 1, at, at + 16]));
  const random = new TestRandom(8);
  for (let i = 0; i < 15; i++) cuts.add(random.below(bytes.length));
  for (const cut of cuts) if (cut >= 0 && cut < bytes.length) expectError(refusalOf(bytes.subarray(0, cut)), "CORRUPT", /truncated or altered/);
});

test("a missing or repeated section throws CORRUPT", () => {
  const bytes = sceneBytes("prioritized over fifo");
  const at = borders(bytes);
  const sections = at.slice(1).map((end, i) => bytes.subarray(at[i], end));
  const magic = bytes.subarray(0, 8);
  expect(sections.length).toBeGreaterThan(6);
  for (let i = 0; i < sections.length; i++) {
    expectError(refusalOf(Buffer.concat([magic, ...sections.filter((_, k) => k !== i)])), "CORRUPT");
    const twice = sections.flatMap((section, k) => (k === i ? [section, section] : [section]));
    expectError(refusalOf(Buffer.concat([magic, ...twice])), "CORRUPT");
  }
});

test.each(some(["uniform over lifo", "maxHeap over uniform", "items that wait", "several writers and lanes", "shared and wide leaves"], 2))(
  "one altered bit throws CORRUPT, or UNSUPPORTED if it changes the version: %s",
  (name) => {
    const bytes = Buffer.from(sceneBytes(name));
    const random = new TestRandom(9);
    const heads = borders(bytes)
      .slice(0, -1)
      .flatMap((at) => [0, 4, 8, 11, 12, 16].map((k) => at + k));
    const places = new Set([0, 1, 2, 3, 4, 5, 6, 7, ...some(heads, 12), ...Array.from({ length: scaled(60) }, () => random.below(bytes.length))]);
    for (const at of places) {
      const bit = 1 << random.below(8);
      bytes.writeUInt8(bytes.readUInt8(at) ^ bit, at);
      const error = refusalOf(bytes);
      expect(error, `byte ${at}: ${error.message}`).toBeInstanceOf(ReplayError);
      expect(error.code, `byte ${at}: ${error.message}`).toMatch(at === 7 ? /^UNSUPPORTED$/ : /^CORRUPT$/);
      bytes.writeUInt8(bytes.readUInt8(at) ^ bit, at);
    }
    expect(bytesOf(Replay.restore(bytes)).equals(bytes)).toBe(true);
  },
);

test("a free list that contains a used slot throws CORRUPT despite a correct checksum", () => {
  const bytes = Buffer.from(sceneBytes("prioritized over fifo"));
  const at = borders(bytes).find((from) => bytes.readUInt32LE(from) === TABLE) as number;
  const payload = bytes.subarray(at + 16, at + 16 + bytes.readUInt32LE(at + 8));
  // The first free slot follows the table's counts and the highest slot ever used; slot 1 has a live item.
  expect(payload.readUInt32LE(FREE_FIRST)).toBe(0);
  payload.writeUInt32LE(1, FREE_FIRST);
  bytes.writeUInt32LE(crc32c(Buffer.concat([bytes.subarray(at, at + 12), payload])), at + 12);
  expectError(refusalOf(bytes), "CORRUPT", /is inconsistent: table 0, invariant 8/);
});

test("a length that is greater than memory throws CORRUPT", () => {
  const options = { spec: u8(800), tables: { t: { maxSize: 400 } } };
  const replay = new Replay({ ...options, maxBytes: Replay.plan(options).bytes });
  const writer = replay.writer({ items: [{ table: "t", length: 1 }] });
  for (let i = 0; i < 400; i++) writer.append(new Uint8Array(800).fill(i));
  const bytes = bytesOf(replay);
  for (const at of borders(bytes).slice(0, -1)) {
    for (const bit of some([0, 9, 17, 18, 19, 20, 31], 2)) {
      const altered = Buffer.from(bytes);
      altered.writeUInt32LE((altered.readUInt32LE(at + 8) ^ (1 << bit)) >>> 0, at + 8);
      expectError(refusalOf(altered), "CORRUPT", /truncated or altered at byte \d+/);
    }
  }
});

test("two writers with one name throw CORRUPT despite a correct checksum", () => {
  const replay = new Replay({ spec: u8(), tables: {}, logger: null });
  for (const name of ["first", "other"]) replay.writer({ name });
  const bytes = bytesOf(replay);
  const at = borders(bytes).find((border) => bytes.readUInt32LE(border) === WRITERS) as number;
  const payload = bytes.subarray(at + 16, at + 16 + bytes.readUInt32LE(at + 8));
  payload.write("first", payload.indexOf("other"));
  bytes.writeUInt32LE(crc32c(Buffer.concat([bytes.subarray(at, at + 12), payload])), at + 12);
  expectError(refusalOf(bytes), "CORRUPT", /is inconsistent: the name "first" is not unique/);
});
