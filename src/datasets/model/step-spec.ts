/** Infers the spec of a step from its values, and checks steps against a spec. */
import { mustBe, type Rule } from "../../base/error.ts";
import { isShaped, type PutOptions, put } from "../../schema/copy-values.ts";
import { dtypeOf } from "../../schema/dtype.ts";
import { inferNest, stepsTo, type ValuePlace } from "../../schema/infer.ts";
import { isLeaf, leafText, sizeOf } from "../../schema/leaf.ts";
import { fold, nested, nodeRule } from "../../schema/nest.ts";
import type { StepLeaf, StepSpec } from "./dataset.ts";
import { type Place, RldsError } from "./rlds-error.ts";

/** The options for values of datasets. Unlike a writer, a dataset may also contain columns. */
export const DATA: PutOptions = { columns: true };

const pathOf = (keys: readonly (string | number)[]) => keys.join("/") || "step";

/**
 * Infers the spec of a step from its values:
 * - a typed array keeps its dtype, and has one dimension;
 * - the dtype is f32 for numbers, bool for booleans, i64 for bigints, and text for strings;
 * - nested arrays of these values determine the shape by their nesting;
 * - `{data, shape}` determines both dtype and shape;
 * - objects, and arrays of objects, are nests.
 *
 * Set the `stepSpec` of a dataset for properties that cannot be inferred, such as an f64 that is passed as a number. Costs O(elements) for plain arrays,
 * otherwise O(leaves).
 * @param numbers the dtype of numbers
 * @throws RldsError SPEC_MISMATCH if an array is ragged, empty or mixed, or if a value is null or undefined. The error includes the path
 */
export function stepSpecOf(step: unknown, place: Place = {}, numbers: "f32" | "f64" = "f32"): StepSpec {
  const single = (value: unknown) => ({ number: numbers, boolean: "bool", bigint: "i64", string: "string" })[typeof value as string];
  const mismatch = (rule: string, value: unknown, at: ValuePlace, ...more: number[]) =>
    misfitError({ path: pathOf([...stepsTo(at).slice(1), ...more]), rule, value }, place);
  return inferNest<StepLeaf>(step, "step", {
    maxDepth: 64,
    errorFor: (rule, at) => new RldsError("SPEC_MISMATCH", `${pathOf(stepsTo(at).slice(1, 9))} is ${rule}`, place),
    leaf(value, at) {
      let dtype = single(value);
      if (dtype !== undefined) return { dtype, shape: [] } as StepLeaf;
      if (typeof value !== "object" || value === null) throw mismatch("a number, boolean, bigint, string, array or object", value, at);
      if (ArrayBuffer.isView(value)) {
        dtype = dtypeOf(value);
        const { length } = value as Uint8Array;
        if (dtype === undefined) throw mismatch("an array of a supported dtype", value, at);
        if (length === 0) throw mismatch("an array of at least one element", value, at);
        return { dtype, shape: [length] } as StepLeaf;
      }
      if (!isShaped(value)) return undefined;
      dtype = dtypeOf(value.data) ?? single(value.data.length === 0 ? 0 : value.data[0]);
      if (dtype === undefined) throw mismatch("a column of numbers, booleans, bigints or strings", value.data[0], at);
      return { dtype, shape: value.shape } as StepLeaf;
    },
    list(values, parts, at) {
      const [first] = parts;
      if (first === undefined) throw mismatch("an array of at least one element", values, at);
      if (!isLeaf(first) || isNode(values[0])) return parts;
      const { dtype, shape } = first;
      const otherIndex = parts.findIndex((part) => !isLeaf(part) || part.dtype !== dtype || part.shape.join() !== shape.join());
      if (otherIndex >= 0) throw mismatch(`${leafText(dtype, shape)} like the previous element`, values[otherIndex], at, otherIndex);
      return { dtype, shape: [values.length, ...shape] } as StepLeaf;
    },
    node: (names, parts) => nested(names, parts, false),
  });
}

/** Returns whether a value is a nest or a column. An array of such objects is a tuple. */
function isNode(value: unknown): boolean {
  return typeof value === "object" && !Array.isArray(value) && !ArrayBuffer.isView(value);
}

/** The first difference between a step and its spec. */
export interface Mismatch {
  readonly path: string;
  readonly rule: Rule;
  readonly value: unknown;
}

type Check = (value: unknown) => Mismatch | undefined;

/** Returns a function that checks steps against a spec. It returns the first difference, or undefined. O(leaves) per step if values are typed arrays */
export function stepChecker(spec: StepSpec): Check {
  return fold<StepLeaf, Check>(
    spec,
    (_, keys, { dtype, shape }) => {
      const target = { dtype, shape, size: sizeOf(shape) };
      return (value) => {
        const mismatchFound = put(target, undefined, 0, value, DATA);
        return mismatchFound && { path: pathOf(keys), rule: mismatchFound.rule, value: mismatchFound.value };
      };
    },
    (names, checks, keys) => (value) => {
      let elementCount = 0;
      if (typeof value === "object" && value !== null) for (const _ in value) elementCount++;
      if (elementCount !== names.length) return { path: pathOf(keys), rule: nodeRule(names, value, pathOf(keys)), value };
      for (let i = 0; i < names.length; i++) {
        const mismatchFound = (checks[i] as Check)((value as { [name: string]: unknown })[names[i] as string]);
        if (mismatchFound !== undefined) return mismatchFound;
      }
      return undefined;
    },
  );
}

/**
 * Checks that a step matches a spec. Each call compiles the check again, so use `stepChecker` for many steps.
 * @throws RldsError SPEC_MISMATCH if the step does not match. The error includes the path
 */
export function checkStep(spec: StepSpec, step: unknown, place: Place = {}): void {
  const mismatchFound = stepChecker(spec)(step);
  if (mismatchFound !== undefined) throw misfitError(mismatchFound, place);
}

export function misfitError({ path, rule, value }: Mismatch, place: Place = {}): RldsError {
  return new RldsError("SPEC_MISMATCH", mustBe(TypeError, path, rule, value).message, place);
}
