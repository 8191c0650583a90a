/** Columns of steps on their way into the core: the memory that they pass through, and the call that appends them. */
import { E_OUT_OF_MEMORY, E_PRIORITY, E_RATE_LIMITED } from "./abi.ts";
import { DTYPES } from "./dtype.ts";
import type { Engine } from "./engine.ts";
import { kindOf, mustBe, ReplayError, show } from "./error.ts";
import { flattenInto, formOf, mismatch } from "./fill.ts";
import { up } from "./layout.ts";
import { named } from "./spec.ts";

/** What the core needs beside a row (assembly/writer.ts). */
const SCRATCH_BYTES = 8;

export class ColumnBlock {
  readonly #engine: Engine;
  readonly #writer: number;
  readonly #lanes: number;
  /** One run of memory: columns' addresses, then the columns, ends, the core's scratch, priorities. */
  #at = 0;
  #bytes = 0;
  #capacity = 0;
  #columns: number[] = [];
  #endsAt = 0;
  #scratchAt = 0;
  #prioritiesAt = 0;
  readonly #rules: number;

  constructor(engine: Engine, writer: number, lanes: number, rules: number) {
    this.#rules = rules;
    this.#engine = engine;
    this.#writer = writer;
    this.#lanes = lanes;
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
    const place = (bytes: number) => {
      const here = at;
      at = up(at + bytes, 16);
      return here;
    };
    const columns = layout.leaves.map((leaf) => place(rows * leaf.bytes));
    const ends = place(rows);
    const scratch = place(SCRATCH_BYTES * rows);
    const priorities = place(8 * this.#rules * rows);
    const made = core.alloc(at);
    this.free();
    this.#at = made;
    this.#bytes = at;
    this.#capacity = rows;
    this.#columns = columns.map((offset) => made + offset);
    this.#endsAt = made + ends;
    this.#scratchAt = made + scratch;
    this.#prioritiesAt = made + priorities;
    core.u32.set(this.#columns, made >> 2);
  }

  free(): void {
    this.#engine.core.x.arena_free(this.#at, this.#bytes);
  }

  /** Writes columns; how many rows. With `rows` given, so many are asked for and there is no dimension of time. */
  fill(step: unknown, rows: number | undefined): number {
    const { core, layout } = this.#engine;
    const values = layout.leaves.map(({ keys }) => keys.reduce((node, key) => (node as { [key: string]: unknown } | null | undefined)?.[key], step));
    const count = rows ?? this.#rowsOf(values[0]);
    this.reserve(count);
    layout.leaves.forEach((leaf, i) => {
      const value = values[i];
      const { dtype } = leaf.leaf;
      const { bytes, kind } = DTYPES[dtype];
      const view = core[dtype === "bool" ? "u8" : dtype] as unknown as Float32Array;
      const at = this.columnAt(i) / bytes;
      const length = count * leaf.size;
      const form = () => formOf(leaf, rows === undefined ? ["time", ...(this.#lanes > 1 ? ["lanes"] : [])] : ["lanes"]);
      if (kindOf(value) === kind) {
        if ((value as Float32Array).length !== length) throw mismatch(named(leaf.keys), `${form()}, ${length} elements`, value);
        view.set(value as Float32Array, at);
      } else if (kindOf(value) !== undefined || flattenInto(view, at, length, value, dtype, named(leaf.keys)) !== length || !Array.isArray(value)) {
        throw mismatch(named(leaf.keys), `${form()}, ${length} elements`, value);
      }
    });
    return count;
  }

  /** What rule k gives the items of the next block: one priority each, or `priority` for all. */
  priorities(k: number, priority: number, given: ArrayLike<number> | undefined, rows: number): void {
    const { core } = this.#engine;
    const at = this.#prioritiesAt + 8 * k * rows;
    if (given !== undefined) {
      if (given.length !== rows) throw new RangeError(`priorities must be one a step, ${rows}, got ${show(given)}`);
      core.f64.set(given, at >> 3);
    }
    core.x.writer_priority(this.#writer, k, priority, given === undefined ? 0 : at);
  }

  /** Appends the rows that were filled in. */
  append(rows: number, ends: ArrayLike<number> | undefined): void {
    const { core } = this.#engine;
    if (ends !== undefined) {
      if (ends.length !== rows) throw new RangeError(`ends must be one a step, ${rows}, got ${show(ends)}`);
      for (let r = 0; r < rows; r++) core.u8[this.#endsAt + r] = ends[r] ? 1 : 0;
    }
    core.x.writer_scratch(this.#writer, this.#scratchAt);
    const waiting = core.x.writer_append_block(this.#writer, this.#at, rows, ends === undefined ? 0 : this.#endsAt);
    if (waiting < 0) throw this.#refused(waiting, rows);
    this.#engine.changed();
  }

  #rowsOf(value: unknown): number {
    const [leaf] = this.#engine.layout.leaves;
    if (leaf === undefined || (!Array.isArray(value) && !ArrayBuffer.isView(value)))
      throw mismatch(named(leaf?.keys ?? []), "a column with a leading dimension of time", value);
    const length = kindOf(value) === undefined ? (value as unknown[]).length * this.#lanes : (value as Float32Array).length / leaf.size;
    if (!Number.isInteger(length / this.#lanes)) throw mismatch(named(leaf.keys), `whole steps of ${leaf.size * this.#lanes} elements`, value);
    if (length < 1) throw new RangeError(mustBe(named(leaf.keys), "at least one step", value));
    return length;
  }

  #refused(code: number, rows: number): Error {
    const { core } = this.#engine;
    if (core.u8.length === 0) core.refresh();
    if (code === E_RATE_LIMITED) {
      return new ReplayError(
        "RATE_LIMITED",
        `a block of ${rows} steps could leave more items waiting for the rate limiter than maxPending; nothing changed: give fewer, or sample in between`,
      );
    }
    if (code === E_PRIORITY)
      return new RangeError(mustBe(`priorities[${core.x.error_argument()}]`, "a finite number >= 0 whose weight is at most 2^990", core.x.error_value()));
    return core.failure(code === E_OUT_OF_MEMORY ? E_OUT_OF_MEMORY : code, `a block of ${rows} steps`);
  }
}
