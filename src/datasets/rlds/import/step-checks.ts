/** Checks the flags, the reward, the form and the finiteness of each step of an episode. */
import { isFloat } from "../../../schema/dtype.ts";
import { isText } from "../../../schema/leaf.ts";
import { valueAt } from "../../../schema/nest.ts";
import type { MaybeAsyncIterable, RldsStep, StepSpec } from "../../model/dataset.ts";
import { flagOf, nonFiniteIn, numberOf } from "../../model/elements.ts";
import { isLazy, wholeColumn } from "../../model/lazy-column.ts";
import { type LeafEntry, leavesOf, sameSpec } from "../../model/leaves.ts";
import { forEach } from "../../model/maybe-async.ts";
import { RldsError } from "../../model/rlds-error.ts";
import { type ColumnData, StepColumns, slicedColumn } from "../../model/step-columns.ts";
import { STEP_FIELDS } from "../../model/step-fields.ts";
import { type Mismatch, stepChecker, stepSpecOf } from "../../model/step-spec.ts";

/** The fields whose numbers must be finite. In the metadata of a step, NaN means a missing value, and learners do not read metadata. */
const FINITE_FIELDS: readonly string[] = ["observation", "action", "reward", "discount"];
/** The number of steps that are read together from a lazy column. */
const PIECE_STEPS = 4096;

export const FIRST = 1;
export const LAST = 2;
export const TERMINAL = 4;

/** A leaf of one step that contains NaN or infinite numbers. */
export interface NonFiniteLeaf {
  readonly keys: readonly string[];
  readonly path: string;
  readonly count: number;
  readonly value: number;
}

export interface StepFacts {
  /** The bits FIRST, LAST and TERMINAL. */
  readonly flags: number;
  /** The reward, or NaN if it is not a single number. */
  readonly reward: number;
  readonly mismatch?: Mismatch;
  readonly nonFinite?: readonly NonFiniteLeaf[];
}

const FLAGS = [
  ["is_first", FIRST],
  ["is_last", LAST],
  ["is_terminal", TERMINAL],
] as const;

/** Checks steps against the spec of the dataset, or against the spec of the first valid step. */
export class Inspector {
  #spec: StepSpec | undefined;
  #check: ((step: unknown) => Mismatch | undefined) | undefined;
  #floats: readonly LeafEntry[] = [];

  constructor(spec: StepSpec | undefined) {
    if (spec !== undefined) this.#setSpec(spec);
  }

  #setSpec(spec: StepSpec): void {
    this.#spec = spec;
    this.#check = stepChecker(spec);
    this.#floats = floatsOf(spec);
  }

  /**
   * Calls `visit` with the facts about each step, and with the step unless the steps are columns. Returns a promise only for async steps. O(leaves + float
   * elements) per step
   */
  read<S>(steps: MaybeAsyncIterable<S>, visit: (facts: StepFacts, step: S | undefined) => void): Promise<void> | undefined {
    if (steps instanceof StepColumns) {
      if (this.#spec === undefined) this.#setSpec(steps.spec);
      if (sameSpec(steps.spec, this.#spec as StepSpec)) {
        const read = columnsReader(steps);
        if (read !== undefined) return read(visit);
      }
    }
    return forEach(steps, (step) => visit(this.#factsOf(step as RldsStep), step));
  }

  #factsOf(step: RldsStep): StepFacts {
    if (!STEP_FIELDS.every((field) => step?.[field] !== undefined))
      return { flags: 0, reward: Number.NaN, mismatch: { path: "step", rule: `an object with ${STEP_FIELDS.join(", ")}`, value: step } };
    let mismatch: Mismatch | undefined;
    try {
      if (this.#check === undefined) this.#setSpec(stepSpecOf(step));
      mismatch = this.#check?.(step);
    } catch (error) {
      if (!(error instanceof RldsError)) throw error;
      mismatch = { path: "step", rule: "a step with a spec", value: error.message };
    }
    let flags = 0;
    for (const [name, bit] of FLAGS) {
      const value = step[name];
      const flag = flagOf(value);
      if (flag) flags |= bit;
      if (flag === undefined) mismatch ??= { path: name, rule: "a flag: true, false, 1 or 0", value };
    }
    let nonFinite: readonly NonFiniteLeaf[] | undefined;
    for (const { keys, path } of this.#floats) {
      const nonFiniteValues = nonFiniteIn(valueAt(step, keys));
      if (nonFiniteValues !== undefined) nonFinite = [...(nonFinite ?? []), { keys, path, ...nonFiniteValues }];
    }
    return { flags, reward: numberOf(step.reward), mismatch, nonFinite };
  }
}

/** Returns whether values that are not finite are a fault in this leaf. */
export function mustBeFinite({ keys, leaf }: Pick<LeafEntry, "keys" | "leaf">): boolean {
  return FINITE_FIELDS.includes(keys[0] as string) && isFloat(leaf.dtype);
}

function floatsOf(spec: StepSpec): LeafEntry[] {
  return leavesOf(spec).filter(mustBeFinite);
}

/** Returns a check that reads columns instead of steps, or undefined if a flag is not a single number. */
function columnsReader(steps: StepColumns<unknown>): ((visit: (facts: StepFacts, step: undefined) => void) => undefined) | undefined {
  const leaves = leavesOf(steps.spec);
  const columnAt = (path: string) => leaves.findIndex((leaf) => leaf.path === path && leaf.size === 1 && !isText(leaf.leaf));
  const [first, last, terminal, reward] = ["is_first", "is_last", "is_terminal", "reward"].map((name) => {
    const at = columnAt(name);
    return at < 0 ? undefined : (wholeColumn(steps.parts[at] as ColumnData) as ArrayLike<number | bigint>);
  });
  const hasFlags = [first, last, terminal].every((column) => column !== undefined && Array.prototype.every.call(column, (flag) => flag === 0 || flag === 1));
  if (!hasFlags || !STEP_FIELDS.every((field) => field in steps.spec)) return undefined;
  return (visit) => {
    const nonFinite = nonFiniteSteps(leaves, steps);
    const { length } = steps;
    for (let i = 0; i < length; i++) {
      const flags = (first?.[i] ? FIRST : 0) | (last?.[i] ? LAST : 0) | (terminal?.[i] ? TERMINAL : 0);
      visit({ flags, reward: reward === undefined ? Number.NaN : Number(reward[i]), nonFinite: nonFinite.get(i) }, undefined);
    }
    return undefined;
  };
}

function nonFiniteSteps(leaves: readonly LeafEntry[], steps: StepColumns<unknown>): Map<number, NonFiniteLeaf[]> {
  const leavesByStep = new Map<number, NonFiniteLeaf[]>();
  leaves.forEach((entry, k) => {
    if (!mustBeFinite(entry)) return;
    const { keys, path, size } = entry;
    // At most one piece of a lazy column is in memory.
    const column = steps.parts[k] as ColumnData;
    const height = isLazy(column) ? PIECE_STEPS : Math.max(steps.length, 1);
    for (let from = 0; from < steps.length; from += height) {
      const part = slicedColumn(column, from * size, Math.min(steps.length, from + height) * size);
      const data = (isLazy(part) ? part.read() : part) as Float64Array;
      for (let at = 0; at < data.length; at++) {
        if (Number.isFinite(data[at])) continue;
        const step = Math.floor(at / size);
        const values = nonFiniteIn(data.subarray(step * size, (step + 1) * size));
        if (values !== undefined) leavesByStep.set(from + step, [...(leavesByStep.get(from + step) ?? []), { keys, path, ...values }]);
        at = (step + 1) * size - 1;
      }
    }
  });
  return leavesByStep;
}
