/** Tests draws among the oldest items while new items enter. */
import { expect, test } from "vitest";
import { f32, i32, minHeap, Replay, type SampleOptions, uniform } from "../../../src/index.ts";
import { broken } from "../../support/health.ts";
import { errorOf, expectError, expectRefused } from "../../support/refused.ts";

test.each([1, 40])("items that enter during a batch are not drawn among the oldest (seed %i)", (seed) => {
  // Four items enter together; each draw then admits one more, which replaces the item with the lowest priority.
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

/** Creates a table with ten items of two steps. */
function ten() {
  const replay = new Replay({ spec: { observation: f32(), action: f32(), reward: f32() }, tables: { t: { maxSize: 20 } } });
  const writer = replay.writer({ items: [{ table: "t", length: 2 }] });
  for (let x = 0; x <= 10; x++) writer.append({ observation: x, action: x, reward: x });
  const table = replay.tables.t;
  return { replay, table, view: table.transitions({ gamma: 1 }) };
}

const NONE = /^among must be an integer in 1 … 4294967295, got 0\. Omit among/;

test("among must be at least 1 in every call that accepts it", async () => {
  const { replay, table, view } = ten();
  const calls: ((how: Pick<SampleOptions, "among">) => unknown)[] = [
    (how) => table.sample(4, how),
    (how) => view.sample(4, how),
    (how) => table.ready(4, how),
    (how) =>
      table
        .dataset({ batchSize: 4, ...how })
        [Symbol.iterator]()
        .next(),
    (how) =>
      view
        .dataset({ batchSize: 4, ...how })
        [Symbol.iterator]()
        .next(),
    (how) => table.sample(4, { into: table.batch(4, { length: 2 }), ...how }),
  ];
  for (const call of calls) {
    call({});
    // The value is checked even if all other arguments equal those of the previous call.
    for (const among of [0, -0]) expectRefused(replay, () => call({ among }), RangeError, NONE);
    expectRefused(replay, () => call({ among: null as never }), TypeError, /^among must/);
  }
  for (const waits of [
    (how: object) => table.sampleWhenReady(4, how),
    (how: object) => view.sampleWhenReady(4, how),
    (how: object) =>
      table
        .dataset({ batchSize: 4, ...how })
        [Symbol.asyncIterator]()
        .next(),
    (how: object) =>
      view
        .dataset({ batchSize: 4, ...how })
        [Symbol.asyncIterator]()
        .next(),
  ])
    await waits({ among: 0 }).then(
      () => expect.unreachable(),
      (error: Error) => expectError(error, RangeError, NONE),
    );
  expect(errorOf(() => table.sample(4, { among: 11.5 }))).toBeInstanceOf(TypeError);
  expect(table.sample(4, { among: 100 }).count).toBe(4);
});
