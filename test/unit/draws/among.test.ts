/** Draws among the oldest items, while others come in. */
import { expect, test } from "vitest";
import { i32, minHeap, Replay, uniform } from "../../../src/index.ts";
import { broken } from "../../support/health.ts";

test.each([1, 40])("of a table that evicts by priority, items that come in during a batch make no younger one drawn (seed %i)", (seed) => {
  // Four items come in at once; each draw lets another in, in the place of the one of the lowest priority.
  const rateLimiter = { samplesPerInsert: 1, minSize: 1, minDiff: -1000, maxDiff: 4 };
  const replay = new Replay({ spec: i32(), tables: { t: { maxSize: 4, sampler: uniform(), remover: minHeap(), rateLimiter } }, seed });
  const writer = replay.writer();
  const keys: number[] = [];
  for (const priority of [5, 5, 5, 1, 9, 9, 9, 9, 9]) {
    writer.append(0);
    writer.createItem("t", { length: 1, priority });
    keys.push(writer.lastKey("t"));
  }
  const { info, count } = replay.table("t").sample(30, { among: 2 });
  expect(count).toBe(30);
  expect(new Set(info.keys)).toEqual(new Set(keys.slice(0, 2)));
  expect(replay.table("t").stats().pending).toBe(0);
  expect(broken(replay)).toEqual([]);
});
