/** Tests files whose items are longer or shorter than the windows of the loading buffer. PFRL's own test loads items of 3 steps into a buffer with 1 step. */
import { describe, expect, test } from "vitest";
import { batchExperiences, PersistentReplayBuffer, PrioritizedReplayBuffer, ReplayBuffer } from "../../../src/pfrl/index.ts";
import { memory } from "../../../src/storage/index.ts";
import { errorOf, expectError } from "../../support/refused.ts";

const LIST = { form: "list" } as const;
const MANUAL = { durability: "manual" } as const;
const step = (i: number, isStateTerminal = false) => ({ state: i, action: i, reward: 2 ** i, nextState: i + 1, isStateTerminal, nth: i });
const fill = <B extends { append(transition: ReturnType<typeof step>): void }>(buffer: B, from: number, to: number, length: number): B => {
  for (let i = from; i < to; i++) buffer.append(step(i, i % length === length - 1));
  return buffer;
};
const windows = (buffer: ReplayBuffer | PrioritizedReplayBuffer | PersistentReplayBuffer) =>
  [...buffer.items()].map((item) => item.map(({ action }) => action));
const EIGHT = [[0, 1, 2], [1, 2, 3], [2, 3], [3], [4, 5, 6], [5, 6, 7], [6, 7], [7]]; // biome-ignore format: one line
const saved = (numSteps: number, to = 8) => {
  const directory = memory();
  fill(new ReplayBuffer({ numSteps }), 0, to, 4).save({ directory, file: "f" });
  return { directory, file: "f" };
};

describe.each([1, 2, 3, 5])("a file loaded into windows of %s steps", (numSteps) => {
  test("keeps its items, and lists, batches and experiences agree", () => {
    const buffers = [1, 2].map(() => new ReplayBuffer({ numSteps, seed: 3 }));
    for (const buffer of buffers) {
      buffer.load(saved(3));
      fill(buffer, 8, 14, 4);
    }
    const [one, other] = buffers as [ReplayBuffer, ReplayBuffer];
    expect(windows(one).slice(0, 8)).toEqual(EIGHT);
    const n = one.length;
    const list = one.sample(n, LIST);
    const batch = other.sample(n);
    const width = Math.max(3, numSteps);
    expect([...batch.lengths]).toEqual(list.map((item) => item.length));
    expect(batch.reward.shape).toEqual([n, width]);
    expect([...batch.nextState.data]).toEqual(list.map((item) => item.at(-1)?.nextState));
    expect([...batch.reward.data]).toEqual(list.flatMap((item) => Array.from({ length: width }, (_, t) => item[t]?.reward ?? 0)));
    expect([...(batch.extras.nth as { data: Float64Array }).data]).toEqual(list.flatMap((item) => Array.from({ length: width }, (_, t) => item[t]?.nth ?? 0)));
    const options = { gamma: 0.5, dtypes: { state: "f64", action: "f64" } } as const;
    expect(batchExperiences(batch, options)).toEqual(batchExperiences(list, options));
  });

  test("yields the same items after it is saved again", () => {
    const buffer = new ReplayBuffer({ numSteps });
    buffer.load(saved(3));
    const directory = memory();
    buffer.save({ directory, file: "again" });
    for (const other of [new ReplayBuffer(), new PrioritizedReplayBuffer({ numSteps: 4 })]) {
      other.load({ directory, file: "again" });
      expect(windows(other)).toEqual(EIGHT);
    }
  });
});

test("into rejects a batch that is too short for the loaded items", () => {
  const buffer = fill(new ReplayBuffer(), 0, 8, 4);
  const batch = buffer.sample(4);
  buffer.load(saved(3));
  expectError(
    errorOf(() => buffer.sample(4, { into: batch })),
    RangeError,
    /into must .*got a batch of 4 items of up to 1 step/,
  );
  expect(buffer.sample(4).reward.shape).toEqual([4, 3]);
  // The loaded file replaces the longer items, so the windows are short again.
  buffer.load(saved(1));
  expect(buffer.sample(4).reward.shape).toEqual([4]);
});

describe("a persistent buffer", () => {
  test("keeps all loaded steps over reopenings and segments, and continues running episodes", () => {
    const directory = memory();
    const options = { ...MANUAL, segmentBytes: 1000 } as const;
    let buffer = new PersistentReplayBuffer(directory, 100, options);
    buffer.append(step(50));
    buffer.append({ ...step(60), envId: "b" });
    buffer.load(saved(3));
    expect(windows(buffer)).toEqual(EIGHT);
    buffer.append(step(51));
    buffer.append({ ...step(61), envId: "b", isStateTerminal: true });
    for (let i = 52; i < 90; i++) buffer.append(step(i));
    const all = [...EIGHT, [51], [61], ...Array.from({ length: 38 }, (_, i) => [52 + i])];
    expect(windows(buffer)).toEqual(all);
    for (let turn = 0; turn < 3; turn++) {
      buffer.close();
      buffer = new PersistentReplayBuffer(directory, 100, options);
      expect(windows(buffer)).toEqual(all);
      expect(buffer.sample(5).reward.shape).toEqual([5, 3]);
    }
    buffer.close();
    const few = new PersistentReplayBuffer(directory, 39, options);
    expect(windows(few)).toEqual(all.slice(-39));
    expect(few.sample(5).reward.shape).toEqual([5]);
    few.close();
  });

  test("removes segments of loaded items that were evicted", () => {
    const directory = memory();
    const buffer = new PersistentReplayBuffer(directory, 10, { ...MANUAL, retain: "capacity", segmentBytes: 1000 });
    buffer.load(saved(3, 400));
    const [first] = directory.list();
    for (let i = 0; i < 500; i++) buffer.append(step(i));
    buffer.close();
    expect(directory.list()).not.toContain(first);
    const again = new PersistentReplayBuffer(directory, 10, MANUAL);
    expect(windows(again).slice(-10)).toEqual(Array.from({ length: 10 }, (_, i) => [490 + i]));
    again.close();
  });
});
