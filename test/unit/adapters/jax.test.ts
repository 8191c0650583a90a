import { jit, numpy as np, tree } from "@jax-js/jax";
import { expect, expectTypeOf, test } from "vitest";
import { arrays } from "../../../src/adapters/jax.ts";
import { scaled } from "../../support/size.ts";
import { filled, OPTIONS, TOO_BIG, VIEW, VIEWED } from "./batches.ts";

test("a batch becomes arrays with the same names and numbers", () => {
  const { table } = filled();
  const batch = table.sample(4, OPTIONS);
  const a = arrays(np, batch);
  const shown = ({ dtype, shape }: np.Array) => [dtype, shape];
  expect(Object.keys(a).sort()).toEqual(["info", "lengths", "mask", "nStep", "steps"]);
  expect(shown(a.steps.observation.position)).toEqual(["float32", [4, 3, 2]]);
  expect(shown(a.steps.observation.pixels)).toEqual(["int32", [4, 3, 2, 2]]);
  expect(shown(a.steps.reward)).toEqual(["float32", [4, 3]]);
  expect(shown(a.steps.counter)).toEqual(["uint32", [4, 3]]);
  for (const name of ["action", "big", "small", "ok"] as const) expect(shown(a.steps[name])).toEqual(["int32", [4, 3]]);
  expect(shown(a.mask)).toEqual(["int32", [4, 3]]);
  expect(shown(a.lengths)).toEqual(["uint32", [4]]);
  expect(shown(a.nStep.returns)).toEqual(["float32", [4]]);
  const data = tree.map((each: np.Array) => [...each.dataSync()], a);
  expect(data.nStep.returns).toEqual([...batch.nStep.returns]);
  expect(data.steps.big).toEqual([...batch.steps.big.data].map(Number));
  expect(data.steps.observation.pixels).toEqual([...batch.steps.observation.pixels.data]);
  expect([Object.hasOwn(a.info, "keys"), Object.hasOwn(a.steps, "note")]).toEqual([false, false]);
});

test("a compiled function accepts a whole batch of transitions", () => {
  const { table } = filled();
  const view = table.transitions(VIEW);
  const mean = jit(({ observation, returns, weights }: { observation: { position: np.Array }; returns: np.Array; weights: np.Array }) =>
    observation.position.sum(1).add(returns).mul(weights).mean(),
  );
  for (let i = 0; i < 20; i++) {
    const batch = view.sample(4, { beta: 0.5 });
    const a = arrays(np, batch);
    const made = tree.leaves(a) as np.Array[];
    expect(Object.keys(a).sort()).toEqual(VIEWED);
    // The values of `position` sum to 0.
    const expected = batch.returns.data.reduce((sum, x, j) => sum + x * (batch.weights.data[j] as number), 0) / 4;
    expect(mean(a).item()).toBeCloseTo(expected, 4);
    expect(made.filter(({ refCount }) => refCount !== 0)).toEqual([]);
  }
});

test("in the types, only arrays of numbers become arrays", () => {
  const { table } = filled();
  const a = arrays(np, table.sample(2, OPTIONS));
  expectTypeOf(a.steps.observation.position).toEqualTypeOf<np.Array>();
  expectTypeOf<keyof typeof a>().toEqualTypeOf<"steps" | "lengths" | "mask" | "info" | "nStep">();
  expectTypeOf<keyof typeof a.info>().toEqualTypeOf<"probabilities" | "priorities" | "timesSampled" | "tableSizes" | "weights">();
  tree.dispose(a);
});

test("arrays keep their values when the batch is refilled", () => {
  const { table } = filled();
  const into = table.batch(4, OPTIONS);
  table.sample(4, { ...OPTIONS, into });
  const a = arrays(np, into);
  const before = [...into.steps.observation.position.data];
  for (let i = 0; i < 5; i++) table.sample(4, { ...OPTIONS, into });
  expect([...into.steps.observation.position.data]).not.toEqual(before);
  expect([...a.steps.observation.position.ref.dataSync()]).toEqual(before);
  tree.dispose(a);
});

test("an empty batch becomes arrays without rows", () => {
  const { replay, table } = filled();
  table.clear();
  const a = arrays(np, replay.tables.t.sample(4, { ...OPTIONS, into: table.batch(4, OPTIONS) }));
  expect([a.steps.observation.position.shape, a.mask.shape, a.nStep.returns.shape]).toEqual([[0, 3, 2], [0, 3], [0]]);
  tree.dispose(a);
});

test("many batches leak no array, consumed by a compiled function or disposed", () => {
  const { table } = filled();
  const options = { ...OPTIONS, columns: { position: { leaf: "observation.position", at: 0 } } } as const;
  const into = table.batch(2, options);
  const sum = jit((position: np.Array, returns: np.Array) => position.sum().add(returns.sum()));
  const made: np.Array[] = [];
  for (let i = 0; i < scaled(10_000); i++) {
    const { steps, nStep } = table.sample(2, { ...options, into });
    const { position, returns } = arrays(np, { position: steps.position, returns: nStep.returns });
    made.push(position, returns);
    if (i % 2 === 0) sum(position, returns).dispose();
    else tree.dispose({ position, returns });
  }
  expect(made.filter(({ refCount }) => refCount !== 0)).toEqual([]);
});

test("an integer beyond 32 bits throws an error with its path, and leaks no array", () => {
  const made: np.Array[] = [];
  const numpy = { array: (...args: Parameters<typeof np.array>) => made[made.push(np.array(...args)) - 1] as np.Array };
  expect(() => arrays(numpy, TOO_BIG)).toThrow(
    expect.objectContaining({ name: "RangeError", message: expect.stringMatching(/^b\.0\[1\] must .*got 2147483648n/) }),
  );
  expect(made.map(({ refCount }) => refCount)).toEqual([0]);
});

test("arrays rejects arguments in the wrong order", () => {
  const { table } = filled();
  const batch = table.sample(2);
  const other = arrays as unknown as (...given: unknown[]) => unknown;
  for (const [given, got] of [
    [[batch, np], "an object"],
    [[{ numpy: np }, batch], "an object with keys numpy"],
  ] as const)
    expect(() => other(...given)).toThrow(new RegExp(`^numpy must be the numpy export of jax-js, got ${got}`));
});
