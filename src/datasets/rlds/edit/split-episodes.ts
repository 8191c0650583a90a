/** Splits the episodes of a dataset into parts, for example for training and validation. */
import { checkSeed, mustBe, onlyKeys } from "../../../base/error.ts";
import type { RldsDataset, RldsEpisode, RldsStep } from "../../model/dataset.ts";
import { attachSchema, deriveSchema, episodesOf } from "../../model/derive.ts";

export interface SplitOptions {
  /** The seed of the split, a non-negative integer or a bigint below 2^64. Default: 0. */
  readonly seed?: number | bigint;
}

/**
 * The maximum number of episodes per hand. A hand is a group of consecutive episodes in which every part receives its exact share. Shares with more decimals
 * are rounded.
 */
const MAX_HAND = 1000;
const MIN_SHARE = 1 / MAX_HAND;
const TOLERANCE = 1e-9;
const MASK = (1n << 64n) - 1n;

/**
 * Splits the episodes at random into parts whose shares add up to 1, for example `const { train, val } = splitEpisodes(data, { train: 0.9, val: 0.1 }, { seed:
 * 1 })`. In each group of consecutive episodes of a fixed size (10 in this example), every part receives its exact share. Episodes keep their order within a
 * part. The result depends only on the seed and the shares, not on the data. Works lazily, with O(1) memory. Each part reads the source once.
 * @throws TypeError, RangeError if an argument is invalid, or if the shares do not add up to 1
 */
export function splitEpisodes<S = RldsStep, P extends string = string>(
  rlds: RldsDataset<S>,
  shares: { readonly [part in P]: number },
  options: SplitOptions = {},
): { readonly [part in P]: RldsDataset<S> & AsyncIterable<RldsEpisode<S>> } {
  const { seed = 0 } = onlyKeys("options", options, "seed");
  checkSeed(seed);
  const source = episodesOf(rlds) as AsyncIterable<RldsEpisode<S>>;
  const names = Object.keys(checkShares(shares));
  const parts = names.map((name, part) => {
    const episodes = {
      async *[Symbol.asyncIterator]() {
        const dealer = new EpisodeDealer(Object.values(shares), BigInt(seed));
        for await (const episode of source) if (dealer.next() === part) yield episode;
      },
    };
    return [name, attachSchema<S>(episodes, deriveSchema(rlds))] as const;
  });
  return Object.fromEntries(parts) as never;
}

/** Returns the shares unchanged. @throws TypeError, RangeError if a share is invalid, or if the shares do not add up to 1 */
function checkShares(shares: { readonly [part: string]: number }): { readonly [part: string]: number } {
  const rule = "an object of shares above 0 that add up to 1, such as { train: 0.9, val: 0.1 }";
  if (typeof shares !== "object" || shares === null) throw mustBe(TypeError, "shares", rule, shares);
  const values: readonly unknown[] = Object.values(shares);
  for (const [name, share] of Object.entries(shares)) {
    if (typeof share !== "number") throw mustBe(TypeError, `shares: ${name}`, "a number above 0", share);
    if (!(share >= MIN_SHARE && share <= 1)) throw mustBe(RangeError, `shares: ${name}`, `a number in ${MIN_SHARE} … 1`, share);
  }
  const sum = (values as readonly number[]).reduce((a, b) => a + b, 0);
  if (Math.abs(sum - 1) > TOLERANCE) throw mustBe(RangeError, "the sum of shares", "1", sum);
  return shares;
}

/** Chooses the part of the next episode. */
class EpisodeDealer {
  /** The part of each episode in a hand. */
  readonly #hand: readonly number[];
  #rest: number[] = [];
  #state: bigint;

  constructor(shares: readonly number[], seed: bigint) {
    this.#hand = handOf(shares);
    this.#state = seed;
  }

  next(): number {
    if (this.#rest.length === 0) this.#rest = [...this.#hand];
    const at = Number(this.#random() % BigInt(this.#rest.length));
    const part = this.#rest[at] as number;
    this.#rest[at] = this.#rest.at(-1) as number;
    this.#rest.pop();
    return part;
  }

  /** Returns the next random number, from the generator splitmix64. */
  #random(): bigint {
    this.#state = (this.#state + 0x9e3779b97f4a7c15n) & MASK;
    const a = ((this.#state ^ (this.#state >> 30n)) * 0xbf58476d1ce4e5b9n) & MASK;
    const b = ((a ^ (a >> 27n)) * 0x94d049bb133111ebn) & MASK;
    return b ^ (b >> 31n);
  }
}

/** Returns the smallest hand in which every part has a whole number of episodes. */
function handOf(shares: readonly number[]): readonly number[] {
  const isExact = (size: number) => shares.every((share) => Math.abs(share * size - Math.round(share * size)) < TOLERANCE * size);
  let size = 1;
  while (size < MAX_HAND && !isExact(size)) size++;
  const hand: number[] = [];
  let sum = 0;
  shares.forEach((share, part) => {
    sum += share;
    while (hand.length < Math.round(sum * size)) hand.push(part);
  });
  return hand;
}
