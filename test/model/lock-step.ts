/** Runs the core and its twin in parallel: makes the same random operations on both, and compares all visible state after each. */
import { expect } from "vitest";
import { AHEAD, BLOCKED, DRAW_LONGEST, E_LENGTH, E_PRIORITY, E_RATE_LIMITED, E_UNSUPPORTED, NEWEST } from "../../src/base/abi.ts";
import { waitsForDraws } from "../../src/schema/rate-limiter.ts";
import { TestRandom } from "../support/random.ts";
import { TwinStream } from "./buffers/twin-stream.ts";
import { HEALTHY, Rig, type RigOptions } from "./rig.ts";
import { isRandom, reaches, type TwinItem, TwinTable, type TwinWindow, weightOf, within } from "./twin-table.ts";

/** The priorities. There are few distinct values, so that ties are frequent. */
const PRIORITIES = [0, 0, 0.25, 1, 1, 1, 2, 5, 1000];
const NO_KEYS = [0, -1, Number.NaN, 0.5, 1e300, Number.POSITIVE_INFINITY, 2 ** 53];
const DISTINCT = 1;

export class LockStep {
  readonly rig: Rig;
  readonly twin: TwinTable;
  readonly stream: TwinStream;
  readonly #options: RigOptions;
  readonly #random: TestRandom;
  /** Decides whether to draw ahead. This generator is separate, so that all other operations are the same as in a run without draws ahead. */
  readonly #dice = new TestRandom(3);
  /** All keys that were ever returned. */
  readonly #keys = new Set<number>();
  /** Some of the keys, for use when they are stale. */
  readonly #known: number[] = [];
  /** The keys of draws that were made ahead and are not counted yet. */
  readonly #ahead: number[][] = [];
  #operation = 0;

  /** The length of about half of the items. */
  readonly #usual: number;

  constructor(options: RigOptions) {
    this.#options = options;
    this.#random = new TestRandom(options.seed);
    this.rig = new Rig(options);
    this.twin = new TwinTable(options, (key) => !this.rig.has(key));
    this.stream = new TwinStream(options.keep, options.across);
    this.#usual = Math.max(1, options.keep - this.#random.below(3));
  }

  /** Runs this number of random operations. Inserts prevail, so that a table is usually full. */
  run(operations: number): void {
    const random = this.#random;
    // Large tables are filled first.
    for (let i = 0; this.#options.maxSize > 100 && i <= this.#options.maxSize; i++) {
      this.#append();
      this.#create();
    }
    while (this.#operation < operations) {
      const dice = random.below(1000);
      if (dice < 240) this.#append();
      else if (dice < 640) this.#create();
      else if (dice < 780) this.#sample();
      else if (dice < 890) this.#update();
      else if (dice < 950) this.#delete();
      else if (dice < 997) this.#end();
      else this.#clear();
      this.#operation++;
      this.#compare();
    }
  }

  #append(): void {
    this.rig.append(this.stream.append());
  }

  #end(): void {
    this.rig.end();
    this.stream.end();
  }

  #clear(): void {
    // Clearing may insert several waiting items. The twin could not determine the order in which a random remover then chose its victims.
    if (this.twin.pending.length > 1 && isRandom(this.#options.remover)) return;
    this.rig.x.table_clear(this.rig.table);
    this.twin.clear();
  }

  #create(): void {
    const { rig, stream, twin } = this;
    const random = this.#random;
    if (stream.length === 0) this.#append();
    const odd = random.below(64);
    if (odd === 0) {
      expect(rig.create(random.pick([0, stream.length + 1, 0xffffffff]), 1)).toBe(E_LENGTH);
      return;
    }
    // Items of equal length, created at each step, slide over the steps.
    if (odd % 2 === 0) this.#append();
    const length = odd % 2 === 0 && stream.length >= this.#usual ? this.#usual : 1 + random.below(stream.length);
    if (odd === 1) {
      expect(rig.create(length, random.pick([-1, Number.NaN, Number.POSITIVE_INFINITY]))).toBe(E_PRIORITY);
      return;
    }
    const priority = random.pick(PRIORITIES);
    const code = rig.create(length, priority);
    const key = code < 0 ? -1 : rig.newest();
    const first = stream.newest - length + 1;
    const state = twin.insert({ key, first, length, episodes: stream.episodes(first, length), priority, touch: 0, timesSampled: 0 });
    expect(code).toBe({ in: 1, waits: 0, refused: E_RATE_LIMITED }[state]);
    if (code < 0) return;
    expect(this.#keys.has(key)).toBe(false);
    this.#keys.add(key);
    this.#known[random.below(256)] = key;
  }

  #sample(): void {
    const { rig, twin } = this;
    const { sampler, remover } = this.#options;
    const random = this.#random;
    // If items are inserted between several draws, the choices of a random remover cannot be distinguished.
    const single = twin.pending.length > 0 && isRandom(remover);
    const n = single || random.below(2) === 0 ? 1 : 1 + random.below(Math.min(2 * twin.live.length + 2, random.below(20) === 0 ? this.#options.max : 24));
    const distinct = random.below(4) === 0;
    const { maxTimesSampled, limiter } = this.#options;
    const ahead = maxTimesSampled === 0 && !waitsForDraws(limiter) && this.#dice.below(4) === 0;
    const window: TwinWindow | undefined =
      this.#dice.below(3) === 0 ? { k: 1 + this.#dice.below(twin.live.length + 2), newest: this.#dice.below(3) > 0 } : undefined;
    const count = rig.sample(n, (distinct ? DISTINCT : 0) + (ahead ? AHEAD : 0) + (window?.newest ? NEWEST : 0), window?.k);
    if (window !== undefined) {
      const can = reaches(window, sampler, remover);
      if (count === E_UNSUPPORTED && can !== "yes") return;
      expect(can).not.toBe("no");
    }
    // Items that are inserted during a draw could evict others.
    const admits = window === undefined || sampler.kind !== "uniform" || remover.kind === "fifo";
    const items: TwinItem[] = [];
    const { u32, f64 } = rig;
    const width = Math.max(rig.x.draw_result(rig.draw, DRAW_LONGEST), 1);
    const steps = rig.steps(width);
    const before = [...twin.live];
    const drawn = new Set<TwinItem>();
    for (let i = 0; i < count; i++) {
      if (!twin.canSample()) throw new Error("the limiter allows no more draws");
      const size = twin.live.length;
      const item = twin.live.find((one) => one.key === f64[rig.keys + i]);
      if (item === undefined) throw new Error(`a draw gave key ${f64[rig.keys + i]}, which is not live`);
      let probability = twin.probability(item, window);
      if (distinct) {
        const from = within(before, window);
        const rest = from.filter((one) => !drawn.has(one));
        if (!isRandom(sampler)) probability = TwinTable.pick(sampler, rest) === item ? 1 : 0;
        else probability = from.includes(item) ? TwinTable.share(sampler, item, from, before) : 0;
        if (drawn.has(item)) throw new Error("a draw without replacement gave an item twice");
        drawn.add(item);
      }
      if (probability === 0) throw new Error(`a draw gave key ${item.key}, which has no probability`);
      near(f64[rig.probabilities + i] as number, probability);
      same(f64[rig.priorities + i], item.priority);
      same(u32[rig.sizes + i], size);
      for (let k = 0; k < width; k++) same(steps[i * width + k], k < item.length ? item.first + k : 0);
      twin.drawn(item);
      items.push(item);
      same(u32[rig.times + i], item.timesSampled);
      if (!distinct && admits) twin.settle();
    }
    const from = within(before, window);
    const positive = from.filter((item) => weightOf(sampler, item.priority) > 0).length;
    const enough = distinct && count === (positive > 0 ? positive : from.length);
    if (count < n && !enough && twin.canSample()) throw new Error(`a draw of ${n} gave ${count}, and could have given more`);
    const blocked = rig.x.draw_result(rig.draw, BLOCKED);
    if (!distinct) same(blocked, count === n ? 0 : twin.live.length < this.#options.limiter.minSize ? 1 : 2);
    else same(blocked !== 0, count < n);
    rig.settle();
    twin.settle();
    if (ahead) {
      twin.takeBack(items);
      this.#ahead.push(items.map(({ key }) => key));
    }
    // The batches of some draws are never passed on.
    const dice = this.#dice.below(8);
    if (dice < 3 && this.#ahead.length > 0) this.#count(this.#ahead.shift() as number[]);
    else if (dice === 7) this.#ahead.shift();
  }

  #count(keys: readonly number[]): void {
    const expected = keys.map((key) => this.twin.countAhead(key));
    const times = this.rig.count(keys, 77);
    for (const [i, one] of expected.entries()) same(times[i], one ?? 77);
  }

  #someKeys(n: number): number[] {
    const { live, pending } = this.twin;
    return Array.from({ length: n }, () => {
      const dice = this.#random.below(10);
      if (dice < 6 && live.length > 0) return this.#random.pick(live).key;
      if (dice < 8 && pending.length > 0) return this.#random.pick(pending).key;
      return dice === 9 ? this.#random.pick(NO_KEYS) : (this.#known[this.#random.below(256)] ?? 0);
    });
  }

  #update(): void {
    const random = this.#random;
    const keys = this.#someKeys(random.below(4) === 0 ? 1 + random.below(40) : 1 + random.below(3));
    const priorities = keys.map(() => random.pick(PRIORITIES));
    if (random.below(32) === 0) {
      priorities[random.below(keys.length)] = Number.NaN;
      expect(this.rig.update(keys, priorities)).toBe(E_PRIORITY);
      return;
    }
    const found = keys.filter((key, i) => this.twin.update(key, priorities[i] as number)).length;
    same(this.rig.update(keys, priorities), found);
  }

  #delete(): void {
    const keys = this.#someKeys(1 + this.#random.below(3));
    const found = keys.filter((key) => this.twin.delete(key)).length;
    same(this.rig.delete(keys), found);
    this.twin.settle();
  }

  #compare(): void {
    const { rig, twin } = this;
    same(rig.broken(), HEALTHY);
    same(rig.counter(0), twin.live.length);
    same(rig.counter(2), twin.pending.length);
    same(rig.counter(3), twin.inserts);
    same(rig.counter(4), twin.samples);
    same(rig.counter(5), twin.inserts - twin.live.length);
    same(rig.counter(6), twin.unique);
    same(rig.counter(8), twin.deletedEpisodes);
    same(rig.counter(9), 0);
    same(rig.x.stream_length(rig.stream), this.stream.length);
    // The remaining checks scan everything, so large tables run them rarely.
    if (this.#options.maxSize > 100 && this.#operation % 64 !== 0) return;
    same(rig.counter(1), twin.steps);
    same(rig.counter(7), twin.episodes);
    for (const item of twin.live) this.#compareItem(item, false);
    for (const item of twin.pending) this.#compareItem(item, true);
    same(rig.x.pool_live(rig.pool), this.#reachable());
  }

  #compareItem(item: TwinItem, pending: boolean): void {
    const seen = this.rig.item(item.key);
    if (seen === undefined) throw new Error(`key ${item.key} is gone from the core`);
    same(seen.pending, pending);
    same(seen.length, item.length);
    same(seen.priority, item.priority);
    same(seen.timesSampled, item.timesSampled);
    // The checks take quadratic time in total.
    if (this.#operation % 16 === 0) near(seen.probability, pending ? 0 : this.twin.probability(item));
  }

  /** Returns the number of steps that are held by a live or waiting item, or by the window. */
  #reachable(): number {
    const { live, pending } = this.twin;
    const held = new Set<number>();
    for (const { first, length } of [...live, ...pending]) for (let step = first; step < first + length; step++) held.add(step);
    for (let step = this.stream.newest; this.stream.holds(step); step--) held.add(step);
    return held.size;
  }
}

/** Compares values without calling `expect`, which takes a microsecond, unless they differ. */
function same(seen: unknown, wanted: unknown): void {
  if (seen !== wanted) expect(seen).toBe(wanted);
}

function near(seen: number, wanted: number): void {
  if (!(Math.abs(seen - wanted) <= 1e-12 * wanted)) expect(seen).toBeCloseTo(wanted, 12);
}
