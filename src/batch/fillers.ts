/** Which filler fills the batch of a draw: that of a new batch, of one that came back, or of one that the caller gives. */

import { integer, mustBe, ReplayError } from "../base/error.ts";
import { MAX_LENGTH } from "../base/limits.ts";
import type { Engine } from "../memory/engine.ts";
import type { Column } from "../schema/column.ts";
import { fitTogether, hasRoom, jointOf, type Selection, wholeOf } from "../schema/columns.ts";
import { valueAt } from "../schema/nest.ts";
import { type Batch, DrawnBatch, type Form, type Into, slabOf } from "./batch.ts";
import { Filler, MASK } from "./filler.ts";
import { type Recycle, Supply } from "./returned.ts";

/** Of each call: items, steps of a window, columns, and WEIGHTS, RETURNS, MASK as bits. */
export class Fillers {
  /** Every leaf of every step. */
  readonly whole: readonly Selection[];
  readonly #engine: Engine;
  readonly #known = new WeakMap<object, Filler>();
  readonly #supply = new Supply<Batch<unknown>, Filler>();

  constructor(engine: Engine) {
    this.#engine = engine;
    this.whole = wholeOf(engine.layout.leaves);
  }

  /** That of a new batch, the same one as long as batches are alike; or of one that came back. */
  fresh(n: number, width: number, selections: readonly Selection[], holds: number, recycle: Recycle): Filler {
    return this.#supply.next(
      recycle,
      (one) => one.fits(n, width, selections, holds),
      () => this.#made(n, width, selections, holds),
    );
  }

  /** Gives the batch of a fresh one away. */
  give(filler: Filler): Batch<unknown> {
    return this.#supply.give(filler);
  }

  /** That of the given batch, or of a new part. @throws ReplayError SPEC_MISMATCH, TypeError */
  of(into: Into | undefined, n: number, width: number, selections: readonly Selection[], holds: number, open = false): Filler {
    if (into !== undefined && (typeof into !== "object" || into === null)) throw mustBe(TypeError, "into", "a batch to refill", into);
    const known = into && this.#known.get(into);
    if (known?.fits(n, width, selections, known.holds) && (known.holds | MASK) === (holds | MASK) && known.holds >= holds) return known;
    const size = this.#formOf(into)?.n ?? n;
    if (size < n) throw new ReplayError("SPEC_MISMATCH", `into must be a batch of at least ${n} items, as table.batch(${n}, …) makes it, got one of ${size}`);
    const made = this.#made(n, width, selections, holds, into, open);
    this.#known.set(made.batch, made);
    return made;
  }

  /** That of a part. */
  ofPart(part: Batch<unknown>): Filler {
    return this.#known.get(part) as Filler;
  }

  /** The columns of a batch to refill where they have more room than those that items now have: its shapes stay. Else the latter. */
  kept(into: Into | undefined, selections: readonly Selection[], width: number): readonly Selection[] {
    const before = this.#formOf(into)?.selections;
    if (before === undefined || before === selections || before === this.whole || selections === this.whole) return selections;
    const own = { selections: before };
    if (!fitTogether(before, selections) || !hasRoom(before, { selections }, width) || hasRoom(selections, own, width)) return selections;
    return jointOf(own, [own], width, before);
  }

  /** Number of steps per item in the given batch. @throws TypeError, RangeError */
  widthOf(into: Into, selections: readonly Selection[]): number {
    const known = this.#formOf(into)?.width;
    if (known !== undefined) return known;
    if (typeof into !== "object" || into === null || into.steps === undefined)
      throw mustBe(TypeError, "into", "a batch, such as table.batch(n, { length }) makes", into);
    const { keys } = selections[0] as Selection;
    const column = valueAt(into.steps, keys) as Column | undefined;
    const length = selections === this.whole ? column?.shape?.[1] : 0;
    return integer("length (or the second dimension of into)", length, 1, MAX_LENGTH);
  }

  #formOf(into: Into | undefined): Pick<Form, "n" | "width" | "selections"> | undefined {
    if (into instanceof DrawnBatch) return slabOf(into).form;
    return typeof into === "object" && into !== null ? this.#known.get(into) : undefined;
  }

  #made(n: number, width: number, selections: readonly Selection[], holds: number, into?: Into, open = false): Filler {
    return new Filler(this.#engine, n, width, selections, selections === this.whole, holds, into, open);
  }
}
