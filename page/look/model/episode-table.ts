/** Stores the columns of the list of episodes, which grow as episodes are read: a few bytes per episode, without steps. */

/** The number of points of the sketch of an episode's actions. */
export const SKETCH = 24;
/** Marks a point of a sketch that has no data. */
export const NO_POINT = 255;

/** How an episode ends, according to its last step. */
export const ENDINGS = ["", "terminated", "truncated", "open"] as const;
export type Ending = (typeof ENDINGS)[number];

/** One episode that was read. */
export interface EpisodeSummary {
  readonly index: number;
  readonly length: number;
  /** The sum of the rewards of all steps that are not final observations; NaN if rewards are not single numbers. */
  readonly sum: number;
  readonly ending: Ending;
  /** SKETCH points. 0 … 254 is the range from the smallest to the largest action of the episode. */
  readonly sketch: Uint8Array;
  /** The number of the episode's faults. */
  readonly faults: number;
}

export type Order = "index" | "length" | "return";
export type Shown = "all" | "flagged" | "kept" | "faulty";

const KNOWN = 1;
const READ = 2;
const FLAGGED = 4;

export class EpisodeTable {
  /** The number of episodes in the list, whether they were read or are only listed in the files. */
  count = 0;
  read = 0;
  flagged = 0;
  #lengths = new Float64Array(64);
  #sums = new Float64Array(64);
  #state = new Uint8Array(64);
  #endings = new Uint8Array(64);
  #faults = new Uint32Array(64);
  #sketches = new Uint8Array(64 * SKETCH);

  /** Sets the number of episodes, and their lengths if known, before the episodes are read. */
  expect(count: number, lengths?: ArrayLike<number>): void {
    this.#room(count);
    this.count = Math.max(this.count, count);
    for (let i = 0; i < (lengths?.length ?? 0); i++) {
      this.#lengths[i] = lengths?.[i] as number;
      this.#state[i] = (this.#state[i] as number) | KNOWN;
    }
  }

  /** Adds an episode that was read. If it was added before, its values are replaced. */
  add({ index, length, sum, ending, sketch, faults }: EpisodeSummary): void {
    this.#room(index + 1);
    this.count = Math.max(this.count, index + 1);
    if (!this.isRead(index)) this.read++;
    this.#lengths[index] = length;
    this.#sums[index] = sum;
    this.#endings[index] = ENDINGS.indexOf(ending);
    this.#faults[index] = faults;
    this.#state[index] = (this.#state[index] as number) | KNOWN | READ;
    this.#sketches.set(sketch, index * SKETCH);
  }

  /** Returns the length in steps; NaN if unknown. */
  lengthOf(index: number): number {
    return (this.#state[index] as number) & KNOWN ? (this.#lengths[index] as number) : Number.NaN;
  }

  /** Returns the return; NaN if unknown. */
  returnOf(index: number): number {
    return this.isRead(index) ? (this.#sums[index] as number) : Number.NaN;
  }

  endingOf(index: number): Ending {
    return ENDINGS[this.#endings[index] as number] as Ending;
  }

  faultsOf(index: number): number {
    return this.#faults[index] as number;
  }

  sketchOf(index: number): Uint8Array {
    return this.#sketches.subarray(index * SKETCH, (index + 1) * SKETCH);
  }

  isRead(index: number): boolean {
    return ((this.#state[index] as number) & READ) !== 0;
  }

  isFlagged(index: number): boolean {
    return ((this.#state[index] as number) & FLAGGED) !== 0;
  }

  flag(index: number, on: boolean): void {
    if (index >= this.count || this.isFlagged(index) === on) return;
    this.#state[index] = (this.#state[index] as number) ^ FLAGGED;
    this.flagged += on ? 1 : -1;
  }

  /** Returns the flagged episodes in order. */
  get flaggedOnes(): number[] {
    return Array.from({ length: this.count }, (_, i) => i).filter((i) => this.isFlagged(i));
  }

  /** Returns the length, or the return, of each episode that was read. */
  values(of: "length" | "return"): Float64Array {
    const all = of === "length" ? this.#lengths : this.#sums;
    const found = new Float64Array(this.read);
    for (let i = 0, to = 0; i < this.count; i++) if (this.isRead(i)) found[to++] = all[i] as number;
    return found;
  }

  /** Returns the numbers of the shown episodes, sorted by a key. Episodes whose key is unknown come last. O(n log n), or O(n) for `index` */
  order(by: Order, descending: boolean, shown: Shown): Uint32Array {
    const chosen = new Uint32Array(this.count);
    const keys = new Float64Array(by === "index" ? 0 : this.count);
    let known = 0;
    let unknown = this.count;
    for (let i = 0; i < this.count; i++) {
      if (!this.#isShown(i, shown)) continue;
      if (by !== "index") keys[i] = by === "length" ? this.lengthOf(i) : this.returnOf(i);
      // Episodes with unknown keys fill the array from its end.
      chosen[by !== "index" && Number.isNaN(keys[i]) ? --unknown : known++] = i;
    }
    const first = chosen.subarray(0, known);
    if (by === "index") return descending ? first.reverse() : first;
    const sign = descending ? -1 : 1;
    first.sort((a, b) => sign * ((keys[a] as number) - (keys[b] as number)) || a - b);
    const all = new Uint32Array(known + this.count - unknown);
    all.set(first);
    all.set(chosen.subarray(unknown).reverse(), known);
    return all;
  }

  #isShown(index: number, shown: Shown): boolean {
    if (shown === "faulty") return this.faultsOf(index) > 0;
    return shown === "all" || this.isFlagged(index) === (shown === "flagged");
  }

  #room(count: number): void {
    if (count <= this.#state.length) return;
    const size = Math.max(count, 2 * this.#state.length);
    const grown = <T extends { set(from: T): void }>(to: T, from: T): T => {
      to.set(from);
      return to;
    };
    this.#lengths = grown(new Float64Array(size), this.#lengths);
    this.#sums = grown(new Float64Array(size), this.#sums);
    this.#state = grown(new Uint8Array(size), this.#state);
    this.#endings = grown(new Uint8Array(size), this.#endings);
    this.#faults = grown(new Uint32Array(size), this.#faults);
    this.#sketches = grown(new Uint8Array(size * SKETCH), this.#sketches);
  }
}
