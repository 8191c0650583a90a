/** Two rules of a writer that make items for one table. */
import { describe, expect, test } from "vitest";
import { f32, Replay, uniform } from "../../src/index.ts";
import { broken } from "../support/health.ts";

const spec = { a: f32() };

/** A full table whose oldest items are one step each, and a writer with two rules on it. */
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
  test("a block gives what its steps give one by one", () => {
    const block = full();
    const single = full();
    const column = Float32Array.from({ length: 30 }, (_, i) => 1000 + i);
    block.writer.appendColumns({ a: column });
    for (const a of column) single.writer.append({ a });
    expect(broken(block.replay)).toEqual([]);
    expect(block.replay.stats().steps).toBe(single.replay.stats().steps);
    expect(values(block.replay)).toEqual(values(single.replay));
  });
});
