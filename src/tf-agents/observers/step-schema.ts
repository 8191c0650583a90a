/** Converts steps to the nested form. Observers also accept steps as a flat list of leaves, or with columns. */
import { mustBe } from "../../base/error.ts";
import { isShaped } from "../../schema/copy-values.ts";
import { type Leaf, type RowLeaf, shapeOf, zeroOf } from "../../schema/leaf.ts";
import { flatten, pack } from "../../schema/nest.ts";
import type { Spec, StepOf } from "../../schema/spec.ts";
import { StepType } from "../time-step.ts";

/** The fields of a trajectory, in the order of TF-Agents. */
const FIELDS = ["stepType", "observation", "action", "policyInfo", "nextStepType", "reward", "discount"];

export class StepSchema<S extends Spec> {
  /** A boundary step of zeros, which is used to pad episodes. */
  readonly padding: StepOf<S>;
  readonly #spec: S;
  /** The leaf of the spec for each entry of a flat list. */
  readonly #order: readonly number[];
  readonly #leaves: readonly RowLeaf[];

  /** @throws ReplayError SPEC_MISMATCH for a spec without a step type */
  constructor(spec: S) {
    const fields = spec as { readonly [name: string]: Spec };
    const { stepType } = fields as { readonly stepType?: Leaf };
    if (typeof stepType?.dtype !== "string" || stepType.shape.length > 0)
      throw mustBe("SPEC_MISMATCH", "the client's spec", ["an object with a stepType of one number", "Use trajectorySpec()"], spec);
    this.#spec = spec;
    const numbers = pack(spec, [...Array(MAX_LEAVES).keys()]) as { readonly [name: string]: unknown };
    const rank = (name: string) => (FIELDS.indexOf(name) + FIELDS.length + 1) % (FIELDS.length + 1);
    const names = Object.keys(fields).sort((a, b) => rank(a) - rank(b) || (a < b ? -1 : 1));
    this.#order = names.flatMap((name) => flatten(fields[name] as Spec, numbers[name])) as number[];
    this.#leaves = flatten(spec, spec) as RowLeaf[];
    const zeros = this.#leaves.map(zeroOf);
    this.padding = { ...(pack(spec, zeros) as object), stepType: StepType.LAST } as StepOf<S>;
  }

  /** Returns the nested form of a step. A step whose step type is a number is already nested and is returned unchanged. */
  nest(step: unknown): StepOf<S> {
    const nestedStep = Array.isArray(step) ? this.#fromFlat(step) : step;
    const stepType = (nestedStep as { readonly stepType?: unknown } | null)?.stepType;
    if (typeof stepType === "number" || typeof stepType === "bigint") return nestedStep as StepOf<S>;
    if (!isShaped(stepType)) throw mustBe("SPEC_MISMATCH", "stepType", "a single number, because a step has no batch dimension", stepType);
    return this.#fromColumns(nestedStep);
  }

  #fromFlat(values: readonly unknown[]): unknown {
    const n = this.#order.length;
    if (values.length !== n) throw mustBe("SPEC_MISMATCH", "a flattened step", `a list of ${n} leaves`, values);
    const ordered: unknown[] = [];
    this.#order.forEach((leaf, i) => {
      ordered[leaf] = values[i];
    });
    return pack(this.#spec, ordered);
  }

  #fromColumns(step: unknown): StepOf<S> {
    const values = flatten(this.#spec, step).map((column, i) => {
      const leafShape = shapeOf(this.#leaves[i] as RowLeaf);
      if (!isShaped(column) || column.shape.join() !== leafShape.join())
        throw mustBe("SPEC_MISMATCH", "every leaf of the step", `a column {data, shape} with the shape of the spec, [${leafShape}]`, column);
      // Returns the array even for a single number, because the array's class carries the dtype.
      return column.data;
    });
    return pack(this.#spec, values) as StepOf<S>;
  }
}

/** Returns the step type of a step. An int64 value is a bigint, and the value of a column is an array. */
export function stepTypeOf(step: unknown): number {
  const { stepType } = step as { stepType: number | bigint | ArrayLike<number> };
  return Number(typeof stepType === "object" ? stepType[0] : stepType);
}

/** One more than the maximum number of leaves in a spec. */
const MAX_LEAVES = 4097;
