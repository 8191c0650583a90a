import { expect, expectTypeOf, test } from "vitest";
import { tensors } from "../../../src/adapters/tfjs.ts";
import { scaled } from "../../support/size.ts";
import { tf } from "../../support/tfjs.mjs";
import { filled, OPTIONS, TOO_BIG, VIEW, VIEWED } from "./batches.ts";

const shown = ({ shape, dtype }: { shape: number[]; dtype: string }) => [dtype, shape];

test("a batch becomes tensors with the same names and numbers", () => {
  const { table } = filled();
  const batch = table.sample(4, OPTIONS);
  const t = tensors(tf, batch);
  expect(Object.keys(t).sort()).toEqual(["info", "lengths", "mask", "nStep", "steps"]);
  expect(shown(t.steps.observation.position)).toEqual(["float32", [4, 3, 2]]);
  expect(shown(t.steps.observation.pixels)).toEqual(["int32", [4, 3, 2, 2]]);
  expect(shown(t.steps.reward)).toEqual(["float32", [4, 3]]);
  for (const name of ["action", "big", "counter", "small", "ok"] as const) expect(shown(t.steps[name])).toEqual(["int32", [4, 3]]);
  expect(shown(t.mask)).toEqual(["int32", [4, 3]]);
  expect(shown(t.lengths)).toEqual(["int32", [4]]);
  expect(shown(t.info.weights)).toEqual(["float32", [4]]);
  expect(shown(t.nStep.returns)).toEqual(["float32", [4]]);
  expect([...t.nStep.returns.dataSync()]).toEqual([...batch.nStep.returns]);
  expect([...t.steps.big.dataSync()]).toEqual([...batch.steps.big.data].map(Number));
  expect([...t.steps.small.dataSync()]).toEqual([...batch.steps.small.data]);
  expect([...t.steps.observation.pixels.dataSync()]).toEqual([...batch.steps.observation.pixels.data]);
  // Values that cannot become numeric tensors stay in the batch.
  expect([Object.hasOwn(t.info, "keys"), Object.hasOwn(t.steps, "note")]).toEqual([false, false]);
  tf.dispose(t);
});

test("a batch of transitions becomes tensors with the same names and numbers", () => {
  const { table } = filled();
  const view = table.transitions(VIEW);
  const into = view.batch(4, { beta: 0.5 });
  const before = tf.memory().numTensors;
  for (let i = 0; i < 100; i++) {
    const batch = view.sample(4, { beta: 0.5, into });
    using t = tensors(tf, batch);
    expect(Object.keys(t).sort()).toEqual(VIEWED);
    expect(shown(t.observation.position)).toEqual(["float32", [4, 2]]);
    expect(shown(t.nextObservation.pixels)).toEqual(["int32", [4, 2, 2]]);
    expect([t.returns, t.discounts, t.weights].map(shown)).toEqual([1, 2, 3].map(() => ["float32", [4]]));
    expect([t.steps, t.terminated, t.truncated, t.nextAction].map(shown)).toEqual([1, 2, 3, 4].map(() => ["int32", [4]]));
    expect([...t.returns.dataSync()]).toEqual([...batch.returns.data]);
    expect([...t.nextObservation.position.dataSync()]).toEqual([...batch.nextObservation.position.data]);
    expectTypeOf<Exclude<keyof typeof t, symbol>[]>().toEqualTypeOf<
      Exclude<keyof typeof batch, "keys" | "count" | "note" | "toArray" | "detached" | "release" | typeof Symbol.dispose>[]
    >();
  }
  expect(tf.memory().numTensors).toBe(before);
});

test("in the types, only arrays of numbers become tensors", () => {
  const { table } = filled();
  const t = tensors(tf, table.sample(2, OPTIONS));
  type Tensor = ReturnType<typeof tf.tensor>;
  expectTypeOf(t.steps.observation.position).toEqualTypeOf<Tensor>();
  expectTypeOf(t.nStep.discounts).toEqualTypeOf<Tensor>();
  expectTypeOf<keyof typeof t.steps>().toEqualTypeOf<"observation" | "action" | "reward" | "big" | "counter" | "small" | "ok">();
  expectTypeOf<keyof typeof t>().toEqualTypeOf<"steps" | "lengths" | "mask" | "info" | "nStep" | typeof Symbol.dispose>();
  expectTypeOf<keyof typeof t.info>().toEqualTypeOf<"probabilities" | "priorities" | "timesSampled" | "tableSizes" | "weights">();
  tf.dispose(t);
});

test("tensors keep their values when the batch is refilled", () => {
  const { table } = filled();
  const into = table.batch(4, OPTIONS);
  table.sample(4, { ...OPTIONS, into });
  const t = tensors(tf, into);
  const before = [...into.steps.observation.position.data];
  const actions = [...into.steps.action.data];
  for (let i = 0; i < 5; i++) table.sample(4, { ...OPTIONS, into });
  expect([...into.steps.observation.position.data]).not.toEqual(before);
  expect([...t.steps.observation.position.dataSync()]).toEqual(before);
  expect([...t.steps.action.dataSync()]).toEqual(actions);
  tf.dispose(t);
});

test("a short batch becomes tensors of count rows", () => {
  const { replay, writer } = filled();
  for (const count of [0, 3]) {
    replay.tables.t.clear();
    for (let i = 0; i < count; i++) writer.createItem("t", { length: 3, priority: 1 });
    const into = replay.tables.t.batch(4, { ...OPTIONS, columns: { a: { leaf: "action" }, position: { leaf: "observation.position", at: 0 } } });
    const batch = replay.tables.t.sample(4, {
      ...OPTIONS,
      columns: { a: { leaf: "action" }, position: { leaf: "observation.position", at: 0 } },
      replacement: false,
      into,
    });
    expect(batch.count).toBe(count);
    const t = tensors(tf, batch);
    expect([t.steps.a.shape, t.steps.position.shape, t.mask.shape, t.lengths.shape, t.nStep.returns.shape]).toEqual([
      [count, 3],
      [count, 2],
      [count, 3],
      [count],
      [count],
    ]);
    expect([...t.steps.position.dataSync()]).toEqual([...batch.steps.position.data.subarray(0, 2 * count)]);
    tf.dispose(t);
  }
});

test("many batches leak no tensor, freed with `using`, tf.dispose or tf.tidy", () => {
  const { table } = filled();
  const into = table.batch(2, OPTIONS);
  const before = tf.memory().numTensors;
  for (let i = 0; i < scaled(10_000); i++) {
    table.sample(2, { ...OPTIONS, into });
    if (i % 3 === 0) {
      using t = tensors(tf, into);
      expect(t.nStep.returns.size).toBe(2);
    } else if (i % 3 === 1) tf.dispose(tensors(tf, into));
    else tf.tidy(() => void tf.sum(tensors(tf, into).nStep.returns));
  }
  expect(tf.memory().numTensors).toBe(before);
});

test("an integer beyond 32 bits throws an error with its path, and leaks no tensor", () => {
  const before = tf.memory().numTensors;
  expect(() => tensors(tf, TOO_BIG)).toThrow(
    expect.objectContaining({ name: "RangeError", message: expect.stringMatching(/^b\.0\[1\] must .*got 2147483648n/) }),
  );
  expect(tf.memory().numTensors).toBe(before);
});

test("tensors accepts a nest of columns, and rejects a single column or a missing batch", () => {
  const { table } = filled();
  const { steps, nStep } = table.sample(2, OPTIONS);
  const t = tensors(tf, { observation: steps.observation, list: [nStep.returns, nStep.discounts] });
  expect(t.list.map((each) => each.shape)).toEqual([[2], [2]]);
  expect(t.observation.position.shape).toEqual([2, 3, 2]);
  tf.dispose(t);
  expect(() => tensors(tf, steps.action)).toThrow(/^batch must .*got /);
  expect(() => tensors(tf, undefined as never)).toThrow(/^batch is required/);
});

test("tensors rejects arguments in the wrong order", () => {
  const { table } = filled();
  const batch = table.sample(2);
  const other = tensors as unknown as (...given: unknown[]) => unknown;
  for (const [given, rule] of [
    [[batch, tf], "must be"],
    [[undefined, batch], "is required, and must be"],
  ] as const)
    expect(() => other(...given)).toThrow(new RegExp(`^tf ${rule} TensorFlow.js`));
});
