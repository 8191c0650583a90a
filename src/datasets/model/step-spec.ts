/** The spec of a step from its values, and whether a step is what a spec says. */
import { mustBe } from "../../base/error.ts";
import { isShaped, type PutOptions, put } from "../../schema/copy-values.ts";
import { dtypeOf } from "../../schema/dtype.ts";
import { inferNest, stepsTo, type ValuePlace } from "../../schema/infer.ts";
import { isLeaf, leafText, sizeOf } from "../../schema/leaf.ts";
import { fold, nested, nodeRule } from "../../schema/nest.ts";
import type { StepLeaf, StepSpec } from "./dataset.ts";
import { type Place, RldsError } from "./rlds-error.ts";

/** What a dataset's values may be: those of a Replay's writer, and columns. */
export const DATA: PutOptions = { columns: true };

const pathOf = (keys: readonly (string | number)[]) => keys.join("/") || "step";

/**
 * What a step is, by its values. A typed array tells its dtype, and is flat; a number is f32, a boolean bool, a bigint i64, a string text; arrays of these have
 * their nesting as shape; `{data, shape}` tells both; objects nest, and so do arrays of objects. What a value does not tell, such as an f64 that is a number,
 * must be said by a dataset's `stepSpec`. O(elements) for plain arrays, else O(leaves).
 * @param numbers the dtype of a number
 * @throws RldsError SPEC_MISMATCH for ragged, empty and mixed arrays, null and undefined; it names the path
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
        if (dtype === undefined) throw mismatch("an array of a dtype that a Replay has", value, at);
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
      if (otherIndex >= 0) throw mismatch(`${leafText(dtype, shape)} as the one before it`, values[otherIndex], at, otherIndex);
      return { dtype, shape: [values.length, ...shape] } as StepLeaf;
    },
    node: (names, parts) => nested(names, parts, false),
  });
}

/** An object that nests, or has its shape beside it: an array of these is a tuple. */
function isNode(value: unknown): boolean {
  return typeof value === "object" && !Array.isArray(value) && !ArrayBuffer.isView(value);
}

/** What about a step is not as its spec says. */
export interface Mismatch {
  readonly path: string;
  readonly rule: string;
  readonly value: unknown;
}

type Check = (value: unknown) => Mismatch | undefined;

/** A check of many steps against one spec: the first misfit, or undefined. O(leaves) a step where values are typed arrays. */
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

/** @throws RldsError SPEC_MISMATCH that names the path. Each call makes the check anew: `stepChecker` is for many steps */
export function checkStep(spec: StepSpec, step: unknown, place: Place = {}): void {
  const mismatchFound = stepChecker(spec)(step);
  if (mismatchFound !== undefined) throw misfitError(mismatchFound, place);
}

export function misfitError({ path, rule, value }: Mismatch, place: Place = {}): RldsError {
  return new RldsError("SPEC_MISMATCH", mustBe(TypeError, path, rule, value).message, place);
}
