/** Parses sets of episode numbers from text or lists. */
import { mustBe } from "../../../base/error.ts";

/**
 * The numbers of episodes, as text or as a list. Text has the form `"0-9,12"`, or `"100-"` for the numbers from 100 on. A list contains numbers, and pairs of a
 * first and a last number, such as `[[0, 9], 12]`. Episodes are numbered from 0.
 */
export type EpisodeNumbers = string | readonly (number | readonly [first: number, last: number])[];

const RULE = 'episode numbers such as "0-9,12" or [[0, 9], 12]';

interface Range {
  readonly first: number;
  readonly last: number;
}

/** A set of episodes. */
export class EpisodeSet {
  readonly #subject: string;
  readonly #ranges: readonly Range[];

  /** @param subject the name of the option in messages @throws TypeError, RangeError if the numbers are invalid */
  constructor(subject: string, numbers: EpisodeNumbers) {
    this.#subject = subject;
    if (typeof numbers !== "string" && !Array.isArray(numbers)) throw mustBe(TypeError, subject, RULE, numbers);
    const parts = typeof numbers === "string" ? numbers.split(",") : numbers;
    this.#ranges = merge(parts.map((part) => rangeOf(subject, part)));
  }

  /** The set as a list of ranges. */
  get ranges(): readonly (readonly [first: number, last: number])[] {
    return this.#ranges.map(({ first, last }) => [first, last]);
  }

  has(episode: number): boolean {
    let [from, to] = [0, this.#ranges.length];
    while (from < to) {
      const middle = (from + to) >> 1;
      if ((this.#ranges[middle] as Range).last < episode) from = middle + 1;
      else to = middle;
    }
    return from < this.#ranges.length && (this.#ranges[from] as Range).first <= episode;
  }

  /** The smallest number, or Infinity if the set is empty. */
  get first(): number {
    return this.#ranges[0]?.first ?? Number.POSITIVE_INFINITY;
  }

  /** The largest number, which may be Infinity, or -1 if the set is empty. */
  get last(): number {
    return this.#ranges.at(-1)?.last ?? -1;
  }

  /**
   * @param count the number of episodes in the dataset @throws RangeError if a range of the set begins or ends after the last episode. The end of an open range
   * such as `100-` is not checked
   */
  check(count: number): void {
    for (const { first, last } of this.#ranges) {
      const missing = first >= count ? first : last !== Number.POSITIVE_INFINITY && last >= count ? last : undefined;
      if (missing !== undefined)
        throw mustBe(RangeError, this.#subject, count === 0 ? "empty, because the dataset has no episodes" : `episode numbers in 0 … ${count - 1}`, missing);
    }
  }
}

function rangeOf(subject: string, part: unknown): Range {
  if (typeof part === "string") {
    const [first = "", last, ...more] = part.split("-").map((number) => number.trim());
    const areNumbers = /^\d{1,15}$/.test(first) && /^\d{0,15}$/.test(last ?? "") && more.length === 0;
    if (!areNumbers) throw mustBe(RangeError, subject, RULE, part);
    return checkRange(subject, Number(first), last === undefined ? Number(first) : last === "" ? Number.POSITIVE_INFINITY : Number(last), part);
  }
  const [first, last] = Array.isArray(part) ? part : [part, part];
  const isWhole = (value: unknown) => Number.isSafeInteger(value) && (value as number) >= 0;
  if (!isWhole(first) || !(isWhole(last) || last === Number.POSITIVE_INFINITY))
    throw mustBe(typeof first === "number" ? RangeError : TypeError, subject, RULE, part);
  return checkRange(subject, first as number, last as number, part);
}

function checkRange(subject: string, first: number, last: number, part: unknown): Range {
  if (last < first) throw mustBe(RangeError, subject, "ranges with the smaller number first", part);
  return { first, last };
}

/** Sorts ranges, and merges overlapping or adjacent ranges. */
function merge(ranges: readonly Range[]): readonly Range[] {
  const merged: Range[] = [];
  for (const range of [...ranges].sort((a, b) => a.first - b.first)) {
    const previous = merged.at(-1);
    if (previous !== undefined && range.first <= previous.last + 1)
      merged[merged.length - 1] = { first: previous.first, last: Math.max(previous.last, range.last) };
    else merged.push(range);
  }
  return merged;
}
