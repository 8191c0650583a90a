/** Resamples the values of a leaf to the ticks of a clock. At most two values per tick are kept, even if there are many messages. */

/** The rule that selects the value of a tick: "last" for the last value at or before the tick, or "nearest" for the nearest value. */
export type SampleRule = "last" | "nearest";

interface Sample<V> {
  /** The time since the origin of the ticks, in nanoseconds. */
  readonly time: number;
  readonly value: V;
}

export class TickValues<V> {
  readonly #rule: SampleRule;
  readonly #rate: number;
  /** For each tick k, the last message after tick k - 1 and up to tick k. `#first` has the first message in the same interval. */
  readonly #last = new Map<number, Sample<V>>();
  readonly #first = new Map<number, Sample<V>>();

  /** @param rate the number of ticks per second */
  constructor(rule: SampleRule, rate: number) {
    this.#rule = rule;
    this.#rate = rate;
  }

  /** Adds a message. Messages may arrive in any order. @returns the value that is discarded, if any: the new value or an older value */
  add(time: number, value: V): V | undefined {
    const k = tickAfter(time, this.#rate);
    const last = this.#last.get(k);
    let discarded: V | undefined = value;
    if (last === undefined || time >= last.time) {
      this.#last.set(k, { time, value });
      discarded = last?.value;
    }
    if (this.#rule === "last") return discarded;
    const first = this.#first.get(k);
    // If the interval has only one message, both maps contain it.
    if (first === undefined || time < first.time) {
      this.#first.set(k, { time, value });
      return first === undefined || first.value === last?.value ? undefined : first.value;
    }
    return discarded === first.value ? undefined : discarded;
  }

  /** The first tick with a value. Undefined if no tick has a value. */
  get begin(): number | undefined {
    let begin: number | undefined;
    for (const k of this.#last.keys()) if (begin === undefined || k < begin) begin = k;
    return begin;
  }

  /** Returns the values at the ticks `from` … `to - 1`. @param from the first tick, at or after `begin` */
  values(from: number, to: number): V[] {
    let before: Sample<V> | undefined;
    for (const [k, sample] of this.#last) if (k <= from && (before === undefined || sample.time > before.time)) before = sample;
    const all: V[] = [];
    const after = this.#rule === "nearest" ? this.#samplesAfter(from, to) : [];
    for (let k = from; k < to; k++) {
      before = this.#last.get(k) ?? before;
      const next = after[k - from];
      const tick = (k * 1e9) / this.#rate;
      const isNext = next !== undefined && before !== undefined && next.time - tick < tick - before.time;
      all.push(((isNext ? next : before) as Sample<V>).value);
    }
    return all;
  }

  /** Returns, for each of the ticks `from` … `to - 1`, the first message after that tick. */
  #samplesAfter(from: number, to: number): (Sample<V> | undefined)[] {
    let next: Sample<V> | undefined;
    for (const [k, sample] of this.#first) if (k > to && (next === undefined || sample.time < next.time)) next = sample;
    const all = new Array<Sample<V> | undefined>(to - from);
    for (let k = to - 1; k >= from; k--) {
      next = this.#first.get(k + 1) ?? next;
      all[k - from] = next;
    }
    return all;
  }
}

/** Returns the first tick at or after a time. */
export function tickAfter(time: number, rate: number): number {
  return Math.ceil((time * rate) / 1e9);
}

/** Returns the last tick at or before a time. */
export function tickBefore(time: number, rate: number): number {
  return Math.floor((time * rate) / 1e9);
}
