/** Translates TF-Agents' py_replay_buffers_test.py to our buffers. */
import { expect, test } from "vitest";
import { type ColumnLike, i32, u8 } from "../../src/index.ts";
import { fromTransition, PyHashedReplayBuffer, PyUniformReplayBuffer, trajectorySpec, transition } from "../../src/tf-agents/index.ts";
import { scaled } from "../support/size.ts";
import { code } from "./support.ts";

const STACK = 4;
const SIDE = 15;
const CAPACITY = 32;
const DRAWS = scaled(200, 30);
const PAIRS = scaled(10_000, 1500);
const SPEC = trajectorySpec({ observation: i32(SIDE, SIDE, STACK), action: i32() });
type Buffer = PyUniformReplayBuffer<typeof SPEC>;

const CLASSES = [
  { name: "PyUniformReplayBuffer", make: () => new PyUniformReplayBuffer(SPEC, { capacity: CAPACITY, seed: 1 }) },
  { name: "PyHashedReplayBuffer", make: () => new PyHashedReplayBuffer(SPEC, { capacity: CAPACITY, seed: 1 }) as unknown as Buffer },
];

/** All stacks of four consecutive frames out of a hundred. Each frame is filled with its number. */
const observations = Array.from({ length: 97 }, (_, k) => Int32Array.from({ length: SIDE * SIDE * STACK }, (_, i) => k + (i % STACK)));
const ITEMS = observations.length - 1;
function filled({ make }: (typeof CLASSES)[number]): Buffer {
  const buffer = make();
  for (let k = 0; k < ITEMS; k++) {
    const [now, next] = [observations[k], observations[k + 1]].map((observation) => transition(observation, 0));
    const { stepType, observation, action, nextStepType, reward, discount } = fromTransition(now as never, 0, next as never) as never;
    buffer.addBatch({
      stepType: [stepType],
      observation: { data: observation, shape: [1, SIDE, SIDE, STACK] },
      action: [action],
      policyInfo: [],
      nextStepType: [nextStepType],
      reward: [reward],
      discount: [discount],
    } as never);
  }
  return buffer;
}

/** Checks that an observation is unchanged and belongs to one of the newest items. */
function mustBeWhole({ data, shape }: ColumnLike): void {
  const first = data[0] as number;
  expect(shape).toEqual([SIDE, SIDE, STACK]);
  expect(first).toBeGreaterThanOrEqual(ITEMS - CAPACITY);
  expect(data).toEqual(observations[first]);
}
const firstOf = <T>(elements: Iterable<T>): T => elements[Symbol.iterator]().next().value as T;
type Element = { readonly observation: ColumnLike; readonly action: ColumnLike; readonly stepType: ColumnLike };

test("PyHashedReplayBuffer frees a frame with the last item that contains it", () => {
  const spec = trajectorySpec({ observation: u8(84, 84, 1), action: i32() });
  const buffer = new PyHashedReplayBuffer(spec, { capacity: 1 });
  const frame = (n: number) => ({ data: Uint8Array.from({ length: 84 * 84 }, (_, i) => (i * n) % 251), shape: [1, 84, 84, 1] });
  const add = (n: number) =>
    buffer.addBatch({ stepType: [1], observation: frame(n), action: [0], policyInfo: [], nextStepType: [1], reward: [0], discount: [1] } as never);
  add(1);
  expect(buffer.distinctFrames).toBe(1);
  buffer.clear();
  expect(buffer.distinctFrames).toBe(0);
  add(2);
  add(3);
  expect(buffer.distinctFrames).toBe(1);
});

test.each(CLASSES)("drawing an item from an empty buffer throws EMPTY: $name", ({ make }) => {
  expect(() => firstOf(make().asDataset())).toThrow(code("EMPTY"));
});

test.each(CLASSES)("drawing a batch from an empty buffer throws EMPTY: $name", ({ make }) => {
  expect(() => firstOf(make().asDataset({ sampleBatchSize: 2 }))).toThrow(code("EMPTY"));
});

test.each(CLASSES)("drawing a sequence from an empty buffer throws EMPTY: $name", ({ make }) => {
  expect(() => firstOf(make().asDataset({ numSteps: 2 }))).toThrow(code("EMPTY"));
});

test.each(CLASSES)("a full buffer returns only its newest items, unchanged: $name", (one) => {
  let n = 0;
  for (const { observation } of filled(one).asDataset() as Iterable<Element>) {
    mustBeWhole(observation);
    if (++n === DRAWS) break;
  }
});

test("sequences never cross from the newest item to the oldest, and all others are equally likely", () => {
  const buffer = new PyUniformReplayBuffer(i32(), { capacity: 10, seed: 12345 });
  for (let i = 0; i < 5; i++) buffer.addBatch([0] as never);
  for (let i = 0; i < 10; i++) buffer.addBatch([i] as never);
  const counts = new Array<number>(10).fill(0);
  for (let i = 0; i < PAIRS; i++) {
    const [first, second] = buffer.getNext({ numSteps: 2, timeStacked: false }).map((item) => numberIn(item)) as [number, number];
    expect(second).toBe(first + 1);
    counts[first] = (counts[first] as number) + 1;
  }
  expect(counts[9]).toBe(0);
  for (const count of counts.slice(0, 9)) expect(Math.abs(count - PAIRS / 9)).toBeLessThan(scaled(150, 80));
});
function numberIn(item: unknown): number {
  return typeof item === "number" ? item : ((item as ColumnLike).data[0] as number);
}

test.each(CLASSES)("the shape of a batch begins with its size: $name", (one) => {
  const { observation, action, stepType } = firstOf(filled(one).asDataset({ sampleBatchSize: 5 }) as Iterable<Element>);
  expect([observation.shape, action.shape, stepType.shape]).toEqual([[5, SIDE, SIDE, STACK], [5], [5]]);
});

test.each(CLASSES)("the shape of a batch of sequences begins with its size and length: $name", (one) => {
  const { observation, action } = firstOf(filled(one).asDataset({ sampleBatchSize: 5, numSteps: 3 }) as Iterable<Element>);
  expect([observation.shape, action.shape]).toEqual([
    [5, 3, SIDE, SIDE, STACK],
    [5, 3],
  ]);
});

test.each(CLASSES)("the shape of a sequence begins with its length: $name", (one) => {
  const { observation, action } = firstOf(filled(one).asDataset({ numSteps: 3 }) as Iterable<Element>);
  expect([observation.shape, action.shape]).toEqual([[3, SIDE, SIDE, STACK], [3]]);
});

test.each(CLASSES)("the items of a buffer can fill another buffer: $name", (one) => {
  const buffer = filled(one);
  expect(buffer.size).toBe(CAPACITY);
  const all = buffer.gatherAll() as unknown as { readonly [field: string]: ColumnLike | readonly [] };
  const alone = Object.entries(all).map(([field, column]) => [field, "data" in column ? { data: column.data, shape: column.shape.slice(1) } : column]);
  const other = one.make();
  other.addBatch(Object.fromEntries(alone) as never);
  expect(other.size).toBe(CAPACITY);
  expect(other.gatherAll()).toEqual(buffer.gatherAll());
  let n = 0;
  for (const { observation } of other.asDataset() as Iterable<Element>) {
    mustBeWhole(observation);
    if (++n === DRAWS) break;
  }
});
