/** Converts leaves to other dtypes. */
import { mustBe } from "../../../base/error.ts";
import { type AnyArray, DTYPES, type Dtype, isDtype, zeros } from "../../../schema/dtype.ts";
import { isHalf, roundHalf } from "../../../schema/half.ts";
import { isText } from "../../../schema/leaf.ts";
import type { RldsDataset, StepLeaf, StepSpec } from "../../model/dataset.ts";
import { isLazy } from "../../model/lazy-column.ts";
import { leavesOf } from "../../model/leaves.ts";
import { type Place, RldsError } from "../../model/rlds-error.ts";
import { type ColumnData, StepColumns } from "../../model/step-columns.ts";
import { leavesAt, withLeaves } from "./leaf-paths.ts";
import { type ColumnDataset, mapColumns } from "./map-columns.ts";

/** The new dtypes, by the path of a leaf or group, such as `{ action: "f32" }`. */
export interface LeafDtypes {
  readonly [path: string]: Dtype;
}

interface Cast {
  readonly path: string;
  readonly size: number;
  readonly from: Dtype;
  readonly to: Dtype;
}

/**
 * Returns the same steps with some numbers converted to other dtypes, for example `castLeaves(data, { action: "f32" })`. The path of a group selects all leaves
 * below it. A float is rounded to the nearest value of its new dtype. An integer or a flag that the new dtype cannot represent is an error, as is a finite
 * float that would become infinite. Works lazily, and does not copy other columns. Costs O(elements of the converted leaves).
 * @throws TypeError, RangeError if a dtype is invalid
 * @throws RangeError during iteration if a path does not select numbers
 * @throws RldsError INVALID_DATA during iteration if a value does not fit. The error includes the episode, the step and the leaf
 */
export function castLeaves(rlds: RldsDataset<unknown>, dtypes: LeafDtypes): ColumnDataset {
  if (typeof dtypes !== "object" || dtypes === null) throw mustBe(TypeError, "dtypes", "an object with paths as keys and dtypes as values", dtypes);
  for (const [path, dtype] of Object.entries(dtypes))
    if (!isDtype(dtype)) throw mustBe(RangeError, `dtypes: ${path}`, `one of ${Object.keys(DTYPES).join(", ")}`, dtype, Object.keys(DTYPES));
  return mapColumns(rlds, {
    stepSpec: (spec) => castSpec(spec, castsOf(spec, dtypes)),
    begin(spec) {
      const casts = castsOf(spec, dtypes);
      const changed = castSpec(spec, casts);
      return (episode, index) => {
        const { steps } = episode;
        const data = steps.parts.map((column, k) => {
          const cast = casts.get(k);
          return cast === undefined ? column : castColumn(column, cast, index);
        });
        return { ...episode, steps: new StepColumns(changed, data, steps.length) };
      };
    },
  });
}

/** Returns the casts, by leaf index. */
function castsOf(spec: StepSpec, dtypes: LeafDtypes): Map<number, Cast> {
  const casts = new Map<number, Cast>();
  for (const [path, to] of Object.entries(dtypes))
    for (const { leaf, path: at, size, index } of leavesAt(spec, "dtypes", path)) {
      if (isText(leaf)) throw mustBe(RangeError, `dtypes: ${at}`, "a numeric leaf", leaf.dtype);
      casts.set(index, { path: at, size, from: leaf.dtype as Dtype, to });
    }
  return casts;
}

function castSpec(spec: StepSpec, casts: ReadonlyMap<number, Cast>): StepSpec {
  const leaves = leavesOf(spec);
  return withLeaves(spec, new Map([...casts].map(([k, { to }]) => [k, { dtype: to, shape: leaves[k]?.leaf.shape } as StepLeaf])));
}

function castColumn(column: ColumnData, { path, size, from, to }: Cast, episode: number): ColumnData {
  if (from === to) return column;
  const failed = (first: number) => (i: number, rule: string, value: unknown) => castError(path, rule, value, { episode, step: first + Math.floor(i / size) });
  if (isLazy(column)) return column.map((values, first) => castElements(values, to, failed(first))) as unknown as ColumnData;
  return castElements(column as AnyArray, to, failed(0));
}

function castError(path: string, rule: string, value: unknown, place: Place): RldsError {
  return new RldsError("INVALID_DATA", mustBe(RangeError, path, rule, value).message, place);
}

/** Converts numbers to another dtype. @param fail creates the error for an element that the dtype cannot represent */
export function castElements(values: ArrayLike<number | bigint>, to: Dtype, fail: (i: number, rule: string, value: unknown) => Error): AnyArray {
  const { big, float, min, max } = DTYPES[to];
  const cast = zeros(to, values.length) as unknown as Float64Array;
  if (float) {
    for (let i = 0; i < values.length; i++) {
      const value = Number(values[i]);
      cast[i] = isHalf(to) ? roundHalf(to, value) : value;
      if (Number.isFinite(value) && !Number.isFinite(cast[i])) throw fail(i, `finite as ${to}`, value);
    }
    return cast as unknown as AnyArray;
  }
  const rule = `a whole number in ${min} … ${max}, the range of ${to}`;
  for (let i = 0; i < values.length; i++) {
    const value = values[i] as number | bigint;
    if (typeof value !== "bigint" && !Number.isInteger(value)) throw fail(i, rule, value);
    if (value < min || value > max) throw fail(i, rule, value);
    cast[i] = (big ? BigInt(value) : Number(value)) as number;
  }
  return cast as unknown as AnyArray;
}
