/** Tests importance weights that are divided by the largest possible weight in the table. */
import { expect, test } from "vitest";
import { f32, prioritized, Replay } from "../../../src/index.ts";

function weights(withMin: boolean): Float64Array | undefined {
  const replay = new Replay({ spec: { a: f32() }, tables: { t: { maxSize: 4, sampler: prioritized(1, { withMin }) } } });
  const writer = replay.writer();
  for (const priority of [8, 2, 0, 6]) {
    writer.append({ a: priority });
    writer.createItem("t", { length: 1, priority });
  }
  const batch = replay.table("t").sample(1, { beta: 1, normalize: "table" });
  return Float64Array.of((batch.info.weights?.[0] as number) * (batch.info.priorities[0] as number));
}

test("normalizing weights by the table requires withMin, and otherwise throws UNSUPPORTED", () => {
  // The weight is (4 · p/16)^-1 divided by (4 · 2/16)^-1, which is 2/p.
  expect(weights(true)).toEqual(Float64Array.of(2));
  expect(() => weights(false)).toThrowError(expect.objectContaining({ code: "UNSUPPORTED" }));
});
