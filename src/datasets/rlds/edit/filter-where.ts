/** Selects the episodes for which conditions hold. */
import { mustBe } from "../../../base/error.ts";
import { isHalf, roundHalf } from "../../../schema/half.ts";
import { isText } from "../../../schema/leaf.ts";
import type { RldsDataset, StepLeaf, StepSpec } from "../../model/dataset.ts";
import { everyElement } from "../../model/elements.ts";
import { lastFlagOf } from "../../model/final-observation.ts";
import { statedFinalStep } from "../../model/final-step.ts";
import { type LeafEntry, leavesOf } from "../../model/leaves.ts";
import { type Comparison, conditionOf, type EpisodeCondition } from "./condition.ts";
import { type ColumnDataset, type ColumnEpisode, mapColumns } from "./map-columns.ts";

/** The fields that have no meaning in a final observation. */
const OUTCOMES: readonly unknown[] = ["action", "reward", "discount"];

type Test = (episode: ColumnEpisode) => boolean;
type ElementTest = (element: unknown) => boolean;

/**
 * Returns the episodes in which every condition holds in at least one step, for example `filterWhere(data, "return >= 10", "success")`.
 *
 * A condition refers to a leaf of the steps, metadata of the episode, `return` (the sum of the rewards) or `length` (the number of steps). A condition on an
 * array holds if it holds for any element. A path that ends with an index selects one element, as in `observation/state/1 > 2`. Without a comparison, the
 * condition holds for values that are not zero, not false and not empty. Actions, rewards and discounts of final observations do not count.
 *
 * Works lazily, and keeps one episode in memory. Costs O(elements of the leaf).
 * @throws TypeError, RangeError if a condition is invalid
 * @throws RangeError during iteration if the data does not have the path, or if the comparison is not possible with text
 */
export function filterWhere(rlds: RldsDataset<unknown>, ...where: readonly (string | EpisodeCondition)[]): ColumnDataset {
  const conditions = where.map(conditionOf);
  return mapColumns(rlds, {
    begin(stepSpec, metadataSpec) {
      const tests = conditions.map((condition) => testOf(condition, stepSpec, metadataSpec));
      return (episode) => (tests.every((test) => test(episode)) ? episode : undefined);
    },
  });
}

function testOf(condition: EpisodeCondition, stepSpec: StepSpec, metadataSpec: { readonly [name: string]: StepSpec }): Test {
  const path = condition.path.replaceAll(".", "/");
  const number: StepLeaf = { dtype: "f64", shape: [] };
  if (path === "length") return lengthTest(elementTest(condition, number));
  if (path === "return") return returnTest(elementTest(condition, number), stepSpec);
  const isNamed = (leaf: LeafEntry) => leaf.path === path || leaf.path.startsWith(`${path}/`);
  const inSteps = leavesOf(stepSpec)
    .map((leaf, index) => ({ ...leaf, index }))
    .filter(isNamed);
  const inMetadata = leavesOf(metadataSpec as StepSpec).filter(isNamed);
  if (inSteps.length > 0) return stepsTest(inSteps.map((leaf) => ({ ...leaf, test: elementTest(condition, leaf.leaf) })));
  if (inMetadata.length > 0) {
    const tests = inMetadata.map((leaf) => ({ keys: leaf.keys, test: elementTest(condition, leaf.leaf) }));
    return (episode) => tests.some(({ keys, test }) => !everyElement(metadataAt(episode, keys), (element) => !test(element)));
  }
  const [element] = elementsAt(path, stepSpec);
  if (element !== undefined) return stepsTest([{ ...element, test: elementTest(condition, element.leaf) }]);
  const specs = [stepSpec, metadataSpec as StepSpec];
  // The same path may exist in the steps and in the metadata.
  const paths = new Set(["return", "length", ...specs.flatMap((spec) => leavesOf(spec).map((leaf) => leaf.path))]);
  throw mustBe(RangeError, "where", `a condition on one of ${[...paths].join(", ")}`, condition.path, paths);
}

interface ElementEntry extends LeafEntry {
  /** The index of the leaf in the spec. */
  readonly index: number;
  /** The index of the selected element, if the path ends with an index. */
  readonly element?: number;
}

/** Returns the elements that a path with an index at its end selects. @throws RangeError if a leaf does not have the element */
function elementsAt(path: string, stepSpec: StepSpec): readonly ElementEntry[] {
  return leavesOf(stepSpec).flatMap((leaf, index) => {
    if (!path.startsWith(`${leaf.path}/`)) return [];
    const { shape } = leaf.leaf;
    const indices = path.slice(leaf.path.length + 1).split("/");
    if (shape.length === 0 || !indices.every((one) => /^\d{1,15}$/.test(one))) return [];
    const isIn = indices.length === shape.length && indices.every((one, i) => Number(one) < (shape[i] as number));
    if (!isIn) throw mustBe(RangeError, "where", `a condition on ${leaf.path} or one of its ${shape.join(" × ")} elements`, path);
    return [{ ...leaf, index, element: indices.reduce((at, one, i) => at * (shape[i] as number) + Number(one), 0) }];
  });
}

function metadataAt(episode: object, keys: readonly string[]): unknown {
  return keys.reduce<unknown>((at, key) => (at as { readonly [key: string]: unknown } | undefined)?.[key], episode);
}

/** Returns whether the last step of an episode is a final observation. */
function hasFinal(episode: ColumnEpisode): boolean {
  return statedFinalStep(episode) !== "transition" && lastFlagOf(episode.steps) === true;
}

const lengthTest =
  (test: ElementTest): Test =>
  ({ steps }) =>
    test(steps.length);

function returnTest(test: ElementTest, stepSpec: StepSpec): Test {
  const index = leavesOf(stepSpec).findIndex(({ path, size, leaf }) => path === "reward" && size === 1 && !isText(leaf));
  if (index < 0) throw mustBe(RangeError, "where", "a condition on length or a leaf, because the data has no reward that is a single number", "return");
  return (episode) => {
    const rewards = episode.steps.data[index] as ArrayLike<number | bigint>;
    let sum = 0;
    for (let i = 0; i < rewards.length - Number(hasFinal(episode)); i++) sum += Number(rewards[i]);
    return test(sum);
  };
}

function stepsTest(leaves: readonly (ElementEntry & { readonly test: ElementTest })[]): Test {
  return (episode) => {
    const { steps } = episode;
    return leaves.some(({ keys, index, size, element, test }) => {
      const column = steps.data[index] as ArrayLike<unknown>;
      const count = OUTCOMES.includes(keys[0]) && hasFinal(episode) ? size * (steps.length - 1) : size * steps.length;
      for (let i = element ?? 0; i < count; i += element === undefined ? 1 : size) if (test(column[i])) return true;
      return false;
    });
  };
}

// The type is only nominal, because bigints and numbers can be compared with each other by value.
type Ordered = number;
const COMPARE: { readonly [comparison in Comparison]: (a: Ordered, b: Ordered) => boolean } = {
  // biome-ignore lint/suspicious/noDoubleEquals: a bigint equals a number of the same value
  "=": (a, b) => a == b,
  // biome-ignore lint/suspicious/noDoubleEquals: a bigint equals a number of the same value
  "!=": (a, b) => a != b,
  "<": (a, b) => a < b,
  "<=": (a, b) => a <= b,
  ">": (a, b) => a > b,
  ">=": (a, b) => a >= b,
};

/** Returns the test of a condition for one element. @throws RangeError if elements of the leaf cannot be compared with the value */
function elementTest({ path, comparison, value }: EpisodeCondition, { dtype }: StepLeaf): ElementTest {
  if (comparison === undefined) return dtype === "bytes" ? (bytes) => (bytes as Uint8Array).length > 0 : Boolean;
  const compare = COMPARE[comparison] as (a: unknown, b: unknown) => boolean;
  if (dtype === "bytes") throw mustBe(RangeError, `where: ${path}`, "a numeric or text leaf", dtype);
  if (dtype === "string") {
    if (comparison !== "=" && comparison !== "!=") throw mustBe(RangeError, `where: ${path}`, "compared with = or !=, because it is text", comparison);
    const text = String(value);
    return (element) => compare(element, text);
  }
  if (typeof value === "string") throw mustBe(RangeError, `where: ${path}`, `compared with a number, because it is ${dtype}`, value);
  const wanted = typeof value === "bigint" ? value : storedNumber(dtype, Number(value));
  return (element) => compare(typeof element === "boolean" ? Number(element) : element, wanted);
}

/** Returns a number in the precision of a leaf. For example, 0.1 stored as f32 is not equal to 0.1. */
function storedNumber(dtype: string, value: number): number {
  return dtype === "f32" ? Math.fround(value) : isHalf(dtype) ? roundHalf(dtype, value) : value;
}
