/** The columns of an item: which steps of which leaves a trajectory names. */
import { mustBe } from "../../base/error.ts";
import type { ColumnOf } from "../../schema/columns.ts";
import { leaves, type Nest } from "../../schema/nest.ts";
import type { ItemColumn } from "../../tables/step-sink.ts";
import type { ColumnShape } from "../signature.ts";
import { type ColumnSource, TrajectoryColumn } from "./trajectory-column.ts";

/** Columns, nested as the item is to be. */
export type ItemColumns = TrajectoryColumn | readonly ItemColumns[] | { readonly [name: string]: ItemColumns };

/** Anything but a nest ends the walk, and its path names it in errors. */
const isEnd = (node: unknown) => typeof node !== "object" || node === null || node instanceof TrajectoryColumn;

/** Reads trajectories of one writer. Names that equal those of the last trajectory are not sorted again. */
export class ColumnReader {
  readonly #source: ColumnSource;
  /** The names of the last item's columns, as they came and in their order. */
  #names: readonly string[] = [];
  #sorted: readonly string[] = [];

  constructor(source: ColumnSource) {
    this.#source = source;
  }

  /** The columns in the order of their names. @throws TypeError, RangeError for none, or one whose steps are not available */
  read(trajectory: ItemColumns): readonly ItemColumn[] {
    return this.#flat(trajectory) ?? this.#nested(trajectory);
  }

  /** The columns of a trajectory without nests; undefined for any other. */
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

/** A column as it is compared with a signature. */
export function shapeOf({ leaf, steps, isSqueezed }: Pick<ItemColumn, "leaf" | "steps" | "isSqueezed">): ColumnShape {
  return { dtype: leaf.leaf.dtype, shape: isSqueezed ? leaf.shape : [steps.length, ...leaf.shape] };
}

/** A column as an item of a Replay names it: an item of `length` steps that begins with step `first`. */
export function columnOf({ leaf: { path }, steps, isSqueezed }: ItemColumn, first: number, length: number): ColumnOf {
  const [from = 0, next = from + 1] = steps;
  if (isSqueezed) return { leaf: path, at: nearest(from - first, length) };
  const step = next - from;
  if (step < 1 || steps.some((at, k) => at !== from + k * step)) return { leaf: path, steps: steps.map((at) => nearest(at - first, length)) };
  const end = from + (steps.length - 1) * step + 1;
  return { leaf: path, from: nearest(from - first, length), ...(end - first === length ? {} : { to: nearest(end - first, length) }), step };
}

/** A step of a run of `length`, from the nearer end: items of several lengths then have the same columns where they mean the same. */
function nearest(at: number, length: number): number {
  return at < length / 2 ? at : at - length;
}

function sameNames(a: readonly string[], b: readonly string[]): boolean {
  if (a.length !== b.length) return false;
  for (let i = 0; i < a.length; i++) if (a[i] !== b[i]) return false;
  return true;
}
