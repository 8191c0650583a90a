/**
 * Fills the part of a mixture's batch that comes from one source. Gathers the source's draw in the scratch of its Replay, and copies the values to the source's
 * rows of the whole batch.
 */

import { WEIGHT } from "../base/abi.ts";
import { ReplayError } from "../base/error.ts";
import type { Engine } from "../memory/engine.ts";
import type { ArrayClass } from "../schema/dtype.ts";
import { BatchBuffer, type Filled } from "./buffer.ts";
import type { Draw } from "./draw.ts";
import { type BatchLayout, type Field, NO_WINDOWS, WEIGHTS } from "./layout.ts";

/** The rows of a batch that a source fills. Passed to its draws as `into`. */
export class Part implements Filled {
  count = 0;
  whole!: BatchBuffer;
  /** The first row of the part. */
  first = 0;
  /** Whether no other source draws from the same table first, so that looking ahead predicts the draw. */
  isSure = true;
  buffer: PartBuffer | undefined;
  /** The weights of the part before all weights of the batch are divided by the largest weight; undefined if they are not divided. */
  weights: Float64Array | undefined;

  /**
   * Returns a buffer for more items, longer windows or other columns.
   * @throws ReplayError SPEC_MISMATCH if the columns differ from the columns of the whole batch
   */
  renew(engine: Engine, layout: BatchLayout): PartBuffer {
    const difference = columnDifference(this.whole.layout, layout);
    if (difference !== undefined) throw otherColumns(difference);
    this.buffer = new PartBuffer(engine, layout, this);
    return this.buffer;
  }
}

export class PartBuffer extends BatchBuffer {
  declare readonly batch: Part;
  /** The views of the rows in scratch that are copied, by field number. */
  #views: (Uint8Array | undefined)[] = [];
  /** The number of items of the views; -1 if memory has moved since the views were made. */
  #count = -1;

  override get first(): number {
    return this.batch.first;
  }

  override bytesOf(field: number): Uint8Array {
    return this.batch.whole.bytesOf(field);
  }

  override startOf(field: number): number {
    return this.batch.whole.startOf(field) + this.batch.first * bytesOf(this.layout.fields[field] as Field);
  }

  /** Needs no check of the arrays: they belong to the whole batch, which was already checked. */
  override check(): void {
    this.texts = this.batch.whole.texts;
  }

  override copyOut(count: number): void {
    if (count !== this.#count) this.#lookAt(count);
    // The loop uses an index: before V8 optimizes this function, `for … of` allocates an object per iteration.
    for (let i = 0; i < this.#views.length; i++) {
      const view = this.#views[i];
      if (view !== undefined) this.bytesOf(i).set(view, this.startOf(i));
    }
  }

  /** Keeps the weights of a draw as f64. The batch may store weights as f32, and the largest weight may be infinite as an f32. */
  keepWeights(draw: Draw, count: number): void {
    const { weights, first } = this.batch;
    if (weights === undefined || !(this.layout.holds & WEIGHTS)) return;
    const { f64 } = this.engine.core;
    const from = draw.address(WEIGHT) >>> 3;
    for (let i = 0; i < count; i++) weights[first + i] = f64[from + i] as number;
  }

  protected override refill(part: Part): void {
    (this as { batch: Filled }).batch = part;
    this.windows = { ...NO_WINDOWS };
  }

  protected override look(): void {
    this.plan = this.planned();
    this.isPlanned = false;
    this.#count = -1;
  }

  #lookAt(count: number): void {
    const { u8 } = this.engine.core;
    this.#views = this.layout.fields.map((field) => {
      if (field.type === undefined || field.source === "direct") return undefined;
      const from = this.sourceOf(field);
      return u8.subarray(from, from + count * bytesOf(field));
    });
    this.#count = count;
  }
}

/** Returns the bytes per item of a field. */
function bytesOf({ type, each }: Field): number {
  return type === undefined ? 0 : each * (type as ArrayClass).BYTES_PER_ELEMENT;
}

/** Returns the error for sources with different columns. @param difference the first difference, as text */
export function otherColumns(difference: string): ReplayError {
  return new ReplayError("SPEC_MISMATCH", `all sources of a mixture must have the same columns, but they differ in ${difference}`);
}

/** Returns the first difference between the columns of two batches, as text for messages; undefined if they are equal. */
export function columnDifference(one: BatchLayout, other: BatchLayout): string | undefined {
  const paths = new Set([...one.fields, ...other.fields].map(({ path }) => path));
  const textIn = ({ fields }: BatchLayout, path: string) => fieldText(fields.find((field) => field.path === path));
  for (const path of paths) {
    const [a, b] = [textIn(one, path), textIn(other, path)];
    if (a !== b) return `${path.replace(/^into\.|\.data$/g, "")}: ${a} in the first source, ${b} in another`;
  }
  return undefined;
}

function fieldText(field: Field | undefined): string {
  if (field === undefined) return "nothing";
  const { type, shape, each } = field;
  return `${type?.name ?? "text"} of shape [${["n", ...(shape?.slice(1) ?? (each === 1 ? [] : [each]))].join(", ")}]`;
}
