/** Tests datasets in epochs: each item that existed at the start of an epoch must occur once, in a computed order. */
import { describe, expect, test } from "vitest";
import {
  type EpochState,
  fifo,
  lifo,
  maxHeap,
  prioritized,
  queueLimiter,
  Replay,
  recency,
  type Selector,
  sampleToInsertRatio,
  u32,
  uniform,
} from "../../../src/index.ts";
import { memory } from "../../../src/storage/index.ts";
import { broken } from "../../support/health.ts";
import { TestRandom } from "../../support/random.ts";
import { errorOf, expectError, expectRefused } from "../../support/refused.ts";
import { whole } from "../../support/size.ts";

function made(items: number, options: { readonly maxSize?: number; readonly sampler?: Selector; readonly remover?: Selector } = {}) {
  const replay = new Replay({ spec: u32(), tables: { t: { maxSize: 1000, ...options } } });
  const writer = replay.writer({ items: [{ table: "t", length: 1 }] });
  for (let step = 0; step < items; step++) writer.append(step);
  return { replay, writer, table: replay.tables.t };
}

const stepsOf = (batch: { readonly steps: unknown; readonly count: number }): number[] =>
  [...(batch.steps as { readonly data: Uint32Array }).data].slice(0, batch.count);
const range = (n: number): number[] => Array.from({ length: n }, (_, i) => i);
const sorted = (list: readonly number[]): number[] => [...list].sort((a, b) => a - b);

describe("an epoch", () => {
  test.runIf(whole)("contains each item once, in a new order per epoch, for every size and batch size", () => {
    for (const items of [1, 2, 3, 7, 16, 17, 64, 255, 256, 257, 1000])
      for (const batchSize of [1, 3, 32, 300]) {
        if (items / batchSize > 300) continue;
        const { replay, table } = made(items);
        const orders: number[][] = [[], []];
        const counts: number[] = [];
        let given = 0;
        for (const batch of table.dataset({ batchSize, epochs: 2, seed: 4 })) {
          counts.push(batch.count);
          orders[Math.floor(given / items)]?.push(...stepsOf(batch));
          given += batch.count;
        }
        expect(given).toBe(2 * items);
        for (const order of orders) expect(sorted(order)).toEqual(range(items));
        if (items > 7) expect(orders[0]).not.toEqual(orders[1]);
        if (items > 7) expect(orders[0]).not.toEqual(range(items));
        const last = items % batchSize;
        const whole = Array.from({ length: Math.floor(items / batchSize) }, () => batchSize);
        const each = last === 0 ? whole : [...whole, last];
        expect(counts).toEqual([...each, ...each]);
        expect(table.stats()).toMatchObject({ samples: 2 * items, uniqueSamples: items });
        expect(broken(replay)).toEqual([]);
      }
  });

  test("follows the order of insertion without shuffle, and dropRemainder omits short batches", () => {
    const { table } = made(10);
    expect([...table.dataset({ batchSize: 4, epochs: 1, shuffle: false })].map(stepsOf)).toEqual([
      [0, 1, 2, 3],
      [4, 5, 6, 7],
      [8, 9],
    ]);
    expect([...table.dataset({ batchSize: 4, epochs: 2, shuffle: false, dropRemainder: true })].map((batch) => batch.count)).toEqual([4, 4, 4, 4]);
    expect(table.stats().samples).toBe(26);
    expect([...table.dataset({ batchSize: 11, epochs: 2, dropRemainder: true })]).toEqual([]);
  });

  test("reports the probability 1 / size and the own count of each item", () => {
    const { table } = made(6);
    for (const { info } of table.dataset({ batchSize: 4, epochs: 1 })) {
      expect([...info.probabilities]).toEqual([...info.probabilities].fill(1 / 6));
      expect([...info.timesSampled]).toEqual([...info.timesSampled].fill(1));
      expect([...info.tableSizes]).toEqual([...info.tableSizes].fill(6));
    }
  });

  test("depends only on the seed, and does not use the random state of the table", () => {
    const [a, b] = [made(50), made(50)];
    const orderOf = ({ table }: typeof a, seed?: number) =>
      [...table.dataset({ batchSize: 8, epochs: 1, ...(seed !== undefined && { seed }) })].flatMap(stepsOf);
    b.table.sample(8);
    expect(orderOf(a)).toEqual(orderOf(b, 0));
    expect(orderOf(a, 1)).not.toEqual(orderOf(a));
    expect(stepsOf(made(50).table.sample(8))).toEqual(stepsOf(a.table.sample(8)));
  });

  test("leaves out deleted and newer items, even in reused slots", () => {
    for (const remover of [fifo(), lifo(), uniform(), maxHeap()])
      for (const sampler of [uniform(), fifo(), prioritized(1), recency()]) {
        const { replay, writer, table } = made(40, { maxSize: 40, sampler, remover });
        const random = new TestRandom(3);
        const dataset = table.dataset({ batchSize: 5, epochs: 3 });
        let [step, rounds] = [40, 0];
        const isLive = (value: number) => live().includes(value);
        const live = () => sorted([...table.dataset({ batchSize: 100, epochs: 1, shuffle: false })].flatMap(stepsOf));
        let start: number[] = [];
        const seen: number[] = [];
        const gone = new Set<number>();
        for (let k = 0; k < 40; k++) {
          const before = dataset.state();
          const now = live();
          const [batch] = dataset;
          if (batch === undefined) break;
          const after = dataset.state();
          if (before.since === 0 || after.epoch !== before.epoch) {
            // The previous epoch has ended, so it must have yielded all remaining items.
            expect(start.filter((value) => !seen.includes(value) && !gone.has(value))).toEqual([]);
            start = now;
            seen.length = 0;
            gone.clear();
            rounds++;
          }
          const values = stepsOf(batch);
          for (const value of values) {
            expect(start).toContain(value);
            expect(seen).not.toContain(value);
            expect(isLive(value)).toBe(true);
            seen.push(value);
          }
          // Some items leave, and new items take their slots.
          table.delete(batch.info.keys.subarray(0, random.below(2)));
          for (let i = random.below(4); i > 0; i--) writer.append(step++);
          const rest = live();
          for (const value of start) if (!rest.includes(value)) gone.add(value);
          if (after.epoch === 2 && k > 30) break;
        }
        expect(rounds).toBeGreaterThan(1);
        expect(broken(replay)).toEqual([]);
      }
  });

  test("ends if the table is cleared", () => {
    const { replay, writer, table } = made(10);
    const dataset = table.dataset({ batchSize: 4, epochs: 1 });
    const [first] = dataset;
    expect(first?.count).toBe(4);
    table.clear();
    for (let i = 0; i < 20; i++) writer.append(100 + i);
    expect([...dataset]).toEqual([]);
    expect(dataset.state()).toMatchObject({ epoch: 1, position: 0, since: 0 });
    expect(sorted([...dataset].flatMap(stepsOf))).toEqual(range(20).map((i) => 100 + i));
    expect(broken(replay)).toEqual([]);
  });
});

describe("a dataset in epochs", () => {
  test("continues after a break, and runs the same number of epochs again at the end", () => {
    const { table } = made(10);
    const dataset = table.dataset({ batchSize: 4, epochs: 2 });
    const all: number[] = [];
    for (const batch of dataset) {
      all.push(...stepsOf(batch));
      if (all.length === 8) break;
    }
    expect(dataset.state()).toMatchObject({ epoch: 0, seed: 0, shuffle: true, slots: 10 });
    for (const batch of dataset) all.push(...stepsOf(batch));
    expect(sorted(all.slice(0, 10))).toEqual(range(10));
    expect(sorted(all.slice(10))).toEqual(range(10));
    expect(dataset.state()).toEqual({ shuffle: true, seed: 0, epoch: 2, position: 0, since: 0, slots: 0 });
    expect([...dataset].flatMap(stepsOf)).toHaveLength(20);
    expect(dataset.state().epoch).toBe(4);
  });

  test("continues from its state in a restored Replay, without newer items in the current epoch", () => {
    for (const [sampler, remover] of [
      [uniform(), fifo()],
      [uniform(), uniform()],
      [fifo(), uniform()],
      [prioritized(1), uniform()],
      [maxHeap(), lifo()],
    ] as const) {
      const { replay, writer, table } = made(30, { maxSize: 30, sampler, remover });
      const dataset = table.dataset({ batchSize: 7, epochs: 2, seed: 9 });
      const given: number[] = [];
      for (const batch of dataset) {
        given.push(...stepsOf(batch));
        if (given.length > 10) break;
      }
      // New items take the slots of old ones, both before and after the snapshot.
      table.delete(table.sample(1).info.keys);
      writer.append(1000);
      const state: EpochState = JSON.parse(JSON.stringify(dataset.state()));
      const copy = Replay.restore(replay.snapshot());
      const other = copy.table("t");
      const again = copy.writer({ items: [{ table: "t", length: 1 }] });
      const rest = (from: typeof writer, dataset: Iterable<object>) => {
        from.append(2000);
        return [...dataset].flatMap((batch) => stepsOf(batch as never));
      };
      const theirs = rest(again as typeof writer, other.dataset({ batchSize: 7, epochs: 2, state }));
      const ours = rest(writer, table.dataset({ batchSize: 7, epochs: 2, state }));
      expect(theirs).toEqual(ours);
      // Items inserted after the start occur in the second epoch.
      const second = ours.slice(ours.length - 30);
      expect(sorted(second)).toEqual(sorted([...table.dataset({ batchSize: 30, epochs: 1 })].flatMap(stepsOf)));
      for (const value of [1000, 2000]) expect(ours.slice(0, ours.length - 30)).not.toContain(value);
      expect(broken(copy)).toEqual([]);
    }
  });

  test("continues in a Replay that is reopened from its journal", async () => {
    const dir = memory();
    const options = { spec: u32(), tables: { t: { maxSize: 30 } } } as const;
    const replay = await Replay.open({ ...options, dir });
    const writer = replay.writer({ items: [{ table: "t", length: 1 }] });
    for (let step = 0; step < 30; step++) writer.append(step);
    const dataset = replay.tables.t.dataset({ batchSize: 4, epochs: 1 });
    const given: number[] = [];
    for (const batch of dataset) {
      given.push(...stepsOf(batch));
      if (given.length === 12) break;
    }
    for (let step = 0; step < 6; step++) writer.append(100 + step);
    const state = dataset.state();
    await replay.flush();
    replay.dispose();
    const opened = await Replay.open({ ...options, dir });
    const rest = [...opened.tables.t.dataset({ batchSize: 4, epochs: 1, state })].flatMap(stepsOf);
    const live = range(30).filter((step) => step >= 6 && !given.includes(step));
    expect(sorted(rest)).toEqual(live);
    opened.dispose();
  });

  test("waits for the rate limiter in an async loop, and ends in a sync loop", async () => {
    const replay = new Replay({ spec: u32(), tables: { t: { maxSize: 100, rateLimiter: sampleToInsertRatio(1, 4, 8) } } });
    const writer = replay.writer({ items: [{ table: "t", length: 1 }] });
    const table = replay.tables.t;
    const dataset = table.dataset({ batchSize: 3, epochs: 1 });
    expect([...dataset]).toEqual([]);
    for (let step = 0; step < 3; step++) writer.append(step);
    // The limiter does not admit draws yet, so the epoch has not begun, and the fourth item will be part of it.
    expect([...dataset]).toEqual([]);
    expect(dataset.state().since).toBe(0);
    const values: number[] = [];
    const loop = (async () => {
      for await (const batch of dataset) values.push(...stepsOf(batch));
    })();
    writer.append(3);
    await loop;
    expect(sorted(values)).toEqual([0, 1, 2, 3]);
    expect(table.stats().samples).toBe(4);
    const late: unknown[] = [];
    for await (const batch of new Replay({ spec: u32(), tables: { t: { maxSize: 4 } } }).tables.t.dataset({ batchSize: 2, epochs: 1, timeoutMs: 1 }))
      late.push(batch);
    expect(late).toEqual([]);
    const stop = new AbortController();
    const stopped = (async () => {
      for await (const _ of new Replay({ spec: u32(), tables: { t: { maxSize: 4 } } }).tables.t.dataset({ batchSize: 2, epochs: 1, signal: stop.signal }))
        break;
    })();
    stop.abort(new Error("enough"));
    await expect(stopped).rejects.toThrow("enough");
  });

  test("counts prefetched batches when the loop receives them, and repeats unused ones", async () => {
    const { table } = made(20);
    const dataset = table.dataset({ batchSize: 4, epochs: 2, prefetch: 3 });
    const plain = [...made(20).table.dataset({ batchSize: 4, epochs: 2 })].map(stepsOf);
    const found: number[][] = [];
    for await (const batch of dataset) {
      found.push(stepsOf(batch));
      expect(table.stats().samples).toBe(4 * found.length);
      if (found.length === 2) break;
    }
    expect(dataset.state().position).toBeLessThan(256);
    for await (const batch of dataset) found.push(stepsOf(batch));
    expect(found).toEqual(plain);
    expect(dataset.state()).toMatchObject({ epoch: 2, since: 0 });
    expect(table.stats().samples).toBe(40);
    let more = 0;
    for await (const batch of dataset) more += batch.count;
    expect(more).toBe(40);
  });

  test("reuses memory with recycle, and with into for a short last batch", () => {
    const { table } = made(10);
    const released: object[] = [];
    for (const batch of table.dataset({ batchSize: 4, epochs: 1, recycle: true })) released.push(batch);
    expect(released).toHaveLength(3);
    const into = table.batch(4, { length: 1 });
    const counts: number[] = [];
    for (const batch of table.dataset({ batchSize: 4, epochs: 1, into })) {
      expect(batch).toBe(into);
      counts.push(batch.count);
    }
    expect(counts).toEqual([4, 4, 2]);
  });

  test("works for transitions of n steps", () => {
    const replay = new Replay({ spec: { observation: u32(), action: u32(), reward: u32() }, tables: { t: { maxSize: 50 } } });
    const writer = replay.writer({ items: [{ table: "t", nStep: 2 }] });
    for (let x = 0; x < 30; x++) {
      writer.append({ observation: x, action: x, reward: 1 });
      if (x % 10 === 9) writer.endEpisode({ final: { observation: x + 1 }, terminated: true });
    }
    const view = replay.tables.t.transitions({ gamma: 1 });
    const seen: number[] = [];
    const dataset = view.dataset({ batchSize: 8, epochs: 1 });
    for (const { observation, returns, steps, count } of dataset)
      for (let i = 0; i < count; i++) {
        const x = observation.data[i] as number;
        seen.push(x);
        expect(steps.data[i]).toBe(x % 10 === 9 ? 1 : 2);
        expect(returns.data[i]).toBe(steps.data[i]);
      }
    expect(sorted(seen)).toEqual(range(30));
    expect(dataset.state().epoch).toBe(1);
  });

  test("rejects invalid and unsupported options", () => {
    const { replay, table } = made(10);
    const make = (options: object) => () => table.dataset({ batchSize: 2, epochs: 1, ...options } as never);
    for (const [option, value] of Object.entries({ beta: 0.5, among: 3, stratified: true, normalize: "batch", replacement: true }))
      expectRefused(replay, make({ [option]: value }), "UNSUPPORTED", new RegExp(`Omit ${option}`));
    expect([...table.dataset({ batchSize: 4, epochs: 1, replacement: false })]).toHaveLength(3);
    for (const [options, type, message] of [
      [{ epochs: 0 }, RangeError, /^epochs must be/],
      [{ epochs: 1.5 }, TypeError, /^epochs must be/],
      [{ epochs: Number.POSITIVE_INFINITY }, RangeError, /^epochs must be|^epochs/],
      [{ shuffle: 1 }, TypeError, /^shuffle must be/],
      [{ seed: -1 }, RangeError, /^seed must be/],
      [{ betta: 1 }, TypeError, /betta/],
      [{ state: 3 }, TypeError, /^state must be/],
      [{ state: {} }, TypeError, /^state\.shuffle is required/],
      [{ state: { shuffle: true, seed: 0, epoch: 0, position: 0, since: 9, slots: 11 } }, RangeError, /^state must be .* dataset of table "t"/],
      // These states are invalid: `since` above every generation, a position after the last place, and a position that no epoch has.
      [{ state: { shuffle: true, seed: 0, epoch: 0, position: 0, since: 3, slots: 2 } }, RangeError, /^state must/],
      [{ state: { shuffle: false, seed: 0, epoch: 0, position: 3, since: 2, slots: 2 } }, RangeError, /^state must/],
      [{ state: { shuffle: true, seed: 0, epoch: 0, position: 2 ** 31, since: 2, slots: 2 } }, RangeError, /^state must/],
      [{ state: { shuffle: true, seed: 0, epoch: 0, position: 1, since: 0, slots: 0 } }, RangeError, /^state must/],
      [{ state: { shuffle: true, seed: 0, epoch: 0, position: 0, since: 1, slots: 0 } }, RangeError, /^state must/],
      [{ seed: 1, state: { shuffle: true, seed: 0, epoch: 0, position: 0, since: 0, slots: 0 } }, RangeError, /^seed must be equal to state.seed/],
    ] as const)
      expectRefused(replay, make(options), type, message);
    for (const option of ["shuffle", "seed", "state"])
      expectError(
        errorOf(() => table.dataset({ batchSize: 2, [option]: 1 } as never)),
        TypeError,
        new RegExp(`^${option} must be omitted if epochs is omitted`),
      );
    const used = new Replay({ spec: u32(), tables: { t: { maxSize: 4, maxTimesSampled: 2 }, q: { maxSize: 4, rateLimiter: queueLimiter(2) } } });
    expectRefused(used, () => used.tables.t.dataset({ batchSize: 2, epochs: 1 }), "UNSUPPORTED", /^epochs require a table without maxTimesSampled/);
    expectRefused(used, () => used.tables.q.dataset({ batchSize: 3, epochs: 1 }), RangeError, /^batchSize must be <= 2/);
  });
});
