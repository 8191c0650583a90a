/** Splits steps, which may omit fields, into one value per leaf, and joins the values again. */
import { flag, integer, mustBe, onlyKeys } from "../../base/error.ts";
import { MAX_LENGTH } from "../../base/limits.ts";
import type { PlacedLeaf } from "../../schema/layout.ts";
import { blank, type RowLeaf, zeroOf } from "../../schema/leaf.ts";
import { fold, pack, type Visit, visitor } from "../../schema/nest.ts";
import type { Spec, StepOf } from "../../schema/spec.ts";

/**
 * A step, or a part of a step. A field that is omitted, null or undefined has no value. An array of variable length is the value of a leaf. An array of fixed
 * length is a tuple of fields.
 */
export type PartOf<T> = T extends ArrayBufferView
  ? T | null | undefined
  : T extends readonly unknown[]
    ? number extends T["length"]
      ? T | null | undefined
      : { readonly [K in keyof T]: PartOf<T[K]> } | null | undefined
    : T extends object
      ? { readonly [K in keyof T]?: PartOf<T[K]> } | null | undefined
      : T | null | undefined;

/** A function that stores the parts of a step at the indices of their leaves. */
type VisitField = (value: unknown, values: unknown[]) => void;

/** Thrown by `#visitWhole`, and caught in `take`. */
const NOT_WHOLE = new Error("a node of the step lacks keys, or has unknown keys");

/** The number of steps for which a field is kept. `maxChunkLength` is the maximum number of the field's steps in a chunk. */
export interface KeepOptions {
  readonly numKeepAliveRefs: number;
  readonly maxChunkLength?: number | null;
}

/** One value per leaf; undefined for an omitted leaf. */
export type Values = readonly unknown[];

export class Fields<S extends Spec> {
  readonly spec: Spec;
  readonly leaves: readonly PlacedLeaf[];
  /** Splits any step. `#visitWhole` is faster, but requires a key for each leaf. */
  readonly #visit: VisitField;
  readonly #visitWhole: Visit;
  #values: unknown[] = [];
  #hasKeys = false;
  readonly #zeros: unknown[] = [];

  constructor(engine: { readonly spec: Spec; readonly layout: { readonly leaves: readonly PlacedLeaf[] } }) {
    this.spec = engine.spec;
    this.#visit = fold<RowLeaf, VisitField>(
      engine.spec,
      (index) => (value, values) => {
        values[index] = value ?? undefined;
      },
      (names, parts, keys) => (value, values) => {
        const node = (value ?? {}) as { readonly [name: string]: unknown };
        if (typeof node !== "object" || Object.keys(node).some((name) => !names.includes(name)))
          throw mustBe("SPEC_MISMATCH", ["step", ...keys].join("."), `an object with no keys other than ${names.join(", ")}`, value);
        names.forEach((name, i) => {
          (parts[i] as VisitField)(Object.hasOwn(node, name) ? node[name] : undefined, values);
        });
      },
    );
    this.leaves = engine.layout.leaves;
    const readLeaf = (index: number) => (value: unknown) => {
      // The step may lack this key and have another key.
      if (value === undefined) throw NOT_WHOLE;
      this.#values[index] = value ?? undefined;
    };
    this.#visitWhole = visitor(engine.spec, readLeaf, () => NOT_WHOLE);
  }

  /**
   * Resolves the arguments of a writer's `configure` to the number of a field and the time for which the field is kept.
   * @throws TypeError, RangeError if an argument is invalid · ReplayError NOT_FOUND if the field is not in the spec
   */
  resolveKeepOptions(
    path: readonly (string | number)[],
    options: KeepOptions,
  ): { readonly leaf: number; readonly numKeepAliveRefs: number; readonly maxChunkLength?: number } {
    const { numKeepAliveRefs, maxChunkLength } = onlyKeys("options", options, "numKeepAliveRefs, maxChunkLength");
    integer("numKeepAliveRefs", numKeepAliveRefs, 1, MAX_LENGTH);
    if (maxChunkLength !== undefined && maxChunkLength !== null) integer("maxChunkLength", maxChunkLength, 1, numKeepAliveRefs);
    if (!Array.isArray(path)) throw mustBe(TypeError, "path", "an array of keys", path);
    const leaf = this.leaves.findIndex((leafEntry) => leafEntry.path === path.join("."));
    if (leaf < 0)
      throw mustBe(
        "NOT_FOUND",
        "path",
        "the path of a field",
        path.join("."),
        this.leaves.map((known) => known.path),
      );
    return { leaf, numKeepAliveRefs, maxChunkLength: maxChunkLength ?? undefined };
  }

  /** Whether the most recently split step has a key for each leaf. */
  get hasKeys(): boolean {
    return this.#hasKeys;
  }

  /** Splits a step into one value per leaf. @throws ReplayError SPEC_MISMATCH if a part is not nested like the spec, or has a name that is not in the spec */
  take(step: unknown): Values {
    if (step === null || step === undefined) throw mustBe("SPEC_MISMATCH", "step", "a value with the structure of the spec", step);
    const values: unknown[] = [];
    // A getter of the step may call this method for another step.
    const outer = this.#values;
    this.#values = values;
    let hasKeys = true;
    try {
      this.#visitWhole(step);
    } catch (error) {
      hasKeys = false;
      if (error !== NOT_WHOLE) throw error;
      values.length = 0;
      this.#visit(step, values);
    } finally {
      this.#values = outer;
      this.#hasKeys = hasKeys;
    }
    return values;
  }

  /** Returns, for each leaf, whether a step has a key for the leaf, regardless of the value. */
  presentFields(step: unknown): readonly boolean[] {
    return this.leaves.map(({ keys }) => {
      let at = step;
      return keys.every((key) => {
        const isPresent = typeof at === "object" && at !== null && Object.hasOwn(at, key);
        at = (at as { readonly [name: string]: unknown } | null | undefined)?.[key];
        return isPresent;
      });
    });
  }

  /** Returns a whole step, with zeros for missing values. */
  completeStep(values: Values): StepOf<S> {
    const all = values.map((value, leaf) => value ?? this.zeros(leaf));
    return pack(this.spec, all) as StepOf<S>;
  }

  /** Returns zeros in the form of a leaf, for one step or for `steps` steps. */
  zeros(leaf: number, steps?: number): unknown {
    const { size, leaf: leafSpec } = this.leaves[leaf] as PlacedLeaf;
    if (steps !== undefined) return blank(leafSpec, steps * size);
    this.#zeros[leaf] ??= zeroOf(leafSpec);
    return this.#zeros[leaf];
  }
}

/** Returns the error for a field of an open step that already has a value. */
export function alreadySet({ path }: PlacedLeaf, value: unknown): Error {
  return mustBe("SPEC_MISMATCH", path || "step", "omitted, because an earlier append of this step set it", value);
}

/** Returns whether an append leaves its step open. */
export function isPartial(options: { readonly partialStep?: boolean }): boolean {
  const { partialStep = false } = onlyKeys("options", options, "partialStep");
  return flag("partialStep", partialStep) === 1;
}
