/** Tests draws among the newest items, and a sampler that prefers them. */
import { describe, expect, test } from "vitest";
import {
  type Among,
  fifo,
  lifo,
  maxHeap,
  prioritized,
  Replay,
  recency,
  type SampleOptions,
  type Selector,
  sampleToInsertRatio,
  u32,
  uniform,
} from "../../../src/index.ts";
import { chiSquare } from "../../support/chi-square.ts";
import { broken } from "../../support/health.ts";
import { errorOf, expectError, expectRefused } from "../../support/refused.ts";

/** Fills a table, deletes some items in the middle, and returns the remaining keys, oldest first. */
function filled(sampler: Selector, remover: Selector = fifo(), options: { readonly maxTimesSampled?: number } = {}) {
  const replay = new Replay({ spec: u32(), tables: { t: { maxSize: 40, sampler, remover, ...options } }, seed: 5 });
  const writer = replay.writer();
  const table = replay.tables.t;
  let keys: number[] = [];
  for (let step = 0; step < 70; step++) {
    writer.append(step);
    writer.createItem("t", { length: 1, priority: 1 + (step % 4) });
    keys.push(writer.lastKey("t"));
  }
  const gone = [68, 69, 50, 51, 35].map((at) => keys[at] as number);
  table.delete(gone);
  keys = keys.filter((key) => table.explain(key).state === "live");
  return { replay, table, writer, keys };
}

const ALL = [uniform(), prioritized(1), recency({ exponent: 1 }), recency({ exponent: 0 }), recency()];

describe("the newest items", () => {
  for (const sampler of ALL) {
    const shown = `${sampler.kind} ${sampler.exponent ?? ""}`;
    for (const remover of [fifo(), lifo()])
      test(`are drawn by ${shown} over ${remover.kind} in every way, after deletions in the middle`, () => {
        const { replay, table, keys } = filled(sampler, remover);
        for (const k of [1, 2, 7, keys.length - 1, keys.length, 99]) {
          const newest = new Set(keys.slice(-k));
          const oldest = new Set(keys.slice(0, k));
          for (const [among, from] of [
            [{ newest: k }, newest],
            [{ oldest: k }, oldest],
          ] as const) {
            if (sampler.kind === "uniform" && from === oldest) continue;
            for (const how of [{}, { stratified: true }, { beta: 0.5 }]) {
              const { info } = table.sample(64, { among, ...how });
              expect([...info.keys].filter((key) => !from.has(key))).toEqual([]);
            }
            const { info, count } = table.sample(64, { among, replacement: false });
            expect(count).toBe(Math.min(k, keys.length));
            expect(new Set(info.keys)).toEqual(from);
          }
        }
        expect(broken(replay)).toEqual([]);
      });

    test(`are drawn from ${shown} in proportion to their probabilities`, () => {
      const { table, keys } = filled(sampler);
      const counts = new Map<number, number>();
      const shares = new Map<number, number>();
      for (let i = 0; i < 100; i++) {
        const { info } = table.sample(256, { among: { newest: 9 } });
        for (const [k, key] of info.keys.entries()) {
          counts.set(key, (counts.get(key) ?? 0) + 1);
          shares.set(key, info.probabilities[k] as number);
        }
      }
      const last = keys.slice(-9);
      const weights = last.map((key, i) =>
        sampler.kind === "uniform"
          ? 1
          : sampler.kind === "prioritized"
            ? (table.explain(key) as { priority: number }).priority
            : (9 - i) ** -(sampler.exponent as number),
      );
      const total = weights.reduce((sum, weight) => sum + weight, 0);
      for (const [i, key] of last.entries()) expect(shares.get(key)).toBeCloseTo((weights[i] as number) / total, 14);
      expect(
        chiSquare(
          last.map((key) => counts.get(key) ?? 0),
          weights.map((weight) => weight / total),
        ),
      ).toBeGreaterThan(1e-4);
    });
  }

  test("are the newest live items while draws remove items", () => {
    for (const sampler of ALL) {
      const { replay, table, keys } = filled(sampler, fifo(), { maxTimesSampled: 2 });
      const left = new Map(keys.map((key) => [key, 2]));
      const { info, count } = table.sample(2 * keys.length, { among: { newest: 5 } });
      expect(count).toBe(2 * keys.length);
      for (const key of info.keys) {
        const live = keys.filter((one) => (left.get(one) as number) > 0);
        expect(live.slice(-5)).toContain(key);
        left.set(key, (left.get(key) as number) - 1);
      }
      expect(table.stats().size).toBe(0);
      expect(broken(replay)).toEqual([]);
    }
  });

  test("are determined per draw, while waiting items enter between draws", () => {
    const rateLimiter = sampleToInsertRatio(1, 1, 4);
    const replay = new Replay({ spec: u32(), tables: { t: { maxSize: 4, sampler: uniform(), rateLimiter } }, seed: 1 });
    const writer = replay.writer({ items: [{ table: "t", length: 1 }] });
    for (let step = 0; step < 9; step++) writer.append(step);
    const { steps, count } = replay.tables.t.sample(8, { among: { newest: 1 } });
    expect(count).toBe(8);
    // Each draw admits one item, which is the newest one at the next draw.
    const { data } = steps as unknown as { readonly data: Uint32Array };
    for (let i = 1; i < 8; i++) expect((data[i] as number) >= (data[i - 1] as number)).toBe(true);
    expect(data[7]).toBe(8);
    expect(broken(replay)).toEqual([]);
  });

  test("can be a share of the items, rounded up", () => {
    const { table, keys } = filled(recency({ exponent: 0 }));
    const drawn = (among: Among) => new Set(table.sample(1000, { among }).info.keys);
    expect(drawn({ newest: { share: 0.1 } })).toEqual(new Set(keys.slice(-Math.ceil(0.1 * keys.length))));
    expect(drawn({ oldest: { share: 0.1 } })).toEqual(new Set(keys.slice(0, Math.ceil(0.1 * keys.length))));
    expect(drawn({ newest: { share: 1e-9 } })).toEqual(new Set(keys.slice(-1)));
    expect(drawn({ newest: { share: 1 } })).toEqual(new Set(keys));
    expect(drawn({ oldest: 3 })).toEqual(drawn(3));
    expect(table.ready(4, { among: { newest: { share: 0.1 } }, replacement: false })).toBe(true);
    expect(table.ready(5, { among: { newest: { share: 0.1 } }, replacement: false })).toBe(false);
    expect(new Replay({ spec: u32(), tables: { t: { maxSize: 4 } } }).tables.t.ready(1, { among: { newest: { share: 0.5 } } })).toBe(false);
  });

  test("come in the order of the sampler, and tables without an order throw UNSUPPORTED", () => {
    const first = (sampler: Selector, among: Among) => {
      const { table, keys } = filled(sampler);
      return [...table.sample(3, { among, replacement: false }).info.keys].map((key) => keys.indexOf(key));
    };
    expect(first(lifo(), { newest: 2 })).toEqual([34, 33]);
    expect(first(fifo(), { newest: 4 })).toEqual([31, 32, 33]);
    expect(first(fifo(), { newest: 30 })).toEqual([5, 6, 7]);
    expect(first(fifo(), { oldest: 30 })).toEqual([0, 1, 2]);
    for (const [sampler, remover] of [
      [maxHeap(), fifo()],
      [prioritized(1), uniform()],
    ] as const) {
      const { replay, table } = filled(sampler, remover);
      expectRefused(replay, () => table.sample(2, { among: { newest: 3 } }), "UNSUPPORTED", /^among: \{ newest \} requires/);
    }
    // A uniform sampler keeps items in order while only the oldest items leave. After another removal, an unordered remover cannot provide the order.
    const { replay, table, writer } = filled(uniform(), prioritized(1));
    expectRefused(replay, () => table.sample(2, { among: { newest: 3 } }), "UNSUPPORTED", /recency\(\{ exponent: 0 \}\)/);
    table.clear();
    writer.append(1);
    writer.createItem("t", { length: 1, priority: 1 });
    expect(table.sample(2, { among: { newest: 1 } }).count).toBe(2);
  });

  test("are the same in views, datasets and waits", async () => {
    const replay = new Replay({ spec: { observation: u32(), action: u32(), reward: u32() }, tables: { t: { maxSize: 20 } } });
    const writer = replay.writer({ items: [{ table: "t", nStep: 1 }] });
    for (let x = 0; x < 30; x++) writer.append({ observation: x, action: x, reward: 1 });
    const table = replay.tables.t;
    const view = table.transitions({ gamma: 1 });
    const among = { newest: 2 } as const;
    const isNew = ({ observation }: { readonly observation: unknown }) => (observation as { data: Uint32Array }).data.every((x) => x === 27 || x === 28);
    expect(isNew(view.sample(32, { among }))).toBe(true);
    expect(isNew(await view.sampleWhenReady(32, { among }))).toBe(true);
    for (const batch of view.dataset({ batchSize: 8, among: { newest: { share: 0.1 } } })) {
      expect(isNew(batch)).toBe(true);
      break;
    }
    for await (const batch of view.dataset({ batchSize: 8, among, prefetch: 2 })) {
      expect(isNew(batch)).toBe(true);
      break;
    }
    const into = view.batch(8);
    for (const k of [{ newest: 2 }, { newest: { share: 0.1 } }, { newest: 2 }]) expect(isNew(view.sample(8, { into, among: k }))).toBe(true);
    expect(isNew(view.sample(8, { into, among: { oldest: 2 } }))).toBe(false);
    expectRefused(replay, () => view.sample(3, { among, replacement: false }), "TOO_FEW", /among selects the 2 newest of 20 items/);
    // The limit of two newest items can never yield three items.
    await view.sampleWhenReady(3, { among, replacement: false }).then(
      () => expect.unreachable(),
      (error) => expectError(error, RangeError, /^n must be <= 2/),
    );
  });

  test.each([
    [{}, TypeError, /^among must be a number, \{ newest: k \}.*got/],
    [{ newest: 1, oldest: 1 }, TypeError, /^among must be/],
    [{ newer: 1 }, TypeError, /^among has no option "newer"\. Did you mean "newest"\? Options: newest, oldest/],
    [{ newest: 0 }, RangeError, /^among\.newest must be an integer in 1 … 4294967295/],
    [{ newest: -1 }, RangeError, /^among\.newest must be/],
    [{ newest: 1.5 }, TypeError, /^among\.newest must be an integer/],
    [{ oldest: "3" }, TypeError, /^among\.oldest must .*0\.1/],
    [{ newest: { share: 0 } }, RangeError, /^among\.newest\.share must .*got 0/],
    [{ newest: { share: 1.01 } }, RangeError, /^among\.newest\.share must/],
    [{ oldest: { share: Number.NaN } }, RangeError, /^among\.oldest\.share must/],
    [{ newest: { share: "1" } }, TypeError, /^among\.newest\.share must/],
    [{ newest: {} }, TypeError, /^among\.newest\.share is required/],
    [{ newest: { part: 1 } }, TypeError, /^among\.newest has no option "part"/],
    ["newest", TypeError, /^among must be a number, \{ newest: k \}/],
    [null, TypeError, /^among must be a number/],
  ] as const)("among: %j is rejected, and changes nothing", (among, type, message) => {
    const { replay, table } = filled(uniform());
    expectRefused(replay, () => table.sample(2, { among } as never), type, message);
    expectRefused(replay, () => table.ready(2, { among } as never), type, message);
    expect(table.sample(2).count).toBe(2);
  });
});

describe("recency", () => {
  test("draws by age, consistent with explain and the weights", () => {
    const { table, keys } = filled(recency({ exponent: 0.7 }));
    const total = keys.reduce((sum, _, i) => sum + (i + 1) ** -0.7, 0);
    const share = (key: number) => (keys.length - keys.indexOf(key)) ** -0.7 / total;
    for (const key of keys) expect((table.explain(key) as { probability: number }).probability).toBeCloseTo(share(key), 14);
    const { info } = table.sample(64, { beta: 0.5, normalize: "none" });
    for (const [i, key] of info.keys.entries()) {
      expect(info.probabilities[i]).toBeCloseTo(share(key), 14);
      expect((info.weights as Float64Array)[i]).toBeCloseTo((keys.length * share(key)) ** -0.5, 12);
    }
    const least = share(keys[0] as number);
    const { info: others } = table.sample(64, { beta: 0.5, normalize: "table" });
    for (const [i, key] of others.keys.entries()) expect((others.weights as Float64Array)[i]).toBeCloseTo((share(key) / least) ** -0.5, 12);
  });

  test("is only a sampler, with an exponent from 0 to 32", () => {
    expectError(
      errorOf(() => new Replay({ spec: u32(), tables: { t: { maxSize: 4, remover: recency() } } })),
      RangeError,
      /^tables\.t\.remover must .*fifo\(\)/,
    );
    for (const exponent of [-1, 33, Number.NaN])
      expectError(
        errorOf(() => recency({ exponent })),
        RangeError,
        /^exponent must be a finite number in 0 … 32/,
      );
    expectError(
      errorOf(() => recency({ exponent: "1" as never })),
      TypeError,
      /^exponent must/,
    );
    expectError(
      errorOf(() => recency({ power: 1 } as never)),
      TypeError,
      /^recency has no option "power"/,
    );
    expectError(
      errorOf(() => new Replay({ spec: u32(), tables: { t: { maxSize: 4, sampler: { kind: "recency", exponent: 40 } } } })),
      RangeError,
      /^tables\.t\.sampler\.exponent must/,
    );
    expect(recency()).toEqual({ kind: "recency", exponent: 1 });
  });

  test("draws the same after a snapshot, for every remover", () => {
    for (const remover of [fifo(), lifo(), uniform(), maxHeap()]) {
      const { replay, table, writer } = filled(recency({ exponent: 1.5 }), remover);
      const copy = Replay.restore(replay.snapshot());
      expect(broken(copy)).toEqual([]);
      const other = copy.table("t");
      const ways: readonly Pick<SampleOptions, "among">[] = [{}, { among: { newest: 5 } }, { among: { oldest: 5 } }];
      for (const options of ways) {
        expect(other.sample(50, options).info.keys).toEqual(table.sample(50, options).info.keys);
        expect(other.sample(20, { ...options, replacement: false }).info.keys).toEqual(table.sample(20, { ...options, replacement: false }).info.keys);
      }
      expect(copy.snapshot()).toEqual(replay.snapshot());
      writer.append(1);
    }
  });
});
