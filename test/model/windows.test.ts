/** Compares the windows of samples, their columns and their n-step returns with a naive computation on arrays. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { bool, f32, f64, fifo, i8, i32, Replay, u16 } from "../../src/index.ts";
import { broken } from "../support/health.ts";
import { scaled } from "../support/size.ts";

const RUNS = { seed: 30, numRuns: scaled(400) };

interface Step {
  readonly n: number;
  readonly reward: number;
  readonly discount: number;
  readonly terminal: boolean;
  /** Whether the episode ends with this step. */
  readonly ends: boolean;
}

const rewards = { f32: f32(), f64: f64(), i8: i8(), u16: u16() };

/** Generates a stream of steps from several episodes, and the lengths of items, which may span episodes. */
const scene = fc
  .record({
    reward: fc.constantFrom(...(Object.keys(rewards) as (keyof typeof rewards)[])),
    steps: fc.array(
      fc.record({
        reward: fc.integer({ min: 0, max: 100 }),
        discount: fc.constantFrom(0, 0.5, 1, 1, 1),
        terminal: fc.integer({ min: 0, max: 5 }),
        ends: fc.integer({ min: 0, max: 5 }),
      }),
      { minLength: 1, maxLength: 12 },
    ),
    lengths: fc.array(fc.integer({ min: 1, max: 12 }), { minLength: 1, maxLength: 5 }),
  })
  .map(({ reward, steps, lengths }) => ({
    reward,
    lengths,
    steps: steps.map((step, i): Step => ({ n: i + 1, reward: step.reward, discount: step.discount, terminal: step.terminal === 0, ends: step.ends === 0 })),
  }));

type Scene = typeof scene extends fc.Arbitrary<infer T> ? T : never;

/** Creates a table with one item per step, which ends with that step. Returns the table, and the items as lists of steps. */
function record({ reward, steps, lengths }: Scene) {
  const replay = new Replay({
    spec: { n: i32(), reward: rewards[reward], discount: f32(), terminal: bool() },
    tables: { t: { maxSize: 20, sampler: fifo() } },
    seed: steps.length,
  });
  const writer = replay.writer({ keep: 12, across: true });
  const items = steps.map(({ ends, ...step }, t) => {
    writer.append(step as never);
    const length = Math.min(lengths[t % lengths.length] as number, t + 1);
    writer.createItem("t", { length });
    if (ends) writer.endEpisode();
    return steps.slice(t + 1 - length, t + 1);
  });
  return { table: replay.table("t"), items };
}

/** Returns the rows up to the first one that ends an episode, including that row. */
function untilEnd(rows: readonly Step[]): readonly Step[] {
  const end = rows.findIndex((step) => step.ends);
  return end < 0 ? rows : rows.slice(0, end + 1);
}

/** Returns the part of a longer item that a window reads. */
function windowOf(item: readonly Step[], start: number, width: number, cross: boolean): readonly Step[] {
  const rows = item.slice(start, start + width);
  return cross ? rows : untilEnd(rows);
}

describe("windows", () => {
  test("start at the configured offset, and stop at the end of an episode unless `cross` is set", () => {
    fc.assert(
      fc.property(
        scene,
        fc.integer({ min: 1, max: 6 }),
        fc.constantFrom("start", "end", "uniform"),
        fc.boolean(),
        (given, width, offset: "start" | "end" | "uniform", cross) => {
          const { table, items } = record(given);
          const batch = table.sample(items.length, { replacement: false, length: width, offset, cross, mask: true });
          expect(batch.count).toBe(items.length);
          for (const [i, item] of items.entries()) {
            const seen = [...batch.steps.n.data.subarray(i * width, (i + 1) * width)];
            const spare = Math.max(item.length - width, 0);
            const start = offset === "start" ? 0 : offset === "end" ? spare : (seen[0] as number) - (item[0] as Step).n;
            expect(start).toBeGreaterThanOrEqual(0);
            expect(start).toBeLessThanOrEqual(spare);
            const rows = windowOf(item, start, width, cross);
            expect(seen).toEqual(Array.from({ length: width }, (_, t) => rows[t]?.n ?? 0));
            expect(batch.lengths[i]).toBe(rows.length);
            expect([...(batch.mask as Uint8Array).subarray(i * width, (i + 1) * width)]).toEqual(seen.map((n) => (n > 0 ? 1 : 0)));
          }
        },
      ),
      RUNS,
    );
  });

  test("start at every position with equal probability if the offset is uniform", () => {
    const { table } = record({
      reward: "f32",
      lengths: [12],
      steps: Array.from({ length: 12 }, (_, i) => ({ n: i + 1, reward: 0, discount: 1, terminal: false, ends: false })),
    });
    table.delete([...table.sample(11, { replacement: false }).info.keys]);
    const counts = new Array(8).fill(0);
    for (let round = 0; round < 4000; round++) counts[(table.sample(1, { length: 5, offset: "uniform" }).steps.n.data[0] as number) - 1]++;
    for (const count of counts) expect(Math.abs(count - 500)).toBeLessThan(4.5 * Math.sqrt(500));
  });
});

describe("columns", () => {
  test("start with padding if they count from the end of a shorter window", () => {
    fc.assert(
      fc.property(scene, fc.integer({ min: 1, max: 6 }), fc.integer({ min: -8, max: -1 }), fc.integer({ min: 1, max: 3 }), (given, width, from, step) => {
        const { table, items } = record(given);
        const batch = table.sample(items.length, { replacement: false, length: width, cross: true, columns: { run: { leaf: "n", from, step } } });
        const count = Math.ceil(-from / step);
        expect(batch.steps.run.shape).toEqual([items.length, count]);
        for (const [i, item] of items.entries()) {
          const rows = windowOf(item, 0, width, true);
          const run = Array.from({ length: count }, (_, k) => rows[rows.length + from + k * step]?.n ?? 0);
          expect([...(batch.steps.run.data as Int32Array).subarray(i * count, (i + 1) * count)]).toEqual(run);
        }
      }),
      RUNS,
    );
  });

  test("can be far longer than the window, for narrow and wide leaves, in new and reused batches", () => {
    const replay = new Replay({ spec: { n: i32(), wide: f32(1024) }, tables: { t: { maxSize: 4, sampler: fifo() } } });
    const writer = replay.writer({ keep: 3 });
    for (let n = 1; n <= 3; n++) writer.append({ n, wide: new Float32Array(1024).fill(n) });
    writer.createItem("t", { length: 3 });
    for (const count of [5, 1000, 3000]) {
      const options = { length: 3, columns: { n: { leaf: "n", from: -count }, wide: { leaf: "wide", from: -count } } } as const;
      for (const batch of [replay.table("t").sample(1, options), replay.table("t").sample(1, { ...options, into: replay.table("t").batch(1, options) })]) {
        const wanted = Int32Array.from({ length: count }, (_, k) => Math.max(k + 4 - count, 0));
        expect(batch.steps.n).toEqual({ data: wanted, shape: [1, count] });
        expect((batch.steps.wide.data as Float32Array).filter((_, i) => i % 1024 === 1023)).toEqual(Float32Array.from(wanted));
      }
      expect(broken(replay)).toEqual([]);
    }
  });

  test("return one step or every k-th step of a range", () => {
    fc.assert(
      fc.property(
        scene,
        fc.integer({ min: 1, max: 6 }),
        fc.nat(),
        fc.integer({ min: 0, max: 7 }),
        fc.integer({ min: 1, max: 3 }),
        (given, width, place, to, step) => {
          const { table, items } = record(given);
          const most = Math.min(width, Math.max(...items.map(({ length }) => length)));
          const at = (place % (2 * most)) - most;
          const columns = { one: { leaf: "n", at }, run: { leaf: "n", from: Math.max(at, 0), to, step } } as const;
          const batch = table.sample(items.length, { replacement: false, length: width, cross: true, columns });
          const count = Math.max(Math.ceil((Math.min(to, width) - Math.max(at, 0)) / step), 0);
          expect(batch.steps.one.shape).toEqual([items.length]);
          expect(batch.steps.run.shape).toEqual([items.length, count]);
          for (const [i, item] of items.entries()) {
            const rows = windowOf(item, 0, width, true);
            expect(batch.steps.one.data[i]).toBe(rows.at(at)?.n ?? 0);
            const run = Array.from({ length: count }, (_, k) => rows[Math.max(at, 0) + k * step]?.n ?? 0);
            expect([...(batch.steps.run.data as Int32Array).subarray(i * count, (i + 1) * count)]).toEqual(run);
          }
        },
      ),
      RUNS,
    );
  });
});

describe("n-step returns", () => {
  const options = fc.record({
    n: fc.integer({ min: 1, max: 6 }),
    gamma: fc.constantFrom(1, 0.9, 0.5, 0),
    ends: fc.constantFrom("discount", "terminal", "none"),
    own: fc.boolean(),
    width: fc.integer({ min: 1, max: 8 }),
    cross: fc.boolean(),
  });

  /** Returns the rewards and discounts that count in the return: at most n, and none after a terminal step or the end of an episode. */
  function returnsOf(rows: readonly Step[], { n, gamma, ends, own }: { n: number; gamma: number; ends: string; own: boolean }) {
    const alive = (step: Step) => (ends === "discount" ? step.discount : ends === "terminal" && step.terminal ? 0 : 1);
    const episode = untilEnd(rows);
    const ended = episode.at(-1)?.ends === true;
    // If the next observation is in the following step, the last step has none.
    const usable = own ? episode : episode.slice(0, -1);
    const last = usable.findIndex((step) => alive(step) === 0);
    const k = Math.min(n, last < 0 ? usable.length : last + 1);
    const terminated = last >= 0 && last < k;
    const used = usable.slice(0, k);
    const product = (steps: readonly Step[]) => steps.reduce((whole, step) => whole * gamma * alive(step), 1);
    return {
      returns: used.reduce((sum, step, i) => sum + product(used.slice(0, i)) * step.reward, 0),
      discounts: product(used),
      steps: k,
      terminated: terminated ? 1 : 0,
      truncated: !terminated && ended && (own ? k === usable.length : k === usable.length && k < n) ? 1 : 0,
      bootstrap: own ? (used.at(-1) as Step) : (rows[k] as Step),
    };
  }

  test("match the formula", () => {
    fc.assert(
      fc.property(scene, options, (given, how) => {
        const { table, items } = record(given);
        const { n, gamma, ends, own, width, cross } = how;
        const nStep = { n, gamma, reward: "reward", nextState: own ? "own" : "following", ...(ends === "none" ? {} : { [ends]: ends }) } as const;
        const columns = { first: { leaf: "n", at: 0 }, next: { leaf: "n", at: "bootstrap" } } as const;
        // A window of one step has no step to bootstrap from.
        if (!own && Math.min(width, Math.max(...items.map(({ length }) => length))) < 2) {
          expect(() => table.sample(items.length, { replacement: false, length: width, cross, nStep, columns })).toThrow(RangeError);
          return;
        }
        const batch = table.sample(items.length, { replacement: false, length: width, cross, nStep, columns });
        const seen = batch.nStep as NonNullable<typeof batch.nStep>;
        for (const [i, item] of items.entries()) {
          const rows = windowOf(item, 0, width, cross);
          const wanted = returnsOf(rows, how);
          expect(seen.returns[i]).toBeCloseTo(wanted.returns, 9);
          expect(seen.discounts[i]).toBeCloseTo(wanted.discounts, 12);
          expect(seen.steps[i]).toBe(wanted.steps);
          expect(seen.terminated[i]).toBe(wanted.terminated);
          expect(seen.truncated[i]).toBe(wanted.truncated);
          expect(batch.steps.first.data[i]).toBe((rows[0] as Step).n);
          expect(batch.steps.next.data[i]).toBe(wanted.bootstrap.n);
        }
      }),
      RUNS,
    );
  });
});
