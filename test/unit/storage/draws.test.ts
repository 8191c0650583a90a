/** Tests draws in a Replay with a journal: few bytes are written, a flush stores all draws, and a kill loses only a limited number of draws. */
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { COUNTS, DRAWN, SLOTS } from "../../../src/base/kinds.ts";
import { type MemoryDirectory, memory } from "../../../src/files/memory.ts";
import { i32, prioritized, type TableOptions } from "../../../src/index.ts";
import { type Durability, Log } from "../../../src/storage/index.ts";
import type { AnyReplay } from "../../support/scenes.ts";
import { again, type Opened } from "./opened.ts";
import { draws, seen } from "./seen.ts";

// The number of slots, whose marks do not fit in a few words.
const SIZE = 300;
/** The number of bytes before the payload of a section. */
const SECTION = 16;
/** The size of the section that ends a group. */
const COMMIT_BYTES = 24;

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

async function filled(dir: MemoryDirectory, durability: Durability, table: Partial<TableOptions> = {}): Promise<Opened> {
  const replay = await again(dir, { spec: { x: i32() }, tables: { t: { maxSize: SIZE, ...table } }, durability });
  const writer = replay.writer({ items: [{ table: "t", length: 1 }] });
  for (let x = 0; x < SIZE; x++) writer.append({ x });
  await replay.flush();
  return replay;
}

const drawn = (replay: AnyReplay, n: number): void => void replay.table("t").sample(n);

/** Opens the directory as it would be after a crash now. */
async function left(dir: MemoryDirectory): Promise<Opened> {
  return again(dir.crash(), { durability: "manual" });
}

/** Returns the draw count of each item by slot, read from a snapshot. */
function countsOf(replay: AnyReplay): number[] {
  const bytes = seen(replay);
  const counts: number[] = [];
  for (let at = 0; at < bytes.length; at += SECTION + bytes.readUInt32LE(at + 8)) {
    if (bytes.readUInt32LE(at) !== SLOTS) continue;
    const each = (bytes.readUInt32LE(at + 8) - 4) / bytes.readUInt32LE(at + SECTION);
    for (let k = 0; k < bytes.readUInt32LE(at + SECTION); k++) counts.push(bytes.readUInt32LE(at + SECTION + 4 + k * each + 16));
  }
  return counts;
}

/** Returns the kinds of sections in a directory, in order. */
function kindsIn(dir: MemoryDirectory): number[] {
  const log = Log.open(dir.crash(), { about: {}, readOnly: true });
  const kinds: number[] = [];
  for (const _ of log.replay((kind) => kinds.push(kind)));
  log.close();
  return kinds;
}

const TABLES = [
  ["uniform", {}],
  ["prioritized", { sampler: prioritized(0.6) }],
] as const;

test.each(TABLES)("a sample call writes one short record, whatever its batch size: %s", async (_, table) => {
  const dir = memory();
  const replay = await filled(dir, "always", table);
  const sizes = [1, 32, 256].map((n) => {
    const { bytes } = replay.journal.stats;
    drawn(replay, n);
    return replay.journal.stats.bytes - bytes - COMMIT_BYTES;
  });
  expect(sizes).toEqual([64, 64, 64]);
  expect(kindsIn(dir).slice(-3)).toEqual([DRAWN, DRAWN, DRAWN]);
});

describe.each(["always", { everyMs: 10 }, { everyMs: 1000 }, { everyMs: 3000 }] as const)("with durability %j", (durability) => {
  const everyMs = Math.max(1000, typeof durability === "object" ? durability.everyMs : 0);

  test("a timer writes counts at most once per second", async () => {
    const dir = memory();
    const replay = await filled(dir, durability);
    const before = kindsIn(dir).length;
    for (let k = 0; k < 50; k++) {
      drawn(replay, 5);
      vi.advanceTimersByTime(everyMs / 10);
    }
    const counts = kindsIn(dir)
      .slice(before)
      .filter((kind) => kind === COUNTS);
    expect(counts.length).toBeGreaterThanOrEqual(4);
    expect(counts.length).toBeLessThanOrEqual(5);
    // Without further draws, everything is stored after a while.
    vi.advanceTimersByTime(everyMs);
    expect(seen(await left(dir)).equals(seen(replay))).toBe(true);
    expect(vi.getTimerCount()).toBe(0);
  });

  test("a loop that blocks timers also writes counts at most once per second", async () => {
    const dir = memory();
    let now = 1e6;
    vi.spyOn(performance, "now").mockImplementation(() => now);
    const replay = await filled(dir, durability);
    const before = kindsIn(dir).length;
    const moments: number[][] = [];
    for (let k = 0; k < 200; k++) {
      now += everyMs / 40;
      drawn(replay, 3);
      moments.push(countsOf(replay));
    }
    const counts = kindsIn(dir)
      .slice(before)
      .filter((kind) => kind === COUNTS);
    expect(counts.length).toBeGreaterThanOrEqual(4);
    expect(counts.length).toBeLessThanOrEqual(5);
    // The interval may be exceeded by a sixteenth before the clock is checked.
    const old = moments[200 - 1 - 40 - 4] as number[];
    const found = countsOf(await left(dir));
    expect(found.every((count, slot) => count >= (old[slot] as number))).toBe(true);
    vi.restoreAllMocks();
  });

  test("a kill loses only recent counts, and the next draws are the same", async () => {
    const dir = memory();
    const replay = await filled(dir, durability);
    drawn(replay, 500);
    vi.advanceTimersByTime(2 * everyMs);
    const known = countsOf(replay);
    for (let k = 0; k < 5; k++) {
      drawn(replay, 100);
      vi.advanceTimersByTime(everyMs / 10);
    }
    const killed = await left(dir);
    const current = countsOf(replay);
    const found = countsOf(killed);
    expect(found).toEqual(known);
    expect(current).not.toEqual(known);
    // A kill before the timer runs loses draws, like all other calls.
    if (typeof durability !== "object" || durability.everyMs < 1000) expect(seen(killed, false).equals(seen(replay, false))).toBe(true);
  });
});

test.each(["always", "manual", { everyMs: 10 }, { everyMs: 1000 }] as const)("all counts are exact after flush and after dispose: %j", async (durability) => {
  const dir = memory();
  const replay = await filled(dir, durability, { sampler: prioritized(0.6) });
  for (let k = 0; k < 20; k++) {
    drawn(replay, 30);
    await replay.flush();
    if (k % 5 === 0) expect(seen(await left(dir)).equals(seen(replay))).toBe(true);
  }
  drawn(replay, 100);
  const twin = seen(replay);
  replay.dispose();
  const reopened = await left(dir);
  expect(seen(reopened).equals(twin)).toBe(true);
  expect(vi.getTimerCount()).toBe(0);
});

test("with manual durability, a kept value is restored with the counts of its moment", async () => {
  const dir = memory();
  const replay = await filled(dir, "manual");
  for (let k = 0; k < 5; k++) {
    drawn(replay, 20);
    replay.journal.keep(k);
    await replay.flush();
    drawn(replay, 20);
    expect(countsOf(await left(dir)).reduce((sum, count) => sum + count, 0)).toBe(40 * k + 20);
  }
});

test("with maxTimesSampled, counts are exact after each call", async () => {
  const dir = memory();
  const replay = await filled(dir, "always", { maxTimesSampled: 4 });
  for (let k = 0; k < 40; k++) {
    drawn(replay, 1 + (k % 9));
    if (k % 10 === 9) expect(seen(await left(dir)).equals(seen(replay))).toBe(true);
  }
  const killed = await left(dir);
  expect(Buffer.compare(draws(killed), draws(replay))).toBe(0);
});

test("counts survive when their segments are released", async () => {
  const dir = memory();
  const replay = (await again(dir, {
    spec: { x: i32() },
    tables: { t: { maxSize: SIZE } },
    durability: "manual",
    segmentBytes: 4096,
  })) as Opened;
  const writer = replay.writer({ items: [{ table: "t", length: 1 }] });
  for (let x = 0; x < SIZE; x++) writer.append({ x });
  for (let k = 0; k < 200; k++) {
    drawn(replay, 40);
    if (k % 7 === 0) replay.table("t").updatePriorities([writer.lastKey("t")], [k]);
    await replay.flush();
    if (k % 40 === 0) expect(seen(await left(dir)).equals(seen(replay))).toBe(true);
  }
  const { bytes, liveBytes, segments } = replay.journal.stats;
  expect(Number.parseInt([...dir.files().keys()].sort().at(-1) as string, 10)).toBeGreaterThan(segments + 5);
  expect(bytes).toBeLessThanOrEqual(2 * liveBytes + 2 * 4096);
  expect(seen(await left(dir)).equals(seen(replay))).toBe(true);
});
