/**
 * Opens files that have correct checksums but packed frames that the core did not write. Each file must be rejected as CORRUPT, or open as a consistent Replay,
 * without a trap or a hang.
 */
import { describe, expect, test } from "vitest";
import { crc32c } from "../../../src/base/crc32c.ts";
import { ENTRIES, FREE, POOLS, ROWS } from "../../../src/base/kinds.ts";
import { openReplay } from "../../../src/datasets/rlds/index.ts";
import { type MemoryDirectory, memory } from "../../../src/files/memory.ts";
import { packed, prioritized, Replay, ReplayError, type Table, u8, uniform } from "../../../src/index.ts";
import { Log } from "../../../src/storage/log/log.ts";
import { broken } from "../../support/health.ts";
import { Pictures } from "../../support/pictures.ts";
import { TestRandom } from "../../support/random.ts";
import { bytesOf, errorOf, expectError } from "../../support/refused.ts";
import type { AnyReplay } from "../../support/scenes.ts";
import { scaled } from "../../support/size.ts";

/** Frames whose size is not a multiple of 64 or 8 bytes, so that a patch could extend past the end. */
const FRAME = 323;
const SPEC = { a: packed("f", u8(17, 19), 2), b: packed("g", u8(16, 16)), x: u8() };
const OPTIONS = {
  spec: SPEC,
  tables: { t: { maxSize: 14, remover: uniform() }, u: { maxSize: 5, sampler: prioritized(0.6) } },
  seed: 5,
  // The limit is low, so that a row number in the millions is rejected quickly.
  maxBytes: 2 ** 24,
  logger: null,
} as const;

/** Matches the accepted codes. A number in the billions would need more memory than allowed. */
const REFUSED = /^(CORRUPT|OUT_OF_MEMORY)$/;

type Section = { readonly kind: number; readonly id: number; payload: Buffer };

/** Fills a Replay with key frames, chained patches, incompressible noise, and freed rows. */
function fill(replay: AnyReplay): AnyReplay {
  const random = new TestRandom(4);
  const [screens, others] = [new Pictures(FRAME, 19, random), new Pictures(256, 16, random)];
  const writer =
    replay.writers[0] ??
    replay.writer({
      items: [
        { table: "t", length: 2 },
        { table: "u", length: 1 },
      ],
      keep: 4,
    });
  let frames: Uint8Array[] = [screens.next(), screens.next()];
  for (let x = 0; x < 60; x++) {
    frames = [frames[1] as Uint8Array, x % 9 === 4 ? Uint8Array.from({ length: FRAME }, () => random.below(256)) : screens.next()];
    writer.append({ a: new Uint8Array(frames.flatMap((frame) => [...frame])), b: others.next(), x } as never);
  }
  return replay;
}

function sectionsOf(bytes: Buffer): Section[] {
  const found: Section[] = [];
  for (let at = 8; at < bytes.length; ) {
    const length = bytes.readUInt32LE(at + 8);
    found.push({ kind: bytes.readUInt32LE(at), id: bytes.readUInt32LE(at + 4), payload: Buffer.from(bytes.subarray(at + 16, at + 16 + length)) });
    at += 16 + length;
  }
  return found;
}

function joined(sections: readonly Section[]): Buffer {
  return Buffer.concat([
    Buffer.from("REPRISE1"),
    ...sections.flatMap(({ kind, id, payload }) => {
      const head = Buffer.alloc(16);
      head.writeUInt32LE(kind, 0);
      head.writeUInt32LE(id, 4);
      head.writeUInt32LE(payload.length, 8);
      head.writeUInt32LE(crc32c(Buffer.concat([head.subarray(0, 12), payload])), 12);
      return [head, payload];
    }),
  ]);
}

interface Entry {
  number: number;
  base: number;
  depth: number;
  bytes: Buffer;
}

function entriesOf(payload: Buffer): Entry[] {
  const found: Entry[] = [];
  for (let at = 4; at + 12 <= payload.length; ) {
    const word = payload.readUInt32LE(at + 8);
    const size = word & 0xffffff;
    found.push({
      number: payload.readUInt32LE(at),
      base: payload.readUInt32LE(at + 4),
      depth: word >>> 24,
      bytes: Buffer.from(payload.subarray(at + 12, at + 12 + size)),
    });
    at += 12 + size;
  }
  return found;
}

function payloadOf(entries: readonly Entry[]): Buffer {
  const parts = entries.flatMap(({ number, base, depth, bytes }) => {
    const head = Buffer.alloc(12);
    head.writeUInt32LE(number, 0);
    head.writeUInt32LE(base, 4);
    head.writeUInt32LE((bytes.length | (depth << 24)) >>> 0, 8);
    return [head, bytes];
  });
  const length = Buffer.alloc(4);
  length.writeUInt32LE(parts.reduce((sum, part) => sum + part.length, 0));
  return Buffer.concat([length, ...parts]);
}

const GOOD = bytesOf(fill(new Replay(OPTIONS) as unknown as AnyReplay));

/** Checks that a Replay is consistent: it can be saved, drawn from, and continued. */
function expectWhole(replay: AnyReplay): void {
  expect(broken(replay)).toEqual([]);
  const bytes = bytesOf(replay);
  expect(bytesOf(Replay.restore(bytes, { logger: null }) as unknown as AnyReplay).equals(bytes)).toBe(true);
  for (const table of Object.values(replay.tables)) if (table.size > 0) (table as unknown as Table).sample(table.size, { replacement: false });
  fill(replay);
  for (const table of Object.values(replay.tables)) if (table.size > 0) (table as unknown as Table).sample(8);
  expect(broken(replay)).toEqual([]);
  for (const table of Object.values(replay.tables)) table.clear();
  expect(broken(replay)).toEqual([]);
  replay.dispose();
}

/** Checks that a rejection is one of our errors with a code. */
function mustBeRefusal(error: unknown): void {
  if (!(error instanceof ReplayError)) throw error;
  expect(error.code, error.stack).toMatch(REFUSED);
}

/** Returns whether a snapshot is rejected. An accepted snapshot must open as a consistent Replay. */
function isRefused(bytes: Buffer): boolean {
  let replay: AnyReplay;
  try {
    replay = Replay.restore(bytes, { logger: null }) as unknown as AnyReplay;
  } catch (error) {
    mustBeRefusal(error);
    return true;
  }
  expectWhole(replay);
  return false;
}

/** Returns the snapshot with its entries changed. */
function withEntries(change: (entries: Entry[]) => unknown): Buffer {
  const sections = sectionsOf(GOOD);
  const section = sections.find(({ kind, id }) => kind === ENTRIES && id === 0) as Section;
  const entries = entriesOf(section.payload);
  const changed = change(entries);
  section.payload = payloadOf(Array.isArray(changed) ? changed : entries);
  return joined(sections);
}

describe("entries of a snapshot with repaired checksums", () => {
  const entries = entriesOf((sectionsOf(GOOD).find(({ kind, id }) => kind === ENTRIES && id === 0) as Section).payload);
  const [patch, key, raw] = [
    entries.find(({ base }) => base !== 0),
    entries.find(({ base, bytes }) => base === 0 && bytes.length < FRAME),
    entries.find(({ bytes }) => bytes.length === FRAME),
  ].map((entry) => entries.indexOf(entry as Entry)) as [number, number, number];
  const deepest = Math.max(...entries.map(({ base, depth }) => (base === 0 ? 0 : depth)));
  const unused = Array.from({ length: entries.length + 2 }, (_, i) => i + 1).find((number) => entries.every((entry) => entry.number !== number)) as number;
  const frames = 2;
  const rows = (sectionsOf(GOOD).find(({ kind, id }) => kind === ROWS && id === frames) as Section).payload;
  /** The places where the rows of frames refer to their entries. */
  const places = Array.from({ length: rows.readUInt32LE(0) }, (_, i) => 4 + 12 * i + 8);
  /** Returns entries of frames: a key, and patches without changes, each based on the previous entry. The other entries have no base. */
  const chainOf = (list: readonly Entry[], count: number) => {
    const chain = places.slice(0, count).map((place) => rows.readUInt32LE(place));
    return list.map((entry) => {
      const depth = chain.indexOf(entry.number);
      if (depth <= 0) return { ...entry, base: 0, depth: 1, bytes: Buffer.alloc(FRAME, entry.number) };
      return { ...entry, base: chain[depth - 1] as number, depth, bytes: Buffer.alloc(1) };
    });
  };
  const at = (list: readonly Entry[], index: number) => list[index] as Entry;
  const set = (list: readonly Entry[], index: number, part: Partial<Entry>) => void Object.assign(at(list, index), part);

  test("exist in every form, and restore unchanged", () => {
    expect(Math.min(patch, key, raw)).toBeGreaterThanOrEqual(0);
    expect(deepest).toBeGreaterThan(2);
    expect(joined(sectionsOf(GOOD)).equals(GOOD)).toBe(true);
    expect(withEntries(() => undefined).equals(GOOD)).toBe(true);
    expect(isRefused(GOOD)).toBe(false);
  });

  test.each<[string, (list: Entry[]) => unknown]>([
    ["a patch whose base was never written", (list) => set(list, patch, { base: unused })],
    ["a base above the highest number", (list) => set(list, patch, { base: 1000 })],
    ["a base that no pool can have", (list) => set(list, patch, { base: 0xffffffff })],
    ["a patch on itself", (list) => set(list, patch, { base: at(list, patch).number })],
    [
      "a circle",
      (list) => {
        const own = at(list, patch);
        const base = list.find(({ number }) => number === own.base) as Entry;
        base.base = own.number;
        base.depth = own.depth + 1;
      },
    ],
    ["a key that is declared as a patch", (list) => set(list, key, { base: at(list, raw).number })],
    ["a patch that is declared as a key", (list) => set(list, patch, { base: 0 })],
    ...[0, 8, 15, 16, 255].map(
      (depth) => [`a patch ${depth} deep`, (list: Entry[]) => set(list, patch, { depth: depth })] as [string, (list: Entry[]) => void],
    ),
    ["a chain of 9", (list) => chainOf(list, 9)],
    ["a key with a depth", (list) => set(list, key, { depth: 1 })],
    ["a frame as it is without a count", (list) => set(list, raw, { depth: 0 })],
    ["a frame as it is with a base", (list) => set(list, raw, { base: at(list, key).number })],
    ["an entry without bytes", (list) => set(list, key, { bytes: Buffer.alloc(0) })],
    ["a patch without bytes", (list) => set(list, patch, { bytes: Buffer.alloc(0) })],
    ["a key with a byte less", (list) => set(list, key, { bytes: at(list, key).bytes.subarray(1) })],
    ["a key with a byte more", (list) => set(list, key, { bytes: Buffer.concat([at(list, key).bytes, Buffer.alloc(1)]) })],
    ["a patch with a byte less", (list) => set(list, patch, { bytes: at(list, patch).bytes.subarray(0, -1) })],
    ["a patch with a byte more", (list) => set(list, patch, { bytes: Buffer.concat([at(list, patch).bytes, Buffer.alloc(1)]) })],
    ["a frame that is larger", (list) => set(list, raw, { bytes: Buffer.alloc(FRAME + 1) })],
    // The frame has 6 stretches, the last of 3 bytes. The patch has a group after it, and a byte after the frame.
    ["a patch that extends beyond the frame", (list) => set(list, patch, { bytes: Buffer.from([0b100000, 0b10, 1, 7]) })],
    ["a patch of a byte beyond the frame", (list) => set(list, patch, { bytes: Buffer.from([0b100000, 1, 0b1000, 7]) })],
    ["a patch of a stretch beyond the frame", (list) => set(list, patch, { bytes: Buffer.from([0b1000000, 1, 1, 7]) })],
    ["a patch whose stretch has no groups", (list) => set(list, patch, { bytes: Buffer.from([1, 0]) })],
    ["a patch whose group has no bytes", (list) => set(list, patch, { bytes: Buffer.from([1, 1, 0]) })],
    ["a match before the frame", (list) => set(list, key, { bytes: Buffer.from([0x1f, 9, 2, 0, 255, 34]) })],
    ["a match from nowhere", (list) => set(list, key, { bytes: Buffer.from([0x1f, 9, 0, 0, 255, 34]) })],
    ["entries that are missing", (list) => list.filter((_, i) => i !== key)],
    ["no entries", () => []],
    ["a number that no pool can have", (list) => set(list, key, { number: 0 })],
    ["a number of billions", (list) => set(list, key, { number: 0xfffffff0 })],
  ])("throw CORRUPT with %s", (_, change) => {
    expectError(
      errorOf(() => Replay.restore(withEntries(change))),
      "CORRUPT",
    );
  });

  test("restore as a consistent Replay with a chain of 8 patches", () => {
    expect(isRefused(withEntries((list) => chainOf(list, 8)))).toBe(false);
  });

  test("restore as a consistent Replay with a changed but valid patch", () => {
    expect(isRefused(withEntries((list) => set(list, patch, { bytes: Buffer.from([0b100000, 1, 0b100, 7]) })))).toBe(false);
  });

  test("are rejected with an additional entry that no frame references", () => {
    const more = withEntries((list) => [...list, { number: unused, base: 0, depth: 1, bytes: Buffer.alloc(FRAME, 3) }]);
    // The number of the entry is no longer among the free numbers.
    expect(isRefused(more)).toBe(true);
  });

  const edited = (kind: number, id: number, change: (payload: Buffer) => void): Buffer => {
    const sections = sectionsOf(GOOD);
    const section = sections.find((one) => one.kind === kind && one.id === id) as Section;
    change(section.payload);
    return joined(sections);
  };

  test("can be shared by two frames", () => {
    const both = edited(ROWS, frames, (payload) => void payload.writeUInt32LE(payload.readUInt32LE(4 + 8), 4 + 12 + 8));
    expect(isRefused(both)).toBe(false);
    // A patch still holds the entry of the second frame, so nothing is missing.
    const second = places.find((place) => entries.some(({ base }) => base === rows.readUInt32LE(place))) as number;
    expect(isRefused(edited(ROWS, frames, (payload) => void payload.writeUInt32LE(entries[raw]?.number as number, second)))).toBe(false);
  });

  test.each([0, 1000, 0xffffffff])("throw CORRUPT for a frame with entry number %i", (number) => {
    expectError(
      errorOf(() => Replay.restore(edited(ROWS, frames, (payload) => void payload.writeUInt32LE(number, 4 + 8)))),
      "CORRUPT",
    );
  });

  test("are rejected if a section is missing or belongs to another pool", () => {
    const sections = sectionsOf(GOOD);
    for (const [kind, id] of [
      [ENTRIES, 0],
      [ENTRIES, 1],
      [ROWS, frames],
      [FREE, 0],
      [POOLS, 0],
    ] as const) {
      const place = sections.findIndex((one) => one.kind === kind && one.id === id);
      expect(place).toBeGreaterThanOrEqual(0);
      expect(isRefused(joined(sections.filter((_, i) => i !== place))), `${kind} ${id} left out`).toBe(true);
      for (const other of [0, 1, 2, 3, 4, 5, 99])
        if (other !== id)
          expect(isRefused(joined(sections.map((one, i) => (i === place ? { ...one, id: other } : one)))), `${kind} ${id} as ${other}`).toBe(true);
    }
    // An entry is not a row, and vice versa.
    for (const [from, kind, id] of [
      [ENTRIES, ROWS, 0],
      [ROWS, ENTRIES, frames],
    ] as const) {
      const place = sections.findIndex((one) => one.kind === from && one.id === id);
      expect(isRefused(joined(sections.map((one, i) => (i === place ? { ...one, kind } : one))))).toBe(true);
    }
  });

  test("are rejected after random changes, or restore as a consistent Replay", () => {
    const random = new TestRandom(7);
    let [refused, accepted] = [0, 0];
    const kinds = [ENTRIES, ENTRIES, ENTRIES, ROWS, FREE, POOLS];
    for (let n = 0; n < scaled(800, 90); n++) {
      const sections = sectionsOf(GOOD);
      for (let k = random.below(3); k >= 0; k--) {
        const kind = random.pick(kinds);
        const section = random.pick(sections.filter((one) => one.kind === kind));
        alter(section, random);
      }
      if (isRefused(joined(sections))) refused++;
      else accepted++;
    }
    expect(refused).toBeGreaterThan(10);
    expect(accepted).toBeGreaterThan(10);
  });
});

/** Changes bytes, numbers, or whole entries of a section. */
function alter(section: Section, random: TestRandom): void {
  const { payload } = section;
  const dice = random.below(8);
  const list = section.kind === ENTRIES ? entriesOf(payload) : [];
  if (list.length > 0 && dice < 5) {
    const [one, other] = [random.pick(list), random.pick(list)] as const;
    if (dice === 0) one.base = random.pick([0, other.number, one.number, random.below(2 ** 31)]);
    else if (dice === 1) one.depth = random.below(random.pick([4, 16, 256]));
    else if (dice === 2) one.bytes = Buffer.from(other.bytes);
    else if (dice === 3) one.number = random.pick([other.number, random.below(list.length * 2)]);
    else for (let n = random.below(4); n >= 0 && one.bytes.length > 0; n--) one.bytes.writeUInt8(random.below(256), random.below(one.bytes.length));
    section.payload = payloadOf(list);
  } else if (dice === 5 && payload.length >= 8) {
    payload.writeUInt32LE(random.pick([0, 1, random.below(80), 0xffffffff, 0x7fffffff]), 4 * random.below(payload.length >> 2));
  } else if (dice === 6) {
    section.payload = payload.subarray(0, random.below(payload.length + 1));
  } else if (payload.length > 0) payload.writeUInt8(random.below(256), random.below(payload.length));
}

describe("a journal with packed frames and repaired checksums", () => {
  async function journal(retain: object): Promise<{ readonly about: object; readonly groups: readonly Section[][] }> {
    const dir = memory();
    const replay = (await Replay.open({ ...OPTIONS, ...retain, dir, durability: "always" } as never)) as unknown as AnyReplay & { flush(): Promise<void> };
    fill(replay);
    await replay.flush();
    replay.dispose();
    const log = Log.open(dir, { about: {}, readOnly: true });
    const groups = new Map<number, Section[]>();
    for (const _ of log.replay((kind, id, payload, _segment, position) => {
      const group = groups.get(position.group) ?? [];
      group.push({ kind, id, payload: Buffer.from(payload) });
      groups.set(position.group, group);
    }));
    const { about } = log;
    log.close();
    return { about, groups: [...groups.values()] };
  }

  function written(about: object, groups: readonly Section[][]): MemoryDirectory {
    const dir = memory();
    const log = Log.open(dir, { about, durability: "manual" });
    for (const _ of log.replay(() => {}));
    for (const group of groups) {
      for (const { kind, id, payload } of group) log.write(kind, id, payload);
      log.commit();
    }
    log.flush();
    log.close();
    return dir;
  }

  test.each([
    ["gives space back", {}],
    ["retains everything", { retain: "all" }],
  ])("is rejected after random changes, or opens as a consistent Replay, if it %s", async (_, retain) => {
    const { about, groups } = await journal(retain);
    expectWhole((await Replay.open({ dir: written(about, groups), logger: null })) as unknown as AnyReplay);
    const random = new TestRandom(11);
    let [refused, accepted, read] = [0, 0, 0];
    for (let n = 0; n < scaled(250, 15); n++) {
      const copy = groups.map((group) => group.map((section) => ({ ...section, payload: Buffer.from(section.payload) })));
      // The contents of steps and items are checked only in salvaged journals.
      const sections = copy.flat().filter(({ kind, id }) => kind === ENTRIES || (kind === ROWS && id < 4));
      for (let k = random.below(2); k >= 0; k--) alter(random.pick(random.below(3) > 0 ? sections.filter(({ kind }) => kind === ENTRIES) : sections), random);
      const dir = written(about, copy);
      const files = dir.files();
      try {
        expectWhole((await Replay.open({ dir, logger: null, salvage: random.below(2) === 0 })) as unknown as AnyReplay);
        accepted++;
      } catch (error) {
        mustBeRefusal(error);
        refused++;
      }
      try {
        const reader = await openReplay(files);
        for await (const { steps } of reader) for (const step of steps) if ((step as { observation: object }).observation !== undefined) read++;
        await reader.close();
      } catch (error) {
        mustBeRefusal(error);
      }
    }
    expect(refused).toBeGreaterThan(3);
    expect(accepted).toBeGreaterThan(3);
    expect(read).toBeGreaterThan(100);
  });
});
