/** Tests two rules of a writer that create items for the same table. */
import { describe, expect, test } from "vitest";
import { f32, queueLimiter, Replay, uniform } from "../../src/index.ts";
import { broken } from "../support/health.ts";

const spec = { a: f32() };

/** Returns a full table whose oldest items have one step each, and a writer with two rules for it. */
function full() {
  const replay = new Replay({ spec, tables: { t: { maxSize: 40, sampler: uniform() } } });
  const first = replay.writer({ items: [{ table: "t", length: 1 }] });
  for (let a = 0; a < 100; a++) first.append({ a });
  const writer = replay.writer({
    items: [
      { table: "t", length: 1 },
      { table: "t", length: 1, priority: 2 },
    ],
  });
  return { replay, writer };
}

function values(replay: Replay<typeof spec, "t">): number[] {
  return [...replay.table("t").sample(40, { replacement: false }).steps.a.data].sort((a, b) => a - b);
}

describe("two rules on one table", () => {
  test("create the same items from a block as from single steps", () => {
    const block = full();
    const single = full();
    const column = Float32Array.from({ length: 30 }, (_, i) => 1000 + i);
    block.writer.appendColumns({ a: column });
    for (const a of column) single.writer.append({ a });
    expect(broken(block.replay)).toEqual([]);
    expect(block.replay.stats().steps).toBe(single.replay.stats().steps);
    expect(values(block.replay)).toEqual(values(single.replay));
  });

  test("reject a step with RATE_LIMITED if only one of its two items fits", () => {
    const replay = new Replay({ spec, tables: { t: { maxSize: 40, rateLimiter: queueLimiter(3), maxTimesSampled: 1, maxPending: 0 } } });
    const writer = replay.writer({
      items: [
        { table: "t", length: 1 },
        { table: "t", length: 1 },
      ],
    });
    writer.append({ a: 1 });
    expect(() => writer.append({ a: 2 })).toThrowError(expect.objectContaining({ code: "RATE_LIMITED" }));
    expect(() => writer.appendColumns({ a: [2] })).toThrowError(expect.objectContaining({ code: "RATE_LIMITED" }));
    expect(replay.table("t").stats()).toMatchObject({ size: 2, inserts: 2, pending: 0 });
    expect(writer.length).toBe(1);
  });
});

describe("a block under a rate limiter", () => {
  test("counts only the items that its rules create", () => {
    const replay = new Replay({ spec, tables: { t: { maxSize: 40, rateLimiter: queueLimiter(3), maxTimesSampled: 1, maxPending: 0 } } });
    const writer = replay.writer({ items: [{ table: "t", length: 5, stride: 5 }] });
    writer.appendColumns({ a: new Float32Array(19) });
    expect(replay.table("t").stats()).toMatchObject({ size: 3, pending: 0 });
    expect(() => writer.appendColumns({ a: [1] })).toThrowError(expect.objectContaining({ code: "RATE_LIMITED" }));
    // The first two episodes have one step each, which is too short for an item. The next two have five steps, and create one item each.
    replay.table("t").sample(3);
    writer.endEpisode();
    writer.appendColumns({ a: new Float32Array(16) }, { ends: [1, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0] });
    expect(replay.table("t").stats()).toMatchObject({ size: 2 });
  });

  test("counts only the items that must wait", () => {
    const replay = new Replay({ spec, tables: { t: { maxSize: 40, rateLimiter: queueLimiter(3), maxTimesSampled: 1, maxPending: 2 } } });
    const writer = replay.writer({ items: [{ table: "t", length: 1 }] });
    expect(() => writer.appendColumns({ a: new Float32Array(6) })).toThrowError(expect.objectContaining({ code: "RATE_LIMITED" }));
    writer.appendColumns({ a: new Float32Array(5) });
    expect(replay.table("t").stats()).toMatchObject({ size: 3, pending: 2 });
    expect(broken(replay)).toEqual([]);
  });
});
