/** Generates random configs of structured writers and random steps, to compare implementations with the twin. */
import type { TestRandom } from "./random.ts";
import type { TwinCondition, TwinConfig, TwinNode } from "./structured-twin.ts";

export const TABLES = ["t", "u"];

export const SPEC = {
  a: { dtype: "int32", shape: [] },
  b: { dtype: "float32", shape: [] },
  flag: { dtype: "bool", shape: [] },
  deep: { pair: { dtype: "float64", shape: [2] }, long: { dtype: "int64", shape: [] }, one: { dtype: "uint8", shape: [1] } },
};
const FIELDS = ["a", "b", "flag", ["deep", "pair"], ["deep", "long"], ["deep", "one"]];
/** Fields that conditions may compare. */
const SCALARS = ["a", "b", "flag", ["deep", "long"], ["deep", "one"]];
const OPS = ["==", "!=", "<", "<=", ">", ">="] as const;

export function node(random: TestRandom): TwinNode {
  const field = random.pick(FIELDS);
  const start = -1 - random.below(5);
  if (random.below(3) === 0) return { field, at: start };
  const stop = random.below(2) === 0 ? null : random.below(-start) + start + 1;
  return { field, slice: [start, stop, random.pick([null, 1, 2, 3])] };
}

function condition(random: TestRandom): TwinCondition {
  const of = random.pick(["step_index", "steps_since_applied", "data", "data"] as const);
  const isSingle = random.below(3) > 0;
  const mod = isSingle ? undefined : 1 + random.below(4);
  const [op, value] = [random.pick(OPS), random.below(5)];
  return { of, ...(of === "data" ? { field: random.pick(SCALARS) } : {}), ...(mod === undefined ? {} : { mod }), op, value };
}

export function config(random: TestRandom, pattern: unknown): TwinConfig {
  const conditions: TwinCondition[] = Array.from({ length: random.below(3) }, () => condition(random));
  if (random.below(4) === 0) conditions.push({ of: "is_end_episode" });
  const priority = random.pick([undefined, 2.5, 0, { td_error: 0.75, field: random.pick(["a", "b", ["deep", "long"]]) }]);
  return { pattern, table: random.pick(TABLES), conditions, ...(priority === undefined ? {} : { priority }) };
}

export function pattern(random: TestRandom): unknown {
  const made = [random.below(5) === 0 ? [node(random), node(random)] : node(random), { y: node(random) }];
  const shape = random.below(6);
  return shape === 0 ? made[0] : { z: made[0], x: made[1] };
}

export type Step = Map<string, unknown>;

export function randomStep(random: TestRandom, chance: number): Step {
  const values: [string, unknown][] = [
    ["a", random.below(9) - 4],
    ["b", random.below(9) / 4 - 1],
    ["flag", random.below(2) === 1],
    ["deep.pair", [random.next(), random.next()]],
    ["deep.long", random.below(6)],
    ["deep.one", [random.below(4)]],
  ];
  return new Map(values.filter(() => random.next() < chance));
}

/** Returns a step in the form for `append`, with null for missing values. */
export function given(values: Step): unknown {
  const at = (path: string) => values.get(path) ?? null;
  return { a: at("a"), b: at("b"), flag: at("flag"), deep: { pair: at("deep.pair"), long: at("deep.long"), one: at("deep.one") } };
}
