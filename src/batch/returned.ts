/** Batches that come back: their memory is filled again, which spares the allocation, and the page faults of large ones. */
import { mustBe } from "../base/error.ts";

/** Where a filler goes when its batch is released. */
export interface Home<F> {
  back(filler: F): void;
}

export type Recycle = boolean | "detach";

/** @throws TypeError */
export function checkRecycle(recycle: unknown, into: unknown): Recycle {
  if (typeof recycle !== "boolean" && recycle !== "detach") throw mustBe(TypeError, "recycle", 'a boolean, or "detach"', recycle);
  if (recycle !== false && into !== undefined) throw mustBe(TypeError, "recycle", "left out beside into, which you refill yourself", recycle);
  return recycle;
}

/** Fillers that are free, because their batches were given away. */
class Returned<F> implements Home<F> {
  readonly #idle: F[] = [];
  readonly #most: number;

  /** @param most so many are kept: more are for the garbage collector */
  constructor(most: number) {
    this.#most = most;
  }

  /** The last one that came back and fits; undefined where there is none. */
  take(fits: (filler: F) => boolean): F | undefined {
    const idle = this.#idle;
    for (let i = idle.length - 1; i >= 0; i--) {
      if (!this.isFree(idle[i] as F) || !fits(idle[i] as F)) continue;
      return i === idle.length - 1 ? idle.pop() : idle.splice(i, 1)[0];
    }
    return undefined;
  }

  back(filler: F): void {
    this.#idle.push(filler);
    if (this.#idle.length > this.#most) this.#idle.shift();
  }

  protected isFree(_: F): boolean {
    return true;
  }
}

/** Fillers whose batches are lent, once they came back. One whose memory was transferred, or that is frozen, is for the garbage collector. */
class Lent<F extends { readonly canRefill: boolean }> extends Returned<F> {
  override back(filler: F): void {
    if (filler.canRefill) super.back(filler);
  }

  protected override isFree(filler: F): boolean {
    return filler.canRefill;
  }
}

/** Where batches go whose late use should be seen: their arrays are empty from then on. */
const NOWHERE: Home<{ detach(): void }> = { back: (filler) => filler.detach() };

/** What makes batches one after the other. */
interface Maker<B, F> {
  readonly canRefill: boolean;
  renewed(): F;
  lentTo(home: Home<F>): F;
  given(): B;
  detach(): void;
}

/** The fillers of batches of one kind: which one the next batch is made by, and where that goes afterwards. */
export class Supply<B, F extends Maker<B, F>> {
  readonly #spare = new Returned<F>(2);
  readonly #lent = new Lent<F>(32);

  /** That of a new batch, the same one as long as batches are alike; or of one that came back. */
  next(recycle: Recycle, fits: (filler: F) => boolean, made: () => F): F {
    if (recycle === false) return this.#spare.take(fits)?.renewed() ?? made();
    const idle = recycle === true ? this.#lent.take(fits) : undefined;
    return (idle ?? made()).lentTo(recycle === true ? this.#lent : NOWHERE);
  }

  /** Gives the batch of a new one away. */
  give(filler: F): B {
    const batch = filler.given();
    this.#spare.back(filler);
    return batch;
  }
}
