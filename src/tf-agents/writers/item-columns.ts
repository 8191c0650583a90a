/** Reads the columns of an item from a trajectory, which names their leaves and steps. */
import { mustBe } from "../../base/error.ts";
import type { ColumnOf } from "../../schema/columns.ts";
import { leaves, type Nest } from "../../schema/nest.ts";
import type { ItemColumn } from "../../tables/step-sink.ts";
import type { ColumnShape } from "../signature.ts";
import { type ColumnSource, TrajectoryColumn } from "./trajectory-column.ts";

/** The columns of an item, nested like the item. */
export type ItemColumns = TrajectoryColumn | readonly ItemColumns[] | { readonly [name: string]: ItemColumns };

/** Stops the traversal at a value that is not a nest. An error then includes the path of that value. */
const isEnd = (node: unknown) => typeof node !== "object" || node === null || node instanceof TrajectoryColumn;

/** Reads the trajectories of one writer. If a trajectory has the same names as the previous one, the names are not sorted again. */
export class ColumnReader {
  readonly #source: ColumnSource;
  /** The column names of the last item, in the order of the trajectory. `#sorted` has the same names in sorted order. */
  #names: readonly string[] = [];
  #sorted: readonly string[] = [];

  constructor(source: ColumnSource) {
    this.#source = source;
  }

  /** Returns the columns, sorted by name. @throws TypeError, RangeError if there is no column, or if a column has steps that are not available */
  read(trajectory: ItemColumns): readonly ItemColumn[] {
    return this.#flat(trajectory) ?? this.#nested(trajectory);
  }

  /** Returns the columns of a trajectory without nests, or undefined for any other trajectory. */
  #flat(trajectory: ItemColumns): ItemColumn[] | undefined {
    if (typeof trajectory !== "object" || trajectory === null || Array.isArray(trajectory)) return undefined;
    const names = Object.keys(trajectory);
    if (names.length === 0) return undefined;
    if (!sameNames(names, this.#names)) {
      this.#names = names;
      this.#sorted = names.slice().sort();
    }
    const sorted = this.#sorted;
    const columns = new Array<ItemColumn>(sorted.length);
    for (let i = 0; i < columns.length; i++) {
      const name = sorted[i] as string;
      const column = (trajectory as { readonly [name: string]: unknown })[name];
      if (!(column instanceof TrajectoryColumn)) return undefined;
      columns[i] = column.itemColumn(name, `trajectory.${name}`, this.#source);
    }
    return columns;
  }

  #nested(trajectory: ItemColumns): ItemColumn[] {
    const ends = leaves(trajectory as Nest<TrajectoryColumn>, isEnd);
    if (ends.length === 0) throw mustBe(RangeError, "trajectory", "an object with at least one column", trajectory);
    return ends.map(({ keys, leaf: column }) => {
      const subject = ["trajectory", ...keys].join(".");
      if (!(column instanceof TrajectoryColumn)) throw mustBe(TypeError, subject, "a column of a writer's history", column);
      return column.itemColumn(keys.join("."), subject, this.#source);
    });
  }
}

/** Returns the form of a column that is compared with a signature. */
export function shapeOf({ leaf, steps, isSqueezed }: Pick<ItemColumn, "leaf" | "steps" | "isSqueezed">): ColumnShape {
  return { dtype: leaf.leaf.dtype, shape: isSqueezed ? leaf.shape : [steps.length, ...leaf.shape] };
}

/** Returns a column in the form that an item of a Replay uses. The item has `length` steps and begins with step `first`. */
export function columnOf({ leaf: { path }, steps, isSqueezed }: ItemColumn, first: number, length: number): ColumnOf {
  const [from = 0, next = from + 1] = steps;
  if (isSqueezed) return { leaf: path, at: nearest(from - first, length) };
  const step = next - from;
  if (step < 1 || steps.some((at, k) => at !== from + k * step)) return { leaf: path, steps: steps.map((at) => nearest(at - first, length)) };
  const end = from + (steps.length - 1) * step + 1;
  return { leaf: path, from: nearest(from - first, length), ...(end - first === length ? {} : { to: nearest(end - first, length) }), step };
}

/**
 * Returns the index of a step among `length` steps, counted from the nearer end. Items of different lengths can then share a column layout if their columns
 * have the same meaning.
 */
function nearest(at: number, length: number): number {
  return at < length / 2 ? at : at - length;
}

function sameNames(a: readonly string[], b: readonly string[]): boolean {
  if (a.length !== b.length) return false;
  for (let i = 0; i < a.length; i++) if (a[i] !== b[i]) return false;
  return true;
}
