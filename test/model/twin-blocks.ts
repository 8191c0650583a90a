/**
 * Runs two Replays with the same steps. One Replay receives blocks and has rules. The other one receives single steps, and the test creates each item according
 * to the rules.
 */
import { expect } from "vitest";
import { type Replay as AnyReplay, Replay, ReplayError, type ReplayOptions, type Spec } from "../../src/index.ts";
import { DTYPES, type Dtype } from "../../src/schema/dtype.ts";
import { flatten, pack } from "../../src/schema/nest.ts";
import { leavesOf } from "../../src/schema/spec.ts";
import type { WriterOptions } from "../../src/tables/rules.ts";
import type { Writer } from "../../src/tables/writer.ts";
import { expectAlike } from "../support/alike.ts";
import { broken } from "../support/health.ts";
import type { TestRandom } from "../support/random.ts";

type Column = Float64Array;
type R = AnyReplay<Spec, string>;

interface Pair {
  readonly options: Required<Pick<WriterOptions, "lanes" | "keep" | "across">> & {
    readonly items: readonly { table: string; length: number; stride: number; priority: number }[];
  };
  readonly block: Writer<Spec, string>;
  readonly single: Writer<Spec, string>;
  /** The steps of each lane's open episode, or of the lane if the writer crosses episodes. */
  readonly steps: number[];
}

export class TwinBlocks {
  readonly block: R;
  readonly single: R;
  readonly #spec: Spec;
  readonly #pairs: Pair[];
  readonly #random: TestRandom;
  /** The number of blocks that the rate limiter rejected. */
  refused = 0;

  constructor(options: ReplayOptions, writers: readonly Pair["options"][], random: TestRandom) {
    this.#spec = options.spec;
    this.#random = random;
    this.block = new Replay(options) as R;
    this.single = new Replay(options) as R;
    this.#pairs = writers.map((writer) => {
      const { items, ...rest } = writer;
      return { options: writer, block: this.block.writer(writer), single: this.single.writer(rest), steps: new Array(writer.lanes).fill(0) };
    });
  }

  /** Appends a block of `length` steps (of every lane) with the k-th writer, and the same steps one by one. */
  append(k: number, length: number, endRate: number, withPriorities: boolean): void {
    const random = this.#random;
    const pair = this.#pairs[k] as Pair;
    const { lanes, items } = pair.options;
    const rows = length * lanes;
    const columns = this.#columns(pair, rows);
    const ends = endRate === 0 ? undefined : Uint8Array.from({ length: rows }, () => (random.next() < endRate ? 1 : 0));
    const names = new Set(items.map(({ table }) => table));
    const priorities = withPriorities
      ? Object.fromEntries([...names].map((name) => [name, Float64Array.from({ length: rows }, () => random.pick([0, 1, 1, 2, 3.5]))]))
      : undefined;
    const before = this.block.stats();
    try {
      pair.block.appendColumns(pack(this.#spec, columns) as never, { ends, priorities });
    } catch (error) {
      if (!(error instanceof ReplayError) || error.code !== "RATE_LIMITED") throw error;
      this.refused++;
      expect(this.block.stats().tables).toEqual(before.tables);
      expect(this.block.stats().steps).toBe(before.steps);
      return;
    }
    for (let t = 0; t < length; t++) {
      this.#appendOne(pair, columns, t);
      for (let lane = 0; lane < lanes; lane++) {
        const row = t * lanes + lane;
        const steps = (pair.steps[lane] as number) + 1;
        for (const rule of items) {
          if (steps < rule.length || (steps - rule.length) % rule.stride !== 0) continue;
          const promise = pair.single.createItem(rule.table, { length: rule.length, lane, priority: priorities?.[rule.table]?.[row] ?? rule.priority });
          promise?.catch(() => undefined);
        }
        pair.steps[lane] = steps;
      }
      for (let lane = 0; lane < lanes; lane++) {
        if (!ends?.[t * lanes + lane]) continue;
        pair.single.endEpisode({ lane });
        if (!pair.options.across) pair.steps[lane] = 0;
      }
    }
  }

  /** Makes the same call on both Replays. The results must be equal. */
  both<T>(call: (replay: R) => T): T {
    const [block, single] = [call(this.block), call(this.single)];
    expectAlike(block, single);
    return block;
  }

  /** Compares everything visible without a draw. */
  compare(): void {
    expect(broken(this.block)).toEqual([]);
    expect(broken(this.single)).toEqual([]);
    expect(this.block.stats().tables).toEqual(this.single.stats().tables);
    expect(this.block.stats().steps).toBe(this.single.stats().steps);
    for (const { block, single, options } of this.#pairs) {
      expect(block.length).toBe(single.length);
      expect(block.episodeSteps).toBe(single.episodeSteps);
      for (const { table } of options.items) expect(block.lastKey(table)).toBe(single.lastKey(table));
    }
  }

  /** Compares every item of every table, with its steps. */
  compareAll(): void {
    for (const { name, size } of Object.values(this.block.tables)) {
      if (size > 0) this.both((replay) => replay.table(name).sample(size, { replacement: false, mask: true }));
    }
  }

  /** Returns random values. Those of shared leaves are often zeros, or repeat the previous step. */
  #columns(pair: Pair, rows: number): Column[] {
    const random = this.#random;
    const leaves = leavesOf(this.#spec);
    const made = leaves.map(({ leaf, size }) => {
      const column = new DTYPES[leaf.dtype as Dtype].array(rows * size) as Column;
      const wide = leaf.dtype === "i64" || leaf.dtype === "u64";
      const frame = size / (leaf.stack ?? 1);
      for (let at = 0; at < column.length; at += frame) {
        const known = leaf.shared === undefined ? 3 : random.below(3);
        const from = at - random.pick([frame, size, size - frame, 0]);
        if (known === 0) continue;
        if (known === 1 && from >= 0 && from < at) column.copyWithin(at, from, from + frame);
        else for (let i = at; i < at + frame; i++) column[i] = (wide ? BigInt(random.below(2 ** 31)) : random.below(leaf.dtype === "bool" ? 2 : 128)) as number;
      }
      return column;
    });
    // A leaf repeats the value that another leaf with its name had one step earlier.
    leaves.forEach(({ leaf, size }, i) => {
      const other = leaves.findIndex((one) => one.leaf.shared !== undefined && one.leaf.shared === leaf.shared && one.size === size);
      if (leaf.shared === undefined || other === i || other < 0 || random.below(2) === 0) return;
      const { lanes } = pair.options;
      (made[other] as Column).copyWithin(lanes * size, 0, 0);
      (made[other] as Column).set((made[i] as Column).subarray(0, (rows - lanes) * size), lanes * size);
    });
    return made;
  }

  #appendOne(pair: Pair, columns: readonly Column[], t: number): void {
    const { lanes } = pair.options;
    const values = leavesOf(this.#spec).map(({ size, shape }, i) => {
      const column = columns[i] as Column;
      return lanes === 1 && shape.length === 0 ? column[t] : column.slice(t * lanes * size, (t + 1) * lanes * size);
    });
    const step = pack(this.#spec, values);
    expect(flatten(this.#spec, step).length).toBe(values.length);
    pair.single.append(step as never);
  }
}
