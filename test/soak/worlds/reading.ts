/**
 * The options of a draw, and its expected result: windows, columns and n-step returns, computed on plain arrays of step numbers as README, the guide and
 * options.md describe.
 */
import type { Among } from "../../../src/index.ts";
import type { TwinItem, TwinTable } from "../../model/twin-table.ts";
import type { TestRandom } from "../../support/random.ts";
import type { Ends } from "./lanes.ts";
import { elementOf } from "./steps.ts";

export interface Reading {
  readonly length?: number;
  readonly offset?: "start" | "end" | "uniform";
  /** Whether a window continues past the end of an episode. Default: true. */
  readonly cross?: boolean;
  readonly mask?: boolean;
  readonly among?: Among;
  readonly stratified?: boolean;
  readonly nStep?: { readonly n: number; readonly gamma: number; readonly reward: "reward" };
  readonly columns?: typeof COLUMNS;
}

/** The columns of a draw, which always include the first step to identify windows. */
const COLUMNS = {
  start: { leaf: "id", at: 0 },
  tip: { leaf: "id", at: -1 },
  both: { leaf: "id", steps: [-1, 0] },
  boot: { leaf: "id", at: "bootstrap" },
} as const;
/** The columns with which items are created. */
export const OWN = { root: { leaf: "id", at: 0 }, tip: { leaf: "id", at: -1 } } as const;

function amongOf(random: TestRandom): Among {
  const k = random.below(3) === 0 ? { share: random.pick([0.1, 0.5, 1]) } : 1 + random.below(6);
  if (random.below(3) > 0) return { newest: k };
  return typeof k === "number" && random.below(2) === 0 ? k : { oldest: k };
}

/** @param can the options that the draw may use */
export function readingOf(random: TestRandom, can: { readonly among: boolean; readonly stratified: boolean }): Reading {
  const nStep = random.below(3) === 0 ? { n: 1 + random.below(5), gamma: random.pick([0, 0.5, 1]), reward: "reward" as const } : undefined;
  return {
    ...(random.below(3) > 0 && { cross: random.below(2) === 0 }),
    ...(random.below(3) === 0 && { length: 1 + random.below(5), offset: random.pick(["start", "end", "uniform"] as const) }),
    ...(can.among && random.below(4) === 0 && { among: amongOf(random) }),
    ...(can.stratified && random.below(4) === 0 && { stratified: true }),
    ...(random.below(4) === 0 && { mask: true }),
    ...(nStep !== undefined && { nStep, ...(random.below(2) === 0 && { columns: COLUMNS }) }),
  };
}

export interface Rows {
  readonly first: number;
  readonly length: number;
}

/** Returns the steps of an item that a draw reads. @param seen the first step in the result, for a window that begins at a random step */
export function windowOf(item: TwinItem, { length = item.length, offset = "start", cross }: Reading, ends: Ends, seen: number): Rows {
  const spare = Math.max(item.length - length, 0);
  const anywhere = () => Array.from({ length: spare + 1 }, (_, k) => k).findIndex((k) => ends.idOf(item.first + k) === seen);
  const start = offset === "start" ? 0 : offset === "end" ? spare : anywhere();
  if (!(start >= 0 && start <= spare)) throw new Error(`a window of ${length} steps of ${item.length} begins at ${start}`);
  const rows = { first: item.first + start, length: Math.min(length, item.length) };
  return cross === false ? untilEnd(rows, ends) : rows;
}

function untilEnd({ first, length }: Rows, ends: Ends): Rows {
  for (let k = 0; k < length; k++) if (ends.has(first + k)) return { first, length: k + 1 };
  return { first, length };
}

/**
 * Returns the return of at most n steps from the first row. One row is only the bootstrap, and no row of another episode counts.
 * @param asked whether n rewards were requested. In that case, an episode without a final step only cuts a shorter return
 */
function returnOf(rows: Rows, { n, gamma, asked }: Returns, ends: Ends) {
  const { first, length } = untilEnd(rows, ends);
  const steps = Math.min(n, length - 1);
  let [returns, discounts] = [0, 1];
  for (let k = 0; k < steps; k++) {
    returns += discounts * elementOf("reward", "f32", first + k, 0);
    discounts *= gamma;
  }
  const last = ends.get(first + steps);
  const end = asked && last === "plain" && steps === n ? undefined : last;
  const terminated = Number(end === "terminated");
  return { returns, discounts: terminated === 1 ? 0 : discounts, steps, terminated, truncated: Number(end !== undefined) - terminated };
}

export interface Returns {
  readonly n: number;
  readonly gamma: number;
  readonly asked: boolean;
}

/** A column with one or several numbers per item. */
interface Numbers {
  readonly data: ArrayLike<number>;
}

/** Returns the first wrong column of single steps. */
export function wrongColumns(columns: { readonly [name: string]: Numbers }, windows: readonly Rows[], reading: Reading, ends: Ends): string | undefined {
  for (const [i, rows] of windows.entries()) {
    const last = rows.first + rows.length - 1;
    const boot = reading.nStep === undefined ? undefined : rows.first + returnOf(rows, { ...reading.nStep, asked: true }, ends).steps;
    const numbers = { start: [rows.first], root: [rows.first], tip: [last], both: [last, rows.first], boot: boot === undefined ? [] : [boot] };
    const expected = Object.fromEntries(Object.entries(numbers).map(([name, steps]) => [name, steps.map((step) => ends.idOf(step))]));
    for (const [name, { data }] of Object.entries(columns)) {
      const wanted = expected[name] as readonly number[];
      const found = wanted.map((_, k) => data[i * wanted.length + k]);
      if (found.join() !== wanted.join()) return `column ${name} of draw ${i} is ${found} instead of ${wanted}`;
    }
  }
  return undefined;
}

/** Returns the first wrong return. @param columns names and arrays from `sample` or a view */
export function wrongReturns(columns: { readonly [name: string]: ArrayLike<number> }, windows: readonly Rows[], nStep: Returns, ends: Ends) {
  for (const [i, rows] of windows.entries())
    for (const [name, expected] of Object.entries(returnOf(rows, nStep, ends))) {
      const found = columns[name]?.[i];
      if (found !== expected) return `${name} of draw ${i} (${rows.length} steps from ${rows.first}) is ${found} instead of ${expected}`;
    }
  return undefined;
}

/** Returns a description of an item that was drawn an impossible number of times for n strata, each of which covers an n-th of the total weight. */
export function wrongStrata(drawn: readonly TwinItem[], shares: readonly number[], n: number): string | undefined {
  for (const [i, { key }] of drawn.entries()) {
    const times = drawn.filter((one) => one.key === key).length;
    const strata = n * (shares[i] as number);
    if (times < Math.floor(strata + 1e-9) - 1 || times > Math.ceil(strata - 1e-9) + 1)
      return `${n} strata drew key ${key} ${times} times, which has ${strata} of them`;
  }
  return undefined;
}

export interface RefusedError {
  readonly code?: string;
  readonly name: string;
}

/** Returns whether a draw may be rejected: not every selector supports `among`, and a return needs a step after its last step. */
export function mayRefuse({ among, nStep, length }: Reading, { live }: TwinTable, { code, name }: RefusedError): boolean {
  if (code === "UNSUPPORTED") return among !== undefined;
  return name === "RangeError" && nStep !== undefined && (length === 1 || live.every((item) => item.length === 1));
}
