/** Tests what is on the disk without a flush: after a second, and when the process ends. */
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, describe, expect, test, vi } from "vitest";
import { i32, Replay } from "../../../src/index.ts";
import { PersistentReplayBuffer } from "../../../src/pfrl/index.ts";
import type { Durability, MemoryDirectory } from "../../../src/storage/index.ts";
import { memory } from "../../../src/storage/index.ts";
import { some } from "../../support/size.ts";

const folder = mkdtempSync(join(tmpdir(), "reprise-durability-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
afterEach(() => vi.restoreAllMocks());

interface Kept {
  append(n: number): void;
  close(): void;
}

/** Ways to write to a directory, and functions that return the number of stored steps. */
const KINDS: readonly (readonly [string, (dir: MemoryDirectory, durability?: Durability) => Promise<Kept>, (dir: MemoryDirectory) => Promise<number>])[] = [
  [
    "Replay.open",
    async (dir, durability) => {
      const replay = await Replay.open({ dir, spec: { n: i32() }, tables: { t: { maxSize: 1e5 } }, durability });
      const writer = replay.writer({ items: [{ table: "t", length: 1 }] });
      return { append: (n) => writer.append({ n }), close: () => replay.dispose() };
    },
    async (dir) => {
      const replay = await Replay.open({ dir, durability: "manual" });
      const [table] = Object.values(replay.tables);
      const size = table?.size ?? 0;
      replay.dispose();
      return size;
    },
  ],
  [
    "PersistentReplayBuffer",
    async (dir, durability) => {
      const buffer = new PersistentReplayBuffer(dir, null, { durability });
      return { append: (n) => buffer.append({ state: n, action: 0, reward: 0 }), close: () => buffer.close() };
    },
    async (dir) => {
      const buffer = new PersistentReplayBuffer(dir, null, { durability: "manual" });
      const { length } = buffer;
      buffer.close();
      return length;
    },
  ],
];

describe.each(KINDS)("a loop that blocks timers: %s", (_, open, count) => {
  // The rows contain the milliseconds per call, at first and later.
  test.each([
    [0.001, 0.001],
    [1, 1],
    [30, 30],
    [700, 700],
    [0.01, 100],
    [100, 0.1],
  ])("stores each step on the disk within a second (%s ms per call, then %s ms)", async (first, then) => {
    const dir = memory();
    let now = 1e6 + 0.25;
    vi.spyOn(performance, "now").mockImplementation(() => now);
    const kept = await open(dir);
    const times: number[] = [];
    const steps = (ms: number, n: number) => {
      for (let i = 0; i < n; i++) {
        now += ms;
        kept.append(times.length);
        times.push(now);
      }
    };
    steps(first, 300);
    steps(then, Math.ceil(2500 / then > 5000 ? 5000 : 2500 / then) + 40);
    // Opening fails if nothing has been flushed yet.
    const found = await count(dir.crash()).catch(() => 0);
    // A check may be late by a sixteenth of a second or by the time between two calls.
    const old = times.filter((time) => time < now - 1000 - 63 - then).length;
    expect(found).toBeGreaterThanOrEqual(old);
    if (then < 1) expect(found).toBeLessThan(times.length);
    kept.close();
  });

  test("flushes nothing with manual durability", async () => {
    const dir = memory();
    let now = 1e6;
    vi.spyOn(performance, "now").mockImplementation(() => now);
    const kept = await open(dir, "manual");
    for (let i = 0; i < 40; i++) {
      now += 1000;
      kept.append(i);
    }
    const crashed = dir.crash();
    if (crashed.list().length > 0) expect(await count(crashed).catch(() => 0)).toBe(0);
    kept.close();
  });
});

test.each(some(["exit", "throw"], 1))("a process that ends without a flush has stored everything (%s)", async (how) => {
  for (const what of ["replay", "draws", "pfrl"]) {
    const dir = join(folder, `${what}-${how}`);
    const { status } = spawnSync(process.execPath, [join(import.meta.dirname, "programs/leaver.mjs"), dir, what, how]);
    expect(status).toBe(how === "exit" ? 3 : 1);
    if (what === "pfrl") {
      const buffer = new PersistentReplayBuffer(dir, 100, { durability: "manual" });
      expect(buffer.length).toBe(10);
      buffer.close();
    } else {
      const replay = await Replay.open({ dir });
      const table = replay.table("t" as never);
      expect(table.size).toBe(10);
      const { timesSampled } = table.sample(10, { replacement: false }).info;
      expect([...timesSampled].reduce((sum, times) => sum + times, 0)).toBe(25 + 10);
      replay.dispose();
    }
  }
});
