/** Tests that -0 is a priority of 0: its sign must not mark the item as waiting. */
import { describe, expect, test } from "vitest";
import { f32, fifo, maxHeap, minHeap, prioritized, queueLimiter, Replay } from "../../../src/index.ts";
import { broken } from "../../support/health.ts";

function filled(tables: ConstructorParameters<typeof Replay>[0]["tables"]) {
  const replay = new Replay({ spec: { a: f32() }, tables });
  const writer = replay.writer();
  writer.append({ a: 1 });
  return { replay, writer, table: replay.table("t") };
}

describe("a priority of -0", () => {
  test("creates a live item", () => {
    const { replay, writer, table } = filled({ t: { maxSize: 4 } });
    writer.createItem("t", { length: 1, priority: -0 });
    expect(table.explain(writer.lastKey("t"))).toMatchObject({ state: "live", priority: 0 });
    expect(broken(replay)).toEqual([]);
  });

  test("can be set with updatePriorities", () => {
    const { replay, writer, table } = filled({ t: { maxSize: 4, sampler: prioritized(0.5) } });
    writer.createItem("t", { length: 1 });
    expect(table.updatePriorities([writer.lastKey("t")], [-0])).toBe(1);
    expect(table.explain(writer.lastKey("t"))).toMatchObject({ state: "live", priority: 0 });
    expect(broken(replay)).toEqual([]);
  });

  test("is accepted for waiting items, on creation and on update", () => {
    const { replay, writer, table } = filled({ t: { maxSize: 4, rateLimiter: queueLimiter(1) } });
    writer.createItem("t", { length: 1 });
    void writer.createItem("t", { length: 1, priority: -0 });
    expect(table.explain(writer.lastKey("t"))).toMatchObject({ state: "waiting", priority: 0 });
    expect(table.updatePriorities([writer.lastKey("t")], [-0])).toBe(1);
    expect(table.explain(writer.lastKey("t"))).toMatchObject({ state: "waiting", priority: 0 });
    expect(broken(replay)).toEqual([]);
    table.sample(1);
    expect(table.stats()).toMatchObject({ size: 2, pending: 0 });
  });

  test.each([minHeap(), maxHeap()])("equals 0 in a heap, so that the oldest item is drawn first", (sampler) => {
    const replay = new Replay({ spec: { a: f32() }, tables: { t: { maxSize: 40, sampler }, u: { maxSize: 40, sampler } } });
    const writer = replay.writer({ items: [{ table: "u", length: 1, priority: { leaf: "a" } }] });
    const [t, u] = [replay.table("t"), replay.table("u")];
    const priorities = Array.from({ length: 20 }, (_, k) => (k % 3 === 1 ? -0 : 0));
    for (const priority of priorities) {
      writer.append({ a: priority });
      writer.createItem("t", { length: 1, priority });
    }
    for (const table of [t, u]) {
      const keys: number[] = [];
      for (let k = 0; k < 20; k++) {
        const [key = 0] = table.sample(1).info.keys;
        keys.push(key);
        // An item becomes the newest even if its update sets the same priority.
        if (k < 10) table.updatePriorities([key], [k % 2 === 0 ? -0 : 0]);
        else table.delete([key]);
      }
      expect(keys).toEqual([...keys].sort((a, b) => a - b));
    }
    expect(broken(replay)).toEqual([]);
  });

  test("is accepted in a block that replaces the oldest items", () => {
    const replay = new Replay({ spec: { a: f32() }, tables: { t: { maxSize: 16, sampler: prioritized(), remover: fifo() } } });
    const writer = replay.writer({ items: [{ table: "t", length: 1 }] });
    writer.appendColumns({ a: new Float32Array(40) });
    writer.appendColumns({ a: new Float32Array(40) }, { priorities: { t: new Float64Array(40).fill(-0) } });
    expect(broken(replay)).toEqual([]);
    expect(replay.table("t").size).toBe(16);
  });
});
