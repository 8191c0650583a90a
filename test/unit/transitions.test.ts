import { expect, test } from "vitest";
import { f32, i32, prioritized, Replay } from "../../src/index.ts";

test("a view gives transitions", () => {
  const replay = new Replay({
    spec: { observation: { x: f32(2) }, action: i32(), reward: f32(), mask: f32(3) },
    tables: { memory: { maxSize: 100, sampler: prioritized(0.6) } },
  });
  const { memory } = replay.tables;
  const writer = replay.writer({ items: [{ table: "memory", length: 4 }] });
  const view = memory.transitions({ gamma: 0.5, next: ["action", "mask"] });
  for (let i = 0; i < 4; i++) writer.append({ observation: { x: [i, -i] }, action: i, reward: 1, mask: [i, 0, 1] });
  const batch = view.sample(2, { beta: 0.4 });
  expect([batch.observation.x.data, batch.nextObservation.x.data].map((data) => [...data])).toEqual([
    [0, -0, 0, -0],
    [3, -3, 3, -3],
  ]);
  expect([batch.returns.data, batch.discounts.data, batch.weights.data].map((data) => [...data])).toEqual([
    [1.75, 1.75],
    [0.125, 0.125],
    [1, 1],
  ]);
  expect([batch.nextAction, batch.nextMask.shape, batch.steps.data[0]]).toEqual([{ data: new Int32Array([3, 3]), shape: [2] }, [2, 3], 3]);
  expect(view.sample(2, { into: batch })).toBe(batch);
});
