/** Prepares a config for its writer. The steps, leaves and comparisons that the config uses are determined only once. */
import { described, mustBe, ReplayError } from "../../base/error.ts";
import type { ColumnOf } from "../../schema/columns.ts";
import { leafText } from "../../schema/leaf.ts";
import { pathText } from "../../schema/nest.ts";
import type { FoundLeaf } from "../../schema/spec.ts";
import { testOf } from "./condition.ts";
import { type Config, nameOf } from "./config.ts";
import { nodesOf, type PatternNode } from "./pattern.ts";

type Test = (number: number | bigint) => boolean;

export interface CompiledNode {
  readonly keys: readonly string[];
  readonly node: PatternNode;
  /** The index of the column's leaf among the leaves of the steps. */
  readonly leaf: number;
  /** The ages of the column's steps, oldest first. The newest step has age 1. */
  readonly ages: readonly number[];
}

export interface CompiledConfig {
  readonly config: Config;
  readonly nodes: readonly CompiledNode[];
  /** The number of newest steps that must be available for an item. */
  readonly reach: number;
  /** The distance from the end of the item to the newest step. */
  readonly endOffset: number;
  readonly length: number;
  /** The columns, in the form that an item uses. */
  readonly columns: { readonly [name: string]: ColumnOf };
  /** Whether the config applies only to the ends of episodes. */
  readonly atEnd: boolean;
  readonly ofIndex: readonly Test[];
  readonly ofSince: readonly Test[];
  readonly ofData: readonly { readonly leaf: number; readonly test: Test }[];
  /** The leaf of the errors, the weight, and the ages of the last column with this leaf. Undefined unless the priority is computed from errors. */
  readonly errors: { readonly leaf: number; readonly weight: number; readonly ages: readonly number[] } | undefined;
}

/**
 * Compiles a config for steps of the given leaves.
 * @param leaves the leaves that the steps will have
 * @param subject the name of the config in messages
 * @throws ReplayError SPEC_MISMATCH if the config was made for other leaves
 */
export function compileConfig(config: Config, leaves: readonly FoundLeaf[], subject: string): CompiledConfig {
  const { conditions, priority } = config;
  const numberOf = (leaf: FoundLeaf) => leafNumber(leaf, leaves, subject);
  const nodes = nodesOf(config.pattern).map(({ keys, node }) => ({ keys, node, leaf: numberOf(node.leaf), ages: node.ages }));
  const reach = Math.max(...nodes.map(({ ages: [oldest = 1] }) => oldest));
  const newest = Math.min(...nodes.map(({ ages }) => ages.at(-1) ?? 1));
  const of = (subject: string) => conditions.filter((condition) => condition.of === subject);
  const errorLeaf = priority.leaf === undefined ? undefined : numberOf(priority.leaf);
  const column = nodes.filter(({ leaf }) => leaf === errorLeaf).at(-1);
  return {
    config,
    nodes,
    reach,
    endOffset: newest - 1,
    length: reach - newest + 1,
    columns: Object.fromEntries(nodes.map(({ keys, node, ages }) => [nameOf(keys), columnOf(node, ages, newest)])),
    atEnd: of("isEndEpisode").length > 0,
    ofIndex: of("stepIndex").map(testOf),
    ofSince: of("stepsSinceApplied").map(testOf),
    ofData: of("data").map((condition) => ({ leaf: numberOf(condition.leaf as FoundLeaf), test: testOf(condition) })),
    errors: errorLeaf === undefined ? undefined : { leaf: errorLeaf, weight: priority.value, ages: column?.ages ?? [] },
  };
}

/** Returns the number of the leaf in `leaves` that has the same path as the given leaf. */
function leafNumber({ path, leaf, shape, keys }: FoundLeaf, leaves: readonly FoundLeaf[], subject: string): number {
  const text = leafText(leaf.dtype, shape);
  const number = leaves.findIndex((candidate) => candidate.path === path);
  const stepLeaf = leaves[number];
  if (stepLeaf === undefined) throw new ReplayError("SPEC_MISMATCH", `the spec of the steps has no field ${pathText(keys)} (${text}), which ${subject} uses`);
  const specText = leafText(stepLeaf.leaf.dtype, stepLeaf.shape);
  if (specText !== text) throw mustBe("SPEC_MISMATCH", `${pathText(keys)} of ${subject}`, `${specText}, as in the spec of the steps`, described(text));
  return number;
}

/** Returns the column of a node, counted from the end of an item whose newest step has the age `newest`. */
function columnOf({ leaf, isSqueezed, step }: PatternNode, ages: readonly number[], newest: number): ColumnOf {
  const offset = (age: number) => newest - 1 - age;
  const [oldest = 1] = ages;
  const last = offset(ages.at(-1) ?? 1);
  if (isSqueezed) return { leaf: leaf.path, at: last };
  return { leaf: leaf.path, from: offset(oldest), ...(last === -1 ? {} : { to: last + 1 }), ...(step === null ? {} : { step }) };
}
