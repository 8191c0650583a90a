/** Implements the base of transition and sequence views. Their batches have named columns, and a draw returns either all requested items or none. */

import { described, integer, mustBe, oneOf, onlyKeys, ReplayError } from "../base/error.ts";
import { MAX_LENGTH } from "../base/limits.ts";
import type { ArrayClass } from "../schema/dtype.ts";
import { DrawnTransitions, type Into, leaseOf } from "./batch.ts";
import { BatchBuffer } from "./buffer.ts";
import { clearKeys } from "./derive.ts";
import type { Draw } from "./draw.ts";
import { type BatchLayout, type NStep, SOURCE, WEIGHTS } from "./layout.ts";
import type { SampleOptions } from "./options.ts";
import { Part, type PartBuffer } from "./part-buffer.ts";
import type { BatchView, PartOf, SampledTable, Sampler } from "./sampler.ts";

/** A batch of a transition view or a sequence view. */
interface ColumnBatch {
  release(): void;
  readonly keys: Float64Array;
}

export abstract class ColumnView implements BatchView {
  readonly flags = 0;
  /** The number of steps in a window of the last draw. */
  width = 0;
  abstract readonly from: number;
  abstract readonly nStep: NStep | undefined;
  abstract readonly nStepTable: number;
  protected readonly sampler: Sampler;
  protected readonly table: SampledTable;
  /** The array class of returns, discounts and weights. */
  protected readonly float: ArrayClass;
  /** The schema of batches. Buffers with the same schema object have the same columns, except for optional columns. */
  protected abstract readonly schema: object;

  constructor(sampler: Sampler, dtype: "f32" | "f64") {
    this.sampler = sampler;
    this.table = sampler.table;
    this.float = oneOf<ArrayClass>("dtype", { f32: Float32Array, f64: Float64Array }, dtype);
  }

  /** The names of the parts of a step that batches show. */
  protected abstract get parts(): readonly string[];
  protected abstract layoutOf(n: number, width: number, float: ArrayClass, holds: number): BatchLayout;
  /** Returns whether a buffer for windows of `has` steps fits windows of `width` steps. */
  protected abstract isWide(has: number, width: number): boolean;
  /** `batchWidth` returns the number of steps per window of new arrays. `wholeWidth` returns it for a batch of several parts, or for `into`. */
  protected abstract batchWidth(): number;
  protected abstract wholeWidth(into: Into | undefined, parts?: readonly BatchBuffer[]): number;
  abstract choose(part: PartOf | undefined): BatchBuffer;
  abstract longest(): number;
  abstract derive(buffer: BatchBuffer, draw: Draw): boolean;

  narrow(buffer: BatchBuffer, _: Draw, count: number, part: PartOf | undefined): BatchBuffer {
    const { into, recycle, holds } = this.sampler.options;
    const { width } = this;
    if (into !== undefined || count === buffer.layout.n) return buffer;
    const narrow = part === undefined ? this.#fresh(count, width) : this.#refilled(count, width, holds, undefined, Float64Array);
    narrow.takeOver(buffer);
    if (recycle !== false) (buffer.batch as unknown as ColumnBatch).release();
    else if (part === undefined) this.sampler.pool.give(buffer);
    return narrow;
  }

  end(buffer: BatchBuffer, count: number): void {
    // Arrays of the caller may be longer than the draw.
    if (count < buffer.layout.n || buffer.isRefilled) clearKeys(buffer, count);
  }

  check(): void {}

  counted(batch: object): { readonly keys: Float64Array } {
    return batch as ColumnBatch;
  }

  partOptions(options: SampleOptions, into: Into | undefined, n: number): SampleOptions {
    if (into !== undefined) this.#refilled(n, this.wholeWidth(into), options.beta === undefined ? 0 : WEIGHTS, into).check();
    return options;
  }

  whole(parts: readonly BatchBuffer[], { into, beta }: SampleOptions, n: number): BatchBuffer {
    const whole = this.#refilled(n, this.wholeWidth(into, parts), beta === undefined ? 0 : WEIGHTS, into);
    whole.check();
    return whole;
  }

  /** Returns new arrays for n items, for use as `into`. @param source SOURCE for batches of a mixture */
  batch(n: number, options: SampleOptions, source = 0): object {
    const { beta } = onlyKeys("batch", options, "beta");
    return this.#refilled(integer("n", n, 1, MAX_LENGTH), this.batchWidth(), (beta === undefined ? 0 : WEIGHTS) + source).batch;
  }

  get columns(): BatchLayout {
    if (this.parts.includes("source"))
      throw new ReplayError("SPEC_MISMATCH", 'the leaf "source" has the same name as a column of mixtures. Rename the leaf in spec');
    return this.layoutOf(1, 1, this.float, WEIGHTS + SOURCE);
  }

  blank(longest: number): BatchBuffer {
    const { n, holds, into } = this.sampler.options;
    return into === undefined ? this.#fresh(n, longest, SOURCE) : this.#refilled(n, this.wholeWidth(into), holds + SOURCE, into);
  }

  /** Returns the buffer for a draw with windows of `width` steps. */
  protected bufferOf(width: number, part: PartOf | undefined): BatchBuffer {
    const { n, holds, into } = this.sampler.options;
    this.width = width;
    if (into instanceof Part) return this.#partOf(into, width);
    if (into === undefined && part === undefined) return this.#fresh(n, width);
    return this.#refilled(n, width, holds, into, part === undefined ? this.float : Float64Array);
  }

  /** Returns the buffer of a new batch, or of a released batch. */
  #fresh(n: number, width: number, source = 0): BatchBuffer {
    const { pool, options } = this.sampler;
    const { recycle } = options;
    const holds = options.holds + source;
    const buffer = pool.take(recycle, n, width, this.schema, holds) ?? new BatchBuffer(this.table.engine, this.layoutOf(n, width, this.float, holds));
    buffer.isFresh = true;
    return recycle === false ? buffer : pool.lend(buffer, recycle);
  }

  /**
   * Returns the buffer of the caller's batch, or of a new part. @throws TypeError if `into` has weights or sources that the call does not compute · ReplayError
   * SPEC_MISMATCH if an array of `into` is missing or too small
   */
  #refilled(n: number, width: number, holds: number, into?: object, float = this.float): BatchBuffer {
    const { known: buffers } = this.sampler.pool;
    const known = typeof into === "object" && into !== null ? buffers.get(into) : undefined;
    const present = known?.layout.holds ?? (into instanceof DrawnTransitions ? leaseOf(into)?.layout.holds : 0) ?? 0;
    if (present & SOURCE && !(holds & SOURCE)) throw mustBe(TypeError, "into", "a batch of this view", described("a batch of a mixture"));
    if (present & WEIGHTS && !(holds & WEIGHTS)) throw mustBe(TypeError, "beta", "given, because into has weights", undefined);
    if (known?.layout.n === n && this.isWide(known.layout.width, width) && known.layout.holds === holds) return known;
    const made = new BatchBuffer(this.table.engine, this.layoutOf(n, width, float, holds), into);
    buffers.set(made.batch, made);
    return made;
  }

  /**
   * Returns the buffer of one part of a mixture's batch, with room for as many items as the whole batch. @throws ReplayError SPEC_MISMATCH if the columns
   * differ
   */
  #partOf(part: Part, width: number): PartBuffer {
    const { n, holds } = part.whole.layout;
    const known = part.buffer;
    if (known !== undefined && known.layout.n >= n && this.isWide(known.layout.width, width) && known.layout.holds === holds) return known;
    return part.renew(this.table.engine, this.layoutOf(n, width, this.float, holds));
  }
}
