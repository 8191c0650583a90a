/** Tests a writer without rules. */
import { expect, test } from "vitest";
import { f32, Replay } from "../../src/index.ts";
import { broken } from "../support/health.ts";

test("a writer without rules keeps only the steps of its window from a longer block", () => {
  for (const keep of [1, 3, 4, 32]) {
    const replay = new Replay({ spec: { a: f32() }, tables: { t: { maxSize: 4 } } });
    const writer = replay.writer({ keep });
    for (let i = 0; i < 3; i++) {
      writer.appendColumns({ a: Float32Array.from({ length: 100 }, (_, a) => 100 * i + a) });
      expect(broken(replay)).toEqual([]);
      expect(replay.stats().steps).toBe(keep);
    }
    writer.createItem("t", { length: keep });
    expect(replay.table("t").sample(1).steps.a.data).toEqual(Float32Array.from({ length: keep }, (_, a) => 300 - keep + a));
  }
});
