/** Translates Reverb's pattern_dataset_test.py to our dataset. */
import { expect, test } from "vitest";
import { bool, i32, i64 } from "../../src/index.ts";
import { Condition, createConfig, createReferenceStep, PatternDataset, patternDatasetWithInfo, patternFromTransform } from "../../src/tf-agents/index.ts";
import { plain } from "./support.ts";

const EPISODES = { data: i64(), is_last: bool() };
const BY_FLAG = { respectEpisodeBoundaries: true, isEndOfEpisode: (step: { is_last: boolean }) => step.is_last };
const NEVER = { respectEpisodeBoundaries: true, isEndOfEpisode: () => false };
const range = (n: number) => Array.from({ length: n }, (_, i) => i);
const all = (dataset: Iterable<unknown>) => Array.from(dataset, plain);

const NESTED = { observation: { field_0: i64(), field_1: i64() }, action: i64(), is_last: bool() };
const steps = range(4).map((i) => ({ observation: { field_0: BigInt(i), field_1: BigInt(i) }, action: BigInt(i), is_last: false }));

test("a condition selects the steps that become elements", () => {
  const pattern = createReferenceStep(NESTED).action.at(-1);
  const config = createConfig(pattern, "none", { conditions: [Condition.stepIndex().le(2)] });
  expect(all(new PatternDataset(steps, [config], BY_FLAG))).toEqual([0n, 1n, 2n]);
});

const PAIRS = range(4).map((i) => [i, i]);

test("a single step has the shape of its leaf", () => {
  const pattern = patternFromTransform(i32(2), (step) => step.at(-1));
  const config = createConfig(pattern, "none", { conditions: [Condition.stepIndex().le(2)] });
  const dataset = new PatternDataset(PAIRS, [config], NEVER);
  expect(Array.from(dataset, ({ shape }) => shape)).toEqual([[2], [2], [2]]);
  expect(all(dataset)).toEqual(PAIRS.slice(0, 3));
});

test("a slice has an additional dimension for its steps", () => {
  const pattern = patternFromTransform(i32(2), (step) => step.slice(-2));
  const dataset = new PatternDataset(PAIRS, [createConfig(pattern, "none")], NEVER);
  expect(all(dataset)).toEqual(range(3).map((i) => PAIRS.slice(i, i + 2)));
});

test("an element is nested like its pattern", () => {
  const { observation } = createReferenceStep(NESTED);
  const pattern = {
    observation: { field_0: observation.field_0.at(-2), field_1: observation.field_1.at(-2) },
    next_observation: { field_0: observation.field_0.at(-1), field_1: observation.field_1.at(-1) },
  };
  const both = (i: number) => ({ field_0: BigInt(i), field_1: BigInt(i) });
  const wanted = range(3).map((i) => ({ observation: both(i), next_observation: both(i + 1) }));
  expect(all(new PatternDataset(steps, [createConfig(pattern, "none")], BY_FLAG))).toEqual(wanted);
});

/** Returns pairs of adjacent steps, from an episode of four steps and an episode of three. */
function pairs(respectEpisodeBoundaries: boolean): unknown[] {
  const { data } = createReferenceStep(EPISODES);
  const config = createConfig({ data: data.at(-2), next: data.at(-1) }, "none");
  const two = range(7).map((i) => ({ data: BigInt(i), is_last: i === 3 || i === 6 }));
  return all(new PatternDataset(two, [config], { ...BY_FLAG, respectEpisodeBoundaries }));
}
const pair = (i: number) => ({ data: BigInt(i), next: BigInt(i + 1) });

test("with respectEpisodeBoundaries no element spans two episodes", () => {
  expect(pairs(true)).toEqual([0, 1, 2, 4, 5].map(pair));
});

test("without respectEpisodeBoundaries elements span episodes", () => {
  expect(pairs(false)).toEqual([0, 1, 2, 3, 4, 5].map(pair));
});

test("patternDatasetWithInfo adds an info of zeros to each element", () => {
  const pattern = patternFromTransform({ data: i64() }, (step) => step.data.at(-1));
  const config = createConfig(pattern, "none", { conditions: [Condition.stepIndex().le(2)] });
  const dataset = patternDatasetWithInfo(
    range(4).map((i) => ({ data: BigInt(i) })),
    [config],
    NEVER,
  );
  const info = { key: 0, probability: 0, tableSize: 0, priority: 0, timesSampled: 0 };
  expect(all(dataset)).toEqual([0n, 1n, 2n].map((data) => ({ info, data })));
});
