/** Compares statistics of datasets with the real `rlds`, NumPy and naive sums. */
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { histogram, mapSteps, type RldsDataset, rldsDataset, statistics } from "../../../../src/datasets/rlds/index.ts";
import { FORMS, goodEpisode, goodEpisodes, TEST_SPEC, type TestStep } from "../../../support/faulty-rlds.ts";
import { TestRandom } from "../../../support/random.ts";
import { expectError } from "../../../support/refused.ts";
import { whole } from "../../../support/size.ts";
import { goldenSteps } from "./golden-steps.ts";

const GOLDEN = JSON.parse(readFileSync(new URL("../../../data/extra/rlds_transformations.json", import.meta.url), "utf8"));
type Form = keyof typeof FORMS;

function datasetOf(episodes: readonly (readonly TestStep[])[], form: Form, hasSpec = true): RldsDataset<TestStep> {
  return rldsDataset(() => episodes.map((steps) => ({ steps: FORMS[form](steps) })), hasSpec ? { stepSpec: TEST_SPEC } : {});
}

/** Computes statistics in two passes over all values. */
function naive(values: readonly number[]) {
  const mean = values.reduce((a, b) => a + b, 0) / values.length;
  const std = Math.sqrt(values.reduce((a, b) => a + (b - mean) ** 2, 0) / (values.length - 1));
  return { min: Math.min(...values), max: Math.max(...values), mean, std };
}

function expectNear(found: ArrayLike<number>, wanted: ArrayLike<number>, relative = 1e-12): void {
  expect(found.length).toBe(wanted.length);
  for (let i = 0; i < found.length; i++) {
    const [a, b] = [found[i], wanted[i]] as [number, number];
    expect(Object.is(a, b) || Math.abs(a - b) <= relative * Math.max(1, Math.abs(b)), `${a} is not ${b}`).toBe(true);
  }
}

test("means, deviations, lengths and returns equal those of rlds", async () => {
  const { episodes, mean, std } = GOLDEN.mean_and_std;
  const rlds = episodes.map(([length, number, terminal]: [number, number, boolean]) => ({ steps: goldenSteps(length, number, terminal) }));
  const { leaves, lengths, returns } = await statistics(rlds, { paths: ["observation/state", "action", "reward"] });
  expect(leaves.map(({ path }) => path)).toEqual(["action", "observation/state", "reward"]);
  for (const { path, elements } of leaves) {
    const name = path.split("/").at(-1) as string;
    // rlds computes the sum of a leaf in the leaf's dtype.
    expectNear(elements.mean, [mean[name]].flat(), 1e-6);
    expectNear(elements.std, [std[name]].flat(), 1e-6);
  }
  expect(lengths.values).toEqual(GOLDEN.episode_length);
  expect(returns.values).toEqual(GOLDEN.sum_dataset);
});

test("statistics of all leaves equal two-pass sums, in every form of steps", async () => {
  const random = new TestRandom(5);
  for (let round = 0; round < 10; round++) {
    const episodes = goodEpisodes(random, 6);
    const all = episodes.flat();
    const acted = all.filter(({ is_last }) => !is_last);
    const results = [];
    for (const form of Object.keys(FORMS) as Form[]) {
      const found = await statistics(datasetOf(episodes, form));
      expect(found).toMatchObject({ episodes: 6, steps: all.length, transitions: acted.length });
      const leaf = (path: string) => found.leaves.find((leaf) => leaf.path === path) as (typeof found.leaves)[0];
      expect(leaf("tag")).toBeUndefined();
      const check = (path: string, rows: number[][], count: number) => {
        const { min, max, mean, std, elements } = leaf(path);
        expect(leaf(path)).toMatchObject({ count, nonFinite: 0 });
        const wanted = naive(rows.flat());
        if (rows.length > 0) expectNear([min, max, mean, std] as number[], [wanted.min, wanted.max, wanted.mean, wanted.std]);
        else expectNear([min, max, mean, std] as number[], Array(4).fill(Number.NaN));
        for (let i = 0; rows.length > 1 && i < (rows[0] as number[]).length; i++) {
          const own = naive(rows.map((row) => row[i] as number));
          const { min, max, mean, std } = elements as unknown as { [name: string]: Float64Array };
          expectNear([min?.[i], max?.[i], mean?.[i], std?.[i]] as number[], [own.min, own.max, own.mean, own.std]);
        }
      };
      check(
        "observation/state",
        all.map(({ observation }) => [...observation.state]),
        all.length,
      );
      check(
        "observation/goal",
        all.map(({ observation }) => [observation.goal]),
        all.length,
      );
      check(
        "action",
        acted.map(({ action }) => [...action]),
        acted.length,
      );
      check(
        "reward",
        acted.map(({ reward }) => [reward]),
        acted.length,
      );
      check(
        "is_last",
        all.map(({ is_last }) => [Number(is_last)]),
        all.length,
      );
      const lengths = episodes.map((steps) => steps.length);
      expect(found.lengths.values).toEqual(lengths);
      expectNear([found.lengths.mean, found.lengths.std], [naive(lengths).mean, naive(lengths).std]);
      const returns = episodes.map((steps) => steps.slice(0, -1).reduce((sum, { reward }) => sum + reward, 0));
      expectNear(found.returns.values, returns);
      results.push(found);
    }
    // The results are identical in every bit, because the form of the steps does not affect their values.
    for (const result of results) expect(result).toEqual(results[0]);
  }
});

test("minimum, maximum and mean of bigints are exact", async () => {
  const at = 2n ** 62n;
  const steps = goodEpisode(4, 0).map((step, i) => ({ ...step, observation: { state: step.observation.state, goal: 0, id: [at + BigInt(i), BigInt(-i)] } }));
  const { leaves } = await statistics([{ steps }] as never, { paths: ["observation/id"] });
  expect(leaves[0]).toMatchObject({
    path: "observation/id",
    dtype: "i64",
    shape: [2],
    count: 4,
    min: -3n,
    max: at + 3n,
    mean: Number((at * 4n) / 8n),
    elements: { min: [at, -3n], max: [at + 3n, 0n], mean: new Float64Array([Number(at) + 1.5, -1.5]) },
  });
  expectNear(leaves[0]?.elements.std as Float64Array, [Math.sqrt(5 / 3), Math.sqrt(5 / 3)]);
});

test.runIf(whole)("many values far from 0 have an accurate deviation", async () => {
  const steps = Array.from({ length: 100_001 }, (_, i) => ({ ...(goodEpisode(1, 0)[0] as TestStep), is_last: false, reward: 1e9 + (i % 3) }));
  const [reward] = (await statistics([{ steps }], { paths: ["reward"] })).leaves;
  expectNear([reward?.mean as number, reward?.std as number], [1e9 + 1, Math.sqrt((2 * 66_667) / 3 / 66_667)], 1e-4);
  expect(reward?.std).toBeCloseTo(Math.sqrt(2 / 3), 5);
});

test("non-finite values are counted, and affect the sums", async () => {
  const steps = goodEpisode(5, 0).map((step, i) => (i === 2 ? { ...step, reward: Number.NaN, action: new Float32Array([Infinity, Number.NaN]) } : step));
  const { leaves, returns } = await statistics(datasetOf([steps], "columns"), { paths: ["reward", "action"] });
  expect(leaves.map(({ path, nonFinite }) => [path, nonFinite])).toEqual([
    ["action", 2],
    ["reward", 1],
  ]);
  expect(leaves[1]).toMatchObject({ mean: Number.NaN, min: 0, max: 3 / 8 });
  expect(returns.values).toEqual([Number.NaN]);
});

test("empty datasets have NaN statistics", async () => {
  const nothing = await statistics([]);
  expect(nothing).toMatchObject({ episodes: 0, steps: 0, transitions: 0, leaves: [], lengths: { min: Number.NaN, mean: Number.NaN, values: [] } });
  const empty = await statistics(rldsDataset<TestStep>(() => [{ steps: [] }], { stepSpec: TEST_SPEC }));
  expect(empty).toMatchObject({ episodes: 1, steps: 0, transitions: 0, returns: { values: [0] } });
  for (const leaf of empty.leaves) expect(leaf).toMatchObject({ count: 0, min: Number.NaN, max: Number.NaN, mean: Number.NaN, std: Number.NaN });
});

test("the normalisation of the docstring has mean 0 and deviation 1", async () => {
  const rlds = mapSteps(datasetOf([goodEpisode(50, 0), goodEpisode(30, 1)], "array"), (step) => ({ ...step, observation: step.observation.state }));
  const [leaf] = (await statistics(rlds, { paths: ["observation"] })).leaves;
  const { mean, std } = (leaf as NonNullable<typeof leaf>).elements as { mean: Float64Array; std: Float64Array };
  std[2] = 1; // the third value is constant
  const normal = mapSteps(rlds, (step) => ({ ...step, observation: step.observation.map((x, i) => (x - (mean[i] as number)) / (std[i] as number)) }));
  const [after] = (await statistics(normal, { paths: ["observation"] })).leaves;
  expectNear(after?.elements.mean as Float64Array, [0, 0, 0], 1e-6);
  expectNear(after?.elements.std as Float64Array, [1, 1, 0], 1e-6);
});

test("histograms equal those of numpy", () => {
  expect(GOLDEN.histogram.length).toBe(18);
  for (const [values, bins, counts, edges] of GOLDEN.histogram) {
    const found = histogram(values, bins);
    expect(found.counts, JSON.stringify([values, bins])).toEqual(counts);
    expectNear(found.edges, edges);
  }
  expect(histogram([1, 2, Number.NaN, Infinity], 2).counts).toEqual([1, 1]);
  expect(() => histogram([1], 0)).toThrow(RangeError);
});

test("each value is between the edges of its bin, for any rounding", () => {
  const random = new TestRandom(3);
  for (let round = 0; round < 300; round++) {
    const values = Array.from({ length: 50 }, () => random.below(40) / 10 - 1.3);
    const { counts, edges } = histogram(values, 1 + random.below(30));
    const isIn = (value: number, bin: number) =>
      value >= (edges[bin] as number) && (value < (edges[bin + 1] as number) || (bin === counts.length - 1 && value === edges[bin + 1]));
    expect(counts).toEqual(counts.map((_, bin) => values.filter((value) => isIn(value, bin)).length));
  }
});

test("a quotient that rounds up does not move a value into the next bin", () => {
  const counts = new Array<number>(25).fill(0);
  for (const bin of [0, 20, 24]) counts[bin] = 1;
  // The edge between the bins is 24.408000000000005.
  expect(histogram([-3.9, 24.408, 29.8 + 4e-15], 25).counts).toEqual(counts);
});

test("statistics reject invalid arguments, ragged steps and aborted signals", async () => {
  const refused = (promise: Promise<unknown>) =>
    promise.then(
      () => new Error("not refused"),
      (error: Error) => error,
    );
  const rlds = datasetOf([goodEpisode(3, 0)], "array");
  expectError(
    await refused(statistics(rlds, { paths: ["observation/stat"] })),
    RangeError,
    /^a path in paths must be one of action, .*observation\/state.*, got "observation\/stat"/,
  );
  expectError(await refused(statistics(rlds, { paths: ["tag"] })), RangeError, /^a path in paths/);
  expectError(await refused(statistics(rlds, { path: [] } as never)), TypeError, /path/);
  const ragged = goodEpisode(3, 0).map((step, i) => (i === 1 ? { ...step, action: new Float32Array(3) } : step));
  expectError(
    await refused(statistics(datasetOf([goodEpisode(2, 0), ragged], "generator"))),
    "SPEC_MISMATCH",
    /^action must be f32 of shape \[2\].*episode 1, step 1/,
  );
  const reason = new Error("enough");
  expect(await refused(statistics(rlds, { signal: AbortSignal.abort(reason) }))).toBe(reason);
});
