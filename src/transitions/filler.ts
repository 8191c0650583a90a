/** How one batch of transitions is filled: worked out once for it, so that the next sample into it allocates nothing. */
import { brief } from "../batch.ts";
import { Column, isColumn } from "../column.ts";
import { DISCOUNT, KEY, RETURN, STEPS, TERMINATED, TRUNCATED, WEIGHT } from "../core/abi.ts";
import type { Engine } from "../core/engine.ts";
import { mustBeWritable, takeArray, takeTexts } from "../core/filler.ts";
import { Gatherer } from "../core/gatherer.ts";
import type { Rows } from "../core/joined.ts";
import { printsAs } from "../prints.ts";
import { type ArrayClass, DTYPES } from "../spec/dtype.ts";
import { pack, valueAt, zip } from "../spec/nest.ts";
import type { TransitionForm } from "./form.ts";

/** A batch of any view. */
export interface AnyTransitions {
  count: number;
  readonly keys: Float64Array;
  readonly [name: string]: unknown;
}

/** A batch in arrays of its own: what the view shows, each part under its name. */
class DrawnTransitions {
  toArray(this: AnyTransitions): object[] {
    const { count, keys, ...parts } = this;
    const rowOf = (i: number) => (columns: readonly unknown[]) => {
      const value = (columns[0] as Column).at(i);
      return isColumn(value) ? value.toArray() : value;
    };
    return Array.from({ length: count }, (_, i) => ({ ...(zip([parts], isColumn, rowOf(i)) as object), keys: keys[i] }));
  }
}
printsAs(DrawnTransitions, "TransitionBatch", (batch) => {
  const { keys, count, ...parts } = batch as unknown as AnyTransitions;
  return { count, ...(zip([parts], isColumn, ([column]) => brief(column as Column)) as object), keys: brief({ data: keys, shape: [keys.length] }) };
});

export class TransitionFiller extends Gatherer {
  readonly batch: AnyTransitions;
  /** Rows of the longest transition that it has room for. */
  readonly width: number;
  /** Whether it has importance weights. */
  readonly weighted: boolean;

  /**
   * @param float the class of returns, discounts and weights
   * @param into the batch; without it a new one is made
   * @throws ReplayError SPEC_MISMATCH where the batch has no array for something, or too small a one
   */
  constructor(engine: Engine, n: number, width: number, form: TransitionForm, float: ArrayClass, weighted: boolean, into?: object) {
    super(engine, n, width);
    if (into !== undefined) mustBeWritable(into, "count");
    this.width = width;
    this.weighted = weighted;
    const isNew = into === undefined;
    const array = (path: string, kind: ArrayClass, length: number) => takeArray(`into.${path}`, isNew, valueAt(into, path.split(".")), kind, length);
    const made: { [name: string]: unknown } = Object.assign(new DrawnTransitions() as object, { count: 0 });
    for (const { name, spec, leaves, at } of form.parts) {
      const columns = leaves.map(({ keys, leaf }) => {
        const { dtype } = leaf.leaf;
        const path = [name, ...keys, "data"].join(".");
        const size = n * leaf.size;
        const data = dtype === "string" ? takeTexts(`into.${path}`, isNew, valueAt(into, path.split(".")), size) : array(path, DTYPES[dtype].array, size);
        this.gather(`into.${path}`, leaf, at, data);
        return new Column(data as Column["data"], [n, ...leaf.shape]);
      });
      made[name] = pack(spec, columns);
    }
    const drawn = (path: string, column: number, kind: ArrayClass) => {
      const data = array(path, kind, n);
      this.take(`into.${path}`, column, data, kind);
      return data;
    };
    const column = (name: string, of: number, kind: ArrayClass) => {
      made[name] = new Column(drawn(`${name}.data`, of, kind) as Column["data"], [n]);
    };
    column("returns", RETURN, float);
    column("discounts", DISCOUNT, float);
    column("steps", STEPS, Uint32Array);
    column("terminated", TERMINATED, Uint8Array);
    column("truncated", TRUNCATED, Uint8Array);
    if (weighted) column("weights", WEIGHT, float);
    made.keys = drawn("keys", KEY, Float64Array);
    this.batch = (into ?? made) as AnyTransitions;
  }

  /** Every array of the batch, with its elements an item. */
  rows(): Rows[] {
    const columns: Rows[] = [];
    const add = ({ data, shape }: Column) => void columns.push({ data, each: shape.slice(1).reduce((size, length) => size * length, 1) });
    for (const [name, part] of Object.entries(this.batch)) if (name !== "count" && name !== "keys") zip([part], isColumn, ([column]) => add(column as Column));
    return [...columns, { data: this.batch.keys, each: 1 }];
  }

  override check(): void {
    super.check();
    if (!Object.isExtensible(this.batch)) mustBeWritable(this.batch, "count");
  }

  /** Gathers what was drawn and copies it out. O(bytes) */
  override fill(count: number): void {
    super.fill(count);
    this.ends(count);
  }

  /** Notes how many there are. */
  ends(count: number): void {
    this.batch.count = count;
    // No keys of an earlier draw: whoever updates by all of them would reach its items.
    if (count < this.batch.keys.length) this.batch.keys.fill(0, count);
  }
}
