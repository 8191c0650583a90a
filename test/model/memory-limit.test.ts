/** Tests that nothing is lost silently at the memory limit. */
import { expect, test } from "vitest";
import { f32, Replay } from "../../src/index.ts";
import { broken } from "../support/health.ts";

test("a step without room in the map of episodes throws OUT_OF_MEMORY and is not stored", () => {
  // Each item is a separate episode, which takes more memory than planned.
  const options = { spec: { a: f32() }, tables: { t: { maxSize: 20_000, maxPending: 0 } } };
  const replay = new Replay({ ...options, maxBytes: Replay.plan(options).bytes });
  const writer = replay.writer({ items: [{ table: "t", length: 1 }], keep: 1 });
  let steps = 0;
  const fill = () => {
    for (; steps < 20_000; steps++) {
      writer.append({ a: steps });
      writer.endEpisode();
    }
  };
  expect(fill).toThrowError(expect.objectContaining({ code: "OUT_OF_MEMORY" }));
  expect(replay.table("t").stats()).toMatchObject({ size: steps, inserts: steps });
  expect(replay.stats().steps).toBe(steps);
  expect(broken(replay)).toEqual([]);
});
