/** Items of one writer that wait for a rate limiter. */
import { integer } from "../../base/error.ts";
import type { WaitOptions } from "../../base/wait.ts";
import { engineOf, type Replay } from "../../replay/replay.ts";

/** So many are kept before anyone looks which of them are in by now. */
const FEW = 64;

export class Pending {
  readonly #replay: Replay;
  #limit = FEW;
  #items: { readonly table: string; readonly key: number }[] = [];

  constructor(replay: Replay) {
    this.#replay = replay;
  }

  add(table: string, key: number): void {
    if (this.#items.length >= this.#limit) this.#limit = Math.max(FEW, 2 * this.#count());
    this.#items.push({ table, key });
  }

  /** Waits until at most so many wait; undefined where it is so. @throws RangeError, TypeError · ReplayError TIMEOUT, or the signal's reason */
  until(max: number, options: WaitOptions): Promise<void> | undefined {
    integer("blockUntilNumItems", max, 0);
    return engineOf(this.#replay).waiters.untilFew(() => this.#count(), options, max);
  }

  #count(): number {
    this.#items = this.#items.filter(({ table, key }) => this.#replay.table(table).explain(key).state === "waiting");
    return this.#items.length;
  }
}
