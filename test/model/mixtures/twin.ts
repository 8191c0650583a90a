/** Models mixtures as in the guide: the rows of each source, and how a batch is assembled from separate draws of the sources. */
import type { MixtureState } from "../../../src/index.ts";
import { Xoshiro } from "../../support/xoshiro.ts";

type Share = number | ((draw: number) => number);

/** Models how a mixture divides the rows of each draw among its sources. */
export class ShareTwin {
  draw = 0;
  readonly #shares: readonly Share[];
  readonly #random: Xoshiro | undefined;
  #carry: number[];

  constructor(shares: readonly Share[], exact: boolean, seed: number) {
    this.#shares = shares;
    this.#random = exact ? undefined : new Xoshiro(seed);
    this.#carry = shares.map(() => 0);
  }

  /** Returns the shares of the next draw, with 0 for omitted sources. */
  values(isIn: (source: number) => boolean = () => true): number[] {
    return this.#shares.map((share, i) => (isIn(i) ? (typeof share === "number" ? share : share(this.draw)) : 0));
  }

  /** Returns the number of rows from each source, and an action to run after the draw. */
  split(n: number, values: readonly number[]): { readonly rows: readonly number[]; commit(): void } {
    const total = values.reduce((a, b) => a + b, 0);
    if (this.#random !== undefined) return this.#atRandom(n, values, total);
    const owed = values.map((share, i) => (this.#carry[i] as number) + n * (share / total));
    const rows = owed.map((quota, i) => (values[i] === 0 ? 0 : Math.min(n, Math.max(0, Math.floor(quota)))));
    const rest = () => owed.map((quota, i) => quota - (rows[i] as number));
    const sum = () => rows.reduce((a, b) => a + b, 0);
    // Moves one row at a time, to or from the source with the largest deviation.
    while (sum() < n) {
      const [first] = rest()
        .flatMap((off, i) => (values[i] === 0 ? [] : [{ off, i }]))
        .sort((a, b) => b.off - a.off || a.i - b.i);
      (rows[(first as { i: number }).i] as number)++;
    }
    while (sum() > n) {
      const [last] = rest()
        .flatMap((off, i) => (rows[i] === 0 ? [] : [{ off, i }]))
        .sort((a, b) => a.off - b.off || a.i - b.i);
      (rows[(last as { i: number }).i] as number)--;
    }
    return {
      rows,
      commit: () => {
        this.#carry = rest();
        this.draw++;
      },
    };
  }

  /** Whether the state of a mixture equals the expected state. The random state only has to exist. */
  matches({ draw, carry }: MixtureState): boolean {
    return draw === this.draw && carry.every((rows, i) => Math.abs(rows - (this.#carry[i] as number)) < 1e-6);
  }

  /** The random numbers of a draw that is not made yet. A rejected draw must be split again with the same numbers. */
  #pending: number[] = [];
  #atRandom(n: number, values: readonly number[], total: number) {
    while (this.#pending.length < n) this.#pending.push((this.#random as Xoshiro).unit());
    const rows = values.map(() => 0);
    for (const unit of this.#pending.slice(0, n)) {
      let at = unit * total;
      let i = values.findIndex((share) => share > 0);
      for (let k = 0; k < values.length; k++) {
        if (values[k] === 0) continue;
        i = k;
        if (at < (values[k] as number)) break;
        at -= values[k] as number;
      }
      (rows[i] as number)++;
    }
    return {
      rows,
      commit: () => {
        this.#pending.splice(0, n);
        this.draw++;
      },
    };
  }
}
