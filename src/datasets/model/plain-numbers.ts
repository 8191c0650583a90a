/** Handles numbers from text formats, which have no dtypes. A reader chooses default dtypes, but a Replay with other dtypes also accepts these numbers. */
import { mustBe } from "../../base/error.ts";
import { put } from "../../schema/copy-values.ts";
import { type Dtype, isDtype, type NumberArray, zeros } from "../../schema/dtype.ts";
import { pack, setPart, valueAt } from "../../schema/nest.ts";
import type { MaybeAsyncIterable, RldsDataset, StepLeaf, StepSpec } from "./dataset.ts";
import { withSteps } from "./derive.ts";
import { type LeafEntry, leavesOf } from "./leaves.ts";
import { mapIterable } from "./maybe-async.ts";
import { type Place, RldsError } from "./rlds-error.ts";
import { type ColumnData, StepColumns } from "./step-columns.ts";

/** The leaves whose dtypes are defaults, by identity. A leaf that replaces such a leaf has a chosen dtype and is not in this set. */
const plainLeaves = new WeakSet<object>();

/** Marks the number leaves of a spec as plain, and returns the spec. */
export function plainSpec<S extends StepSpec>(spec: S): S {
  for (const { leaf } of leavesOf(spec)) if (isDtype(leaf.dtype) && leaf.dtype !== "bool") plainLeaves.add(leaf);
  return spec;
}

/**
 * Casts the plain numbers of steps to other dtypes. @param dtypeAt returns the required dtype of a leaf, if there is one @throws RldsError INVALID_DATA during
 * iteration if the dtype cannot represent a number
 */
export function castPlain<S>(rlds: RldsDataset<S>, dtypeAt: (keys: readonly string[]) => string | undefined): RldsDataset<S> {
  const castOf = (spec: StepSpec): Cast | undefined => {
    const dtypes = leavesOf(spec).map(({ keys, leaf }) => {
      const dtype = plainLeaves.has(leaf) ? dtypeAt(keys) : undefined;
      return isDtype(dtype) && dtype !== leaf.dtype ? dtype : undefined;
    });
    return dtypes.some((dtype) => dtype !== undefined) ? new Cast(spec, dtypes) : undefined;
  };
  const { stepSpec } = rlds;
  const cast = stepSpec && castOf(stepSpec);
  if (cast === undefined) return rlds;
  const change = (steps: MaybeAsyncIterable<S>, episode: number) => cast.steps(steps, { episode });
  return withSteps(rlds, change, () => cast.spec);
}

class Cast {
  readonly spec: StepSpec;
  readonly #leaves: readonly LeafEntry[];
  readonly #dtypes: readonly (Dtype | undefined)[];

  constructor(spec: StepSpec, dtypes: readonly (Dtype | undefined)[]) {
    this.#leaves = leavesOf(spec);
    this.#dtypes = dtypes;
    this.spec = pack(
      spec,
      this.#leaves.map(({ leaf }, i) => (dtypes[i] === undefined ? leaf : ({ ...leaf, dtype: dtypes[i] } as StepLeaf))),
    ) as StepSpec;
  }

  steps<S>(steps: MaybeAsyncIterable<S>, place: Place): MaybeAsyncIterable<S> {
    if (steps instanceof StepColumns && steps.data.length === this.#leaves.length) {
      const data = steps.data.map((column, i) => this.#column(i, column, column.length, place));
      return new StepColumns<S>(this.spec, data, steps.length);
    }
    return mapIterable(steps, (step, index) => this.#step(step, { ...place, step: index }));
  }

  #step<S>(step: S, place: Place): S {
    const changed = copyOf(step) as S;
    for (const [i, { keys, size, leaf }] of this.#leaves.entries()) {
      const value = valueAt(step, keys);
      if (this.#dtypes[i] === undefined || value === undefined) continue;
      const column = this.#column(i, leaf.shape.length === 0 ? [value as string] : (value as ColumnData), size, place);
      let parent: object = changed as object;
      for (const key of keys.slice(0, -1)) parent = ownPart(parent, key);
      setPart(parent, keys.at(-1) as string, leaf.shape.length === 0 ? column[0] : column);
    }
    return changed;
  }

  #column(i: number, data: ColumnData, length: number, place: Place): ColumnData {
    const dtype = this.#dtypes[i];
    if (dtype === undefined) return data;
    const to = zeros(dtype, length) as unknown as NumberArray;
    const misfit = put({ dtype, shape: [length], size: length }, to, 0, data, { anyNumbers: true });
    if (misfit === undefined) return to as unknown as ColumnData;
    const { path, size } = this.#leaves[i] as LeafEntry;
    const step = place.step ?? Math.floor(Array.prototype.indexOf.call(data, misfit.value) / size);
    throw new RldsError(misfit.code, mustBe(TypeError, path, misfit.rule, misfit.value).message, { ...place, step });
  }
}

function copyOf(value: unknown): unknown {
  return Array.isArray(value) ? value.slice() : { ...(value as object) };
}

/** Replaces a part of a copied object with a copy of the part, and returns that copy. */
function ownPart(parent: object, key: string): object {
  const part = copyOf((parent as { readonly [key: string]: unknown })[key]) as object;
  setPart(parent, key, part);
  return part;
}
