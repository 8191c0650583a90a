/** Counts the distribution of each leaf, over the episodes read so far. */
import { Bins, type Spread } from "./bins.ts";
import type { LeafColumn } from "./columns.ts";
import { kindOf } from "./leaf-kinds.ts";

/** The maximum number of distinct texts that are counted per leaf, and below, the maximum number that are shown. */
const TEXTS = 1000;
const SHOWN_TEXTS = 12;
/** The maximum number of elements that are counted per step. Larger values are sampled. */
const ELEMENTS = 256;
/** The maximum number of characters of a text that are shown. */
const TEXT_LENGTH = 200;

export interface TextCount {
  readonly text: string;
  readonly count: number;
}

export interface Distribution {
  readonly path: string;
  readonly dtype: string;
  readonly shape: readonly number[];
  /** The spread of numbers. */
  readonly spread?: Spread;
  /** Every `stride`-th element was counted. 1 means that all elements were counted. */
  readonly stride: number;
  /** The most frequent texts, and the number of other texts. */
  readonly texts?: readonly TextCount[];
  readonly otherTexts?: number;
}

interface LeafCount {
  readonly path: string;
  readonly dtype: string;
  readonly shape: readonly number[];
  readonly stride: number;
  readonly bins?: Bins;
  readonly texts?: Map<string, number>;
  others: number;
}

const FLOATS = ["f32", "f64", "f16", "bf16"];
/** Matches the fields that have no meaning in a final observation. */
const OUTCOME = /^(action|reward|discount)(\/|$)/;

export class Distributions {
  readonly #leaves = new Map<string, LeafCount>();

  /** @param hasFinal whether a step that is_last is a final observation. O(elements), at most 256 per step and leaf */
  add(columns: readonly LeafColumn[], length: number, hasFinal: boolean): void {
    const last = !hasFinal ? undefined : columns.find(({ path, size }) => path === "is_last" && size === 1)?.data;
    for (const column of columns) {
      const kind = kindOf(column);
      if (kind === "encoded" || column.size === 0) continue;
      const leaf = this.#leafOf(column);
      const isOutcome = OUTCOME.test(column.path);
      for (let step = 0; step < length; step++) {
        if (isOutcome && last?.[step]) continue;
        for (let i = step * column.size; i < (step + 1) * column.size; i += leaf.stride) {
          if (kind === "text") count(leaf, column.data[i] as string);
          else leaf.bins?.add(Number(column.data[i]));
        }
      }
    }
  }

  /** Returns copies, in the order in which the leaves were added. */
  get all(): Distribution[] {
    return [...this.#leaves.values()].map(({ path, dtype, shape, stride, bins, texts, others }) => {
      if (bins !== undefined) return { path, dtype, shape, stride, spread: bins.spread };
      const sorted = [...(texts ?? [])].sort(([a, m], [b, n]) => n - m || (a < b ? -1 : 1));
      const shown = sorted.slice(0, SHOWN_TEXTS).map(([text, count]) => ({ text, count }));
      return { path, dtype, shape, stride, texts: shown, otherTexts: others + sorted.slice(SHOWN_TEXTS).reduce((sum, [, count]) => sum + count, 0) };
    });
  }

  #leafOf(column: LeafColumn): LeafCount {
    const { path, dtype, shape, size } = column;
    const known = this.#leaves.get(path);
    if (known !== undefined) return known;
    const isText = kindOf(column) === "text";
    const stride = oddAbove(size / ELEMENTS);
    const leaf = { path, dtype, shape, stride, others: 0, ...(isText ? { texts: new Map() } : { bins: new Bins(!FLOATS.includes(dtype)) }) };
    this.#leaves.set(path, leaf);
    return leaf;
  }
}

/** Returns a stride of at least `value` that is not a multiple of 2 or 3, so that all channels of pixels are sampled. */
function oddAbove(value: number): number {
  const whole = Math.max(1, Math.ceil(value));
  if (whole === 1) return 1;
  const odd = whole % 2 === 0 ? whole + 1 : whole;
  return odd % 3 === 0 ? odd + 2 : odd;
}

function count(leaf: LeafCount, text: string): void {
  const texts = leaf.texts as Map<string, number>;
  const key = text.length > TEXT_LENGTH ? `${text.slice(0, TEXT_LENGTH)} …` : text;
  const found = texts.get(key);
  if (found === undefined && texts.size >= TEXTS) leaf.others++;
  else texts.set(key, (found ?? 0) + 1);
}
