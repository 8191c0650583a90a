/** Columns of steps on their way into the core: the memory that they pass through, and the call that appends them. */
import type { Engine } from "./engine.ts";
import { kindOf, mustBe } from "./error.ts";
import { flattenInto, formOf, mismatch, viewOf } from "./fill.ts";
import { type PlacedLeaf, up } from "./layout.ts";
import { copyIn, lengthOf, type Numbers } from "./numbers.ts";
import { flatten, named } from "./spec.ts";

const ONE_EACH = "one a step";

export class ColumnBlock {
  readonly #engine: Engine;
  readonly #writer: number;
  readonly #lanes: number;
  readonly #rules: number;
  /** Arrays that look at it were handed out. */
  readonly #lent: boolean;
  /** One run of memory: the columns' addresses, the columns, ends, priorities. */
  #at = 0;
  #bytes = 0;
  #capacity = 0;
  #columns: number[] = [];
  #endsAt = 0;
  #prioritiesAt = 0;

  constructor(engine: Engine, writer: number, lanes: number, rules: number, lent = false) {
    this.#engine = engine;
    this.#writer = writer;
    this.#lanes = lanes;
    this.#rules = rules;
    this.#lent = lent;
  }

  /** Where leaf i's column begins. */
  columnAt(i: number): number {
    return this.#columns[i] as number;
  }

  /** Makes room for so many rows; what was filled in is lost. */
  reserve(rows: number): void {
    if (rows <= this.#capacity) return;
    const { core, layout } = this.#engine;
    let at = up(4 * layout.leaves.length, 16);
    const offsets = [...layout.leaves.map((leaf) => leaf.bytes), 1, 8 * this.#rules].map((bytes) => {
      const here = at;
      at = up(at + bytes * rows, 16);
      return here;
    });
    const made = this.#lent ? this.#engine.stage(at) : core.alloc(at);
    this.free();
    this.#at = made;
    this.#bytes = at;
    this.#capacity = rows;
    this.#columns = offsets.map((offset) => made + offset);
    [this.#endsAt = 0, this.#prioritiesAt = 0] = this.#columns.splice(layout.leaves.length);
    core.u32.set(this.#columns, made >> 2);
  }

  free(): void {
    if (this.#lent) this.#engine.unstage(this.#at, this.#bytes);
    else this.#engine.core.x.arena_free(this.#at, this.#bytes);
  }

  /** Writes columns; how many rows. With `rows` given, so many are asked for, and there is no dimension of time. */
  fill(step: unknown, rows?: number): number {
    const { core, spec, layout } = this.#engine;
    const values = flatten(spec, step);
    const count = rows ?? this.#rowsOf(layout.leaves[0] as PlacedLeaf, values[0]);
    this.reserve(count);
    layout.leaves.forEach((leaf, i) => {
      const value = values[i];
      const { view, at, kind } = viewOf(core, leaf, this.columnAt(i));
      const length = count * leaf.size;
      const fits =
        kindOf(value) === kind
          ? (value as Float32Array).length === length
          : Array.isArray(value) && flattenInto(view, at, length, value, leaf.leaf.dtype, named(leaf.keys)) === length;
      if (!fits) throw mismatch(leaf, value, [...(rows === undefined ? ["time"] : []), ...(this.#lanes > 1 ? ["lanes"] : [])], length);
      if (kindOf(value) === kind) view.set(value as Float32Array, at);
    });
    return count;
  }

  /** What rule k gives the items of the next block: one priority each, or `priority` for all. */
  priorities(k: number, priority: number, given: Numbers | undefined, rows: number): void {
    const at = this.#prioritiesAt + 8 * k * rows;
    if (given !== undefined) {
      lengthOf("priorities", given, rows, ONE_EACH);
      copyIn(this.#engine.core.f64, at >> 3, given, "priorities");
    }
    this.#engine.core.x.writer_priority(this.#writer, k, priority, given === undefined ? 0 : at);
  }

  /** Appends the rows that were filled in. Items that wait, or a negative code. */
  append(rows: number, ends?: ArrayLike<number>): number {
    const { core } = this.#engine;
    if (ends !== undefined) {
      lengthOf("ends", ends, rows, ONE_EACH);
      core.u8.set(
        Uint8Array.from(ends, (end) => (end ? 1 : 0)),
        this.#endsAt,
      );
    }
    return core.x.writer_append_block(this.#writer, this.#at, rows, ends === undefined ? 0 : this.#endsAt);
  }

  #rowsOf(leaf: PlacedLeaf, value: unknown): number {
    const rows = kindOf(value) === undefined ? ((value as unknown[] | undefined)?.length ?? 0) * this.#lanes : (value as Float32Array).length / leaf.size;
    if (Number.isInteger(rows / this.#lanes) && rows > 0) return rows;
    throw mustBe(RangeError, named(leaf.keys), `a column of at least one whole step, ${formOf(leaf, ["time"])}`, value);
  }
}
