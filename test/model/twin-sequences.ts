/** Models sequences as in the guide, on lists of steps: the items that a rule creates from a lane, and the columns of a view. Nothing here uses the core. */

/** A row in the records of the twin. */
export interface Row {
  id: number;
  reward: number;
  discount: number;
  flag: boolean;
  /** How the episode ends with this row. `truncated` and `terminated` mark final steps. */
  end: "no" | "plain" | "truncated" | "terminated";
}

export interface SequenceRuleOf {
  readonly length: number;
  readonly burnIn: number;
  readonly stride: number;
}

export interface TwinItem {
  readonly rows: readonly Row[];
  readonly burnIn: number;
  /** Whether the item begins with the first step of an episode. */
  readonly isFirst: boolean;
}

export const isFinal = ({ end }: Row): boolean => end === "truncated" || end === "terminated";

/** A lane: its rows, and the sequences created from them. */
export class TwinLane {
  readonly rows: Row[] = [];
  readonly #rule: SequenceRuleOf;
  readonly #across: boolean;
  readonly #make: (item: TwinItem) => void;
  /** The start of the open stretch: of the episode, or of the lane if sequences cross ends. */
  #begin = 0;
  /** The number of the next sequence, which starts that many strides after the beginning. */
  #next = 0;

  constructor(rule: SequenceRuleOf, across: boolean, make: (item: TwinItem) => void) {
    this.#rule = rule;
    this.#across = across;
    this.#make = make;
  }

  get isOpen(): boolean {
    const last = this.rows.at(-1);
    return last !== undefined && last.end === "no";
  }

  add(row: Row): void {
    this.rows.push(row);
    const { length, stride } = this.#rule;
    const start = this.#begin + this.#next * stride;
    if (this.rows.length - start === length) this.#cut(start, length);
    if (isFinal(row) && !this.#across) this.#finish();
  }

  /** Closes the lane: the newest step becomes the final step. */
  close(): void {
    const last = this.rows.at(-1);
    if (last === undefined || (!this.#across && !this.isOpen)) return;
    const wasOpen = this.isOpen;
    this.#finish();
    if (wasOpen) last.end = "truncated";
  }

  /** Creates the sequence of the remaining steps, unless a sequence ends with the newest step. */
  #finish(): void {
    const { length, stride } = this.#rule;
    const start = this.#begin + this.#next * stride;
    const before = start - stride;
    const isWhole = this.#next > 0 && before + length === this.rows.length;
    if (!isWhole && this.rows.length - start >= 2) this.#cut(start, this.rows.length - start);
    this.#begin = this.rows.length;
    this.#next = 0;
  }

  #cut(start: number, length: number): void {
    this.#next++;
    const rows = this.rows.slice(start, start + length);
    const before = this.rows[start - 1];
    const { burnIn } = this.#rule;
    if (isFinal(rows[0] as Row)) {
      if (rows.length > 2) this.#make({ rows: rows.slice(1), burnIn: Math.max(0, burnIn - 1), isFirst: true });
      return;
    }
    const isFirst = before === undefined || before.end !== "no";
    const isBare = this.#across ? start === 0 : isFirst;
    this.#make({ rows, burnIn: isBare ? 0 : burnIn, isFirst });
  }
}

export interface TwinView {
  readonly gamma: number;
  readonly n: number;
  readonly roles: { readonly discount: boolean; readonly terminated: boolean };
}

export interface Seen {
  returns: number;
  discounts: number;
  bootstraps: number;
  learningMask: number;
  isFirst: number;
  isLast: number;
  isTerminal: number;
}

/** Returns the columns of a view for the k-th row of an item. */
export function seenOf({ rows, burnIn, isFirst }: TwinItem, k: number, { gamma, n, roles }: TwinView): Seen {
  const alive = (row: Row) => (roles.terminated && row.flag ? 0 : roles.discount ? row.discount : 1);
  const row = rows[k] as Row;
  const before = rows[k - 1];
  const endsHere = ({ end }: Row) => end !== "no";
  /** Returns whether a row is useful for learning: a step of its episode follows, or nothing after the row counts. */
  const counts = (i: number) => {
    const one = rows[i] as Row;
    if (isFinal(one)) return false;
    return one.end === "plain" ? alive(one) === 0 : i + 1 < rows.length;
  };
  let [returns, discounts, at] = [0, 1, k];
  while (at - k < n && at < rows.length && counts(at)) {
    const one = rows[at] as Row;
    returns += discounts * one.reward;
    discounts *= gamma * alive(one);
    // The episode terminated with a plain end, so there is no bootstrap.
    if (endsHere(one)) break;
    at++;
    if (alive(one) === 0) break;
  }
  const last = rows[at] as Row;
  const isTerminal = (one: Row, previous: Row | undefined) =>
    one.end === "terminated" || (one.end === "truncated" && previous !== undefined && alive(previous) === 0) || (one.end === "plain" && alive(one) === 0);
  if (isFinal(last) && isTerminal(last, rows[at - 1])) discounts = 0;
  return {
    returns,
    discounts,
    bootstraps: at,
    learningMask: Number(counts(k) && k >= burnIn),
    isFirst: Number(before === undefined ? isFirst : endsHere(before)),
    isLast: Number(endsHere(row)),
    isTerminal: Number(isTerminal(row, before)),
  };
}
