/** Defines the conditions under which a config applies, which compare counts or scalar fields. Corresponds to `Condition` of Reverb. */
import { described, finite, integer, mustBe } from "../../base/error.ts";
import { isDtype, isFloat } from "../../schema/dtype.ts";
import { isHalf, roundHalf } from "../../schema/half.ts";
import { leafText, type RowLeaf } from "../../schema/leaf.ts";
import { pathText } from "../../schema/nest.ts";
import type { FoundLeaf, IsAny, Spec } from "../../schema/spec.ts";
import { mapFields } from "./pattern.ts";

/** The left side of a comparison. */
export type Subject = "stepIndex" | "stepsSinceApplied" | "isEndEpisode" | "data";
export type Comparison = "eq" | "ne" | "lt" | "le" | "gt" | "ge";

/** The smallest 32-bit integer. Conditions compare with 32-bit integers only. */
const MIN = -(2 ** 31);
const MAX = 2 ** 31 - 1;

/** A condition of a config: the operand, the comparison, and the value to compare with. */
export class Condition {
  readonly of: Subject;
  /** The field to compare, for a condition created by `data`. */
  readonly leaf: FoundLeaf | undefined;
  readonly mod: number | undefined;
  readonly comparison: Comparison;
  readonly value: number;

  /** Called by the static methods below. */
  constructor({ of, leaf, mod }: Operand, comparison: Comparison, value: number) {
    this.of = of;
    this.leaf = leaf;
    this.mod = mod;
    this.comparison = comparison;
    this.value = value;
    Object.freeze(this);
  }

  /** Compares the index of the newest step in its episode. The first step has the index 0. */
  static stepIndex(): Comparable {
    return new Comparable({ of: "stepIndex" });
  }

  /**
   * Compares the number of steps since the config last created an item, including the newest step. Before the first item, the number counts from the creation
   * of the writer. A step does not count if it has no value in any of the fields that the writer's configs name.
   */
  static stepsSinceApplied(): Comparable {
    return new Comparable({ of: "stepsSinceApplied" });
  }

  /** Returns a condition that holds if the episode ends with the newest step. A config with this condition is tested only in `endEpisode`. */
  static isEndEpisode(): Condition {
    return new Condition({ of: "isEndEpisode" }, "eq", 1);
  }

  /**
   * Compares a field of the newest step, which must be one number or flag. If the step omits the field, no comparison holds.
   * @throws TypeError, RangeError if the spec is invalid
   * @throws RangeError if the field has several numbers or text
   */
  static data<const S extends Spec>(spec: S): ComparableStep<S> {
    return mapFields(spec, (leaf) => new Comparable({ of: "data", leaf })) as ComparableStep<S>;
  }
}

/** A spec with a comparable value at each leaf. */
export type ComparableStep<S> =
  // biome-ignore lint/suspicious/noExplicitAny: of any spec, any field can be named
  IsAny<S> extends true ? any : S extends RowLeaf ? Comparable : { readonly [K in keyof S]: ComparableStep<S[K]> };

interface Operand {
  readonly of: Subject;
  readonly leaf?: FoundLeaf;
  readonly mod?: number;
}

/**
 * A condition without its comparison. Each method throws TypeError or RangeError if the value is not a 32-bit integer. For a float field, any finite number is
 * allowed.
 */
export class Comparable {
  readonly #operand: Operand;

  constructor(operand: Operand) {
    this.#operand = operand;
  }

  /**
   * Compares the remainder of a division by an integer >= 1. The remainder of a negative number is negative or 0.
   * @throws TypeError, RangeError if the divisor is not an integer >= 1
   */
  mod(divisor: number): Comparable {
    this.#scalar();
    return new Comparable({ ...this.#operand, mod: integer(`the divisor of mod in ${this.#name}`, divisor, 1, MAX) });
  }
  eq(value: number | boolean): Condition {
    return this.#createCondition("eq", value);
  }
  ne(value: number | boolean): Condition {
    return this.#createCondition("ne", value);
  }
  lt(value: number | boolean): Condition {
    return this.#createCondition("lt", value);
  }
  le(value: number | boolean): Condition {
    return this.#createCondition("le", value);
  }
  gt(value: number | boolean): Condition {
    return this.#createCondition("gt", value);
  }
  ge(value: number | boolean): Condition {
    return this.#createCondition("ge", value);
  }

  #createCondition(comparison: Comparison, threshold: number | boolean): Condition {
    this.#scalar();
    const { leaf, mod } = this.#operand;
    const value = typeof threshold === "boolean" ? Number(threshold) : threshold;
    const subject = `the value of ${comparison} in ${this.#name}`;
    if (isFloat(leaf?.leaf.dtype)) finite(subject, value);
    // A remainder must not be compared for equality with a negative value, because counts are never negative.
    else integer(subject, value, mod !== undefined && (comparison === "eq" || comparison === "ne") ? 0 : MIN, MAX);
    return new Condition(this.#operand, comparison, value);
  }

  #scalar(): void {
    const { leaf } = this.#operand;
    if (leaf === undefined || (isDtype(leaf.leaf.dtype) && leaf.size === 1)) return;
    throw mustBe(
      RangeError,
      `the field ${pathText(leaf.keys)} of Condition.data`,
      "a single number or boolean",
      described(leafText(leaf.leaf.dtype, leaf.shape)),
    );
  }

  get #name(): string {
    const { of, leaf } = this.#operand;
    return leaf === undefined ? of : pathText(leaf.keys);
  }
}

/** Returns a function that tests a number against a condition. */
export function testOf({ comparison, mod, value: threshold, leaf }: Condition): (number: number | bigint) => boolean {
  const compare = COMPARISONS[comparison];
  // If the leaf's dtype rounds numbers, both sides of the comparison are rounded to the stored precision.
  const round = roundingOf(leaf?.leaf.dtype);
  const value = round === undefined ? threshold : round(threshold);
  if (round !== undefined) return (number) => compare(mod === undefined ? round(Number(number)) : round(Number(number)) % mod, value);
  if (mod === undefined) return (number) => compare(number, value);
  const big = BigInt(mod);
  return (number) => compare(typeof number === "bigint" ? Number(number % big) : number % mod, value);
}

/** Returns how a dtype rounds numbers, or undefined if the dtype does not round. */
function roundingOf(dtype: string | undefined): ((number: number) => number) | undefined {
  if (dtype === "f32") return Math.fround;
  return dtype !== undefined && isHalf(dtype) ? (number) => roundHalf(dtype, number) : undefined;
}

const COMPARISONS: { readonly [C in Comparison]: (a: number | bigint, b: number) => boolean } = {
  // biome-ignore lint/suspicious/noDoubleEquals: a bigint is never identical to a number
  eq: (a, b) => a == b,
  // biome-ignore lint/suspicious/noDoubleEquals: the same
  ne: (a, b) => a != b,
  lt: (a, b) => a < b,
  le: (a, b) => a <= b,
  gt: (a, b) => a > b,
  ge: (a, b) => a >= b,
};
