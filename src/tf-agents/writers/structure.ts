/** Checks a step and its configs before a structured writer accepts the step, in this process and to a server. */
import { mustBe, ReplayError, show } from "../../base/error.ts";
import type { Spec } from "../../schema/spec.ts";
import type { ItemPattern } from "../../tables/step-sink.ts";
import type { CompiledConfig } from "../patterns/compile-config.ts";
import { Matcher, scalarOf } from "../patterns/matcher.ts";
import type { Fields, Values } from "./fields.ts";

export class Structure<S extends Spec> {
  readonly matcher: Matcher;
  readonly #fields: Fields<S>;
  /** The fields whose values must be finite, because priorities are computed from these values. */
  readonly #errors: readonly number[];
  /** For each field, whether steps have a key for the field. The first step determines these values. */
  #keyed: readonly boolean[] | undefined;
  /** Whether the last step had a key for every field. If so, a next step that also has a key for every field needs no check. */
  #isWhole = false;
  /** The results of `match`, which `push` takes over. */
  #nextKeyed: readonly boolean[] | undefined;
  #nextValues: Values = [];

  constructor(configs: readonly CompiledConfig[], fields: Fields<S>) {
    this.matcher = new Matcher(configs);
    this.#fields = fields;
    this.#errors = [...new Set(configs.flatMap(({ errors }) => (errors === undefined || errors.ages.length === 0 ? [] : [errors.leaf])))];
  }

  /**
   * Finds the configs that will apply after a step is appended. Fills `matcher.matches` and returns the number of matches. Changes nothing else.
   * @param stepValues the step's values, one per leaf
   * @param open the values that an open step already has; undefined for a new step
   * @param index the index of the step in its episode
   * @throws ReplayError SPEC_MISMATCH if the fields of the step differ from the earlier steps · INVALID_DATA if no priority can be computed from a value
   */
  match(step: unknown, stepValues: Values, open: Values | undefined, index: number): number {
    this.#nextKeyed = this.#isWhole && this.#fields.hasKeys ? this.#keyed : this.#checkSameFields(step);
    const values = open === undefined ? stepValues : stepValues.map((value, i) => value ?? open[i]);
    if (this.#errors.length > 0) this.#mustBeFinite(stepValues);
    this.#nextValues = values;
    return this.matcher.match(values, open === undefined, index);
  }

  /** Accepts the step that was last passed to `match`. */
  push(): void {
    if (this.#keyed !== this.#nextKeyed) {
      this.#keyed = this.#nextKeyed;
      this.#isWhole = this.#keyed?.includes(false) === false;
    }
    this.matcher.push(this.#nextValues);
  }

  /** Returns the fields of a step, which must be the same as in the earlier steps. @throws ReplayError SPEC_MISMATCH if they differ */
  #checkSameFields(step: unknown): readonly boolean[] {
    const { leaves } = this.#fields;
    const keyed = this.#fields.presentFields(step);
    const mismatch = leaves.find((_, i) => keyed[i] !== (this.#keyed ?? keyed)[i]);
    if (mismatch === undefined) return keyed;
    const has = this.#keyed?.[mismatch.index] === true;
    const rule = `must${has ? "" : " not"} have ${mismatch.path}, as in the first step of this writer${has ? " (null if it has no value)" : ""}`;
    throw new ReplayError("SPEC_MISMATCH", `step ${rule}, got ${show(step)}`);
  }

  #mustBeFinite(values: Values): void {
    for (const leaf of this.#errors) {
      const value = values[leaf];
      if (value === undefined || Number.isFinite(Number(scalarOf(value)))) continue;
      const { path } = this.#fields.leaves[leaf] as { readonly path: string };
      throw mustBe("INVALID_DATA", path || "step", "a finite number, because tdError computes priorities from it", value);
    }
  }
}

/** Returns the columns of a pattern's items in the form that is compared with a signature. */
export function shapesOf({ nodes }: Pick<ItemPattern, "nodes">) {
  return nodes.map(({ node: { isSqueezed, leaf }, ages }) => ({ dtype: leaf.leaf.dtype, shape: [...(isSqueezed ? [] : [ages.length]), ...leaf.shape] }));
}
