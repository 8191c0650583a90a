/** Tests the debug core: its assertions fail for invalid calls, report their place and cause, and hold under a random load. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { Exports } from "../../src/base/abi.ts";
import { f32, i32, lifo, maxHeap, minSize, prioritized, Replay, sampleToInsertRatio, shared, uniform } from "../../src/index.ts";
import { coreOf, moduleOf, root } from "../support/core.ts";
import { broken } from "../support/health.ts";
import { TestRandom } from "../support/random.ts";
import { some } from "../support/size.ts";
import { debugCore, trapOf } from "../support/trap.ts";

/** Returns the place of an assertion in the source, which the trap must name. */
function place(file: string, message: string): { line: number; column: number; message: string } {
  const lines = readFileSync(join(root, "assembly", file), "utf8").split("\n");
  const line = lines.findIndex((text) => text.includes(`"${message}"`));
  return { line: line + 1, column: (lines[line] ?? "").indexOf("assert(") + 1, message };
}

/** Creates a pool of 8-byte steps, a writer that keeps 4 steps, and a table with one item of three steps. */
function threeSteps(x: Exports) {
  const alloc = (bytes: number) => x.arena_alloc(bytes);
  const pool = alloc(x.pool_bytes(1));
  x.pool_init(pool, 8, 1);
  x.pool_leaf(pool, 0, 0, 6, 4, 0, 0, 1, 0);
  x.pool_open(pool);
  const writer = alloc(x.writer_bytes(1, 0, 4));
  x.writer_init(writer, pool, 1, 0, 4, 0, 0, 0);
  const stream = x.writer_stream(writer, 0);
  const table = alloc(x.table_bytes(4, 0, 3, 1));
  x.table_init(table, pool, 4, 0, 3, 1);
  x.table_exponents(table, 1, 1);
  const scratch = alloc(64);
  new Float64Array(x.memory.buffer, scratch).set(Object.values(minSize()));
  x.table_limits(table, Number.POSITIVE_INFINITY, 0, scratch);
  for (let i = 0; i < 3; i++) x.writer_append(writer, scratch);
  x.table_insert(table, stream, 3, 0, 1);
  x.table_item(table, x.table_newest(table), scratch);
  const u32 = new Uint32Array(x.memory.buffer);
  const row = new Float64Array(x.memory.buffer)[scratch >> 3] as number;
  // The row's head (HEAD in assembly/rows/row.ts) contains refs, next and episode.
  const head = ((row >>> 10) << 12) + (row & 1023) * 12;
  return { pool, stream, writer, table, scratch, u32, head };
}

test.for(["debug", "release", "scalar"] as const)("checksum tables are between the header and the arena of the %s core", (target) => {
  const x = coreOf(target);
  const header = () => new Uint8Array(x.memory.buffer).slice(0, 1024);
  const at = x.arena_alloc(64);
  expect(at).toBeGreaterThanOrEqual(1024 + 8192);
  const before = header();
  expect(x.crc32c(0, at, 64)).not.toBe(0);
  expect(header()).toEqual(before);
  expect(new Uint8Array(x.memory.buffer, at, 64).every((byte) => byte === 0)).toBe(true);
  expect(x.arena_check()).toBe(0);
});

describe("an assertion of the debug core", () => {
  test("fails if arena_free gets a run that was not allocated", () => {
    const x = debugCore();
    expect(trapOf(x, () => x.arena_free(4100, 8))).toEqual(place("memory/arena.ts", "frees only runs that were allocated"));
    expect(trapOf(x, () => x.arena_free(1 << 24, 4096))).toEqual(place("memory/arena.ts", "frees only runs that were allocated"));
  });

  test("fails if a run of an item lost a link", () => {
    const x = debugCore();
    const { stream, table, u32, head } = threeSteps(x);
    u32[(head + 4) >> 2] = 0;
    expect(trapOf(x, () => x.table_insert(table, stream, 3, 0, 1))).toEqual(place("rows/run.ts", "a run is linked to its end"));
  });

  test("fails if a row is released more often than it is held", () => {
    const x = debugCore();
    const { table, u32, head } = threeSteps(x);
    u32[head >> 2] = 0;
    expect(trapOf(x, () => x.table_clear(table))).toEqual(place("rows/pool.ts", "a row is released at most as often as it is held"));
  });

  test("fails if an episode loses an item that it does not have", () => {
    const x = debugCore();
    const { table, u32, scratch, head } = threeSteps(x);
    u32[(head + 8) >> 2] = 77;
    new Float64Array(x.memory.buffer)[scratch >> 3] = x.table_newest(table);
    expect(trapOf(x, () => x.table_delete(table, scratch, 1))).toEqual(place("tables/episodes.ts", "an episode loses no more items than it has"));
  });

  test("has a place, unlike other traps, and trapOf throws if a call does not trap", () => {
    const x = debugCore();
    expect(trapOf(x, () => x.stream_length(0x7fffffff))).toEqual({ line: 0, column: 0, message: "" });
    expect(() => trapOf(x, () => x.arena_used())).toThrow("was to trap");
  });

  test("does not exist in the release core, where the same call continues", () => {
    const x = coreOf("release");
    const { table, u32, head } = threeSteps(x);
    u32[head >> 2] = 0;
    expect(() => x.table_clear(table)).not.toThrow();
  });
});

describe("the debug core under a random load", () => {
  const spec = { observation: shared("frame", f32(6)), nextObservation: shared("frame", f32(6)), action: i32(), reward: f32() };
  const tables = {
    ring: { maxSize: 40 },
    per: { maxSize: 33, sampler: prioritized(0.6, { withMin: true }), remover: prioritized(-1), maxTimesSampled: 3 },
    heap: { maxSize: 17, sampler: maxHeap(), remover: lifo() },
    rated: { maxSize: 25, sampler: uniform(), rateLimiter: sampleToInsertRatio(2, 4, 12), maxPending: 5, maxSteps: 60 },
  };
  type Name = keyof typeof tables;
  const names = Object.keys(tables) as Name[];

  /** Returns a digest of all results, and checks every invariant after each call. */
  function run(module: WebAssembly.Module, seed: number): string {
    const replay = new Replay({ spec, tables, module, seed, maxBytes: 16 << 20 });
    const random = new TestRandom(seed);
    const items = [
      { table: "ring" as const, length: 2 },
      { table: "per" as const, length: 1, priority: 0.3 },
    ];
    const writers = [replay.writer({ keep: 6, items }), replay.writer({ keep: 3 }), replay.writer({ keep: 4, items })];
    let digest = 17;
    const note = (value: number) => {
      digest = (Math.imul(digest, 31) + Math.floor(value * 1000)) | 0;
    };
    let frame = 0;
    let known = 0;
    const observe = (k: number) => Float32Array.from({ length: 6 }, (_, i) => Math.floor(k / 3) + i);
    for (let i = 0; i < 3000; i++) {
      const writer = random.pick(writers);
      const name = random.pick(names);
      const table = replay.table(name);
      const kind = random.below(10);
      try {
        if (kind < 5) writer.append({ observation: observe(frame), nextObservation: observe(++frame), action: i, reward: random.next() });
        else if (kind === 5) writer.createItem(name, { length: 1 + random.below(4), priority: random.next() });
        else if (kind === 6) writer.endEpisode();
        else if (kind === 7) {
          const batch = table.sample(1 + random.below(9), { replacement: random.below(2) === 0 });
          for (let k = 0; k < batch.count; k++) {
            known = batch.info.keys[k] as number;
            note(known);
          }
          if (batch.count > 0)
            note(
              table.updatePriorities(
                batch.info.keys.slice(0, batch.count),
                Array.from({ length: batch.count }, () => random.next()),
              ),
            );
        } else if (kind === 8 && random.below(4) === 0) note(table.delete([known, i]));
        else note(table.size);
      } catch (error) {
        // The call was rejected because the window is too short or too many items are waiting.
        if (!(error instanceof RangeError) && (error as { code?: string }).code !== "RATE_LIMITED") throw error;
        note(1);
      }
      if (i % 25 === 0) expect(broken(replay)).toEqual([]);
    }
    expect(broken(replay)).toEqual([]);
    for (const table of Object.values(replay.tables)) for (const count of Object.values(table.stats())) if (typeof count === "number") note(count);
    replay.dispose();
    return String(digest);
  }

  test.for(some([1, 2, 3], 1))("breaks no assertion or invariant, and equals the release core (seed %i)", (seed) => {
    expect(run(moduleOf("debug"), seed)).toBe(run(moduleOf("release"), seed));
  });
});
