/** Tests rules and views of sequences: columns, types, priorities, options, errors. test/model/sequences.test.ts covers items and step values. */

import { describe, expect, expectTypeOf, test } from "vitest";
import { bool, f32, fifo, i32, minSize, prioritized, Replay, type Sequences, shared, text } from "../../src/index.ts";
import type { ColumnLike } from "../../src/schema/column.ts";
import { errorOf, expectError, expectRefused } from "../support/refused.ts";
import { some, whole } from "../support/size.ts";

const LENGTHS = some(
  Array.from({ length: 24 }, (_, i) => i + 1),
  6,
);

const spec = {
  observation: { x: f32(2) },
  action: i32(),
  reward: f32(),
  hidden: { h: shared("h", f32(3)), c: f32() },
  note: text({ maxBytes: 8 }),
} as const;
const sequence = { length: 6, burnIn: 2 } as const;

/** Writes a truncated episode of `steps` steps, and `open` steps of an unfinished episode. */
function filled(steps = 9, open = 0, options: object = {}) {
  const replay = new Replay({ spec, tables: { memory: { maxSize: 100, sampler: prioritized(0.6), ...options } }, seed: 3 });
  const writer = replay.writer({ items: [{ table: "memory", sequence }] });
  const append = (i: number) => writer.append({ observation: { x: [i, -i] }, action: i, reward: 1, hidden: { h: [i, 0, 1], c: i }, note: `at ${i}` });
  for (let i = 0; i < steps; i++) append(i);
  writer.endEpisode({ final: { observation: { x: [99, 99] } }, terminated: false });
  for (let i = 0; i < open; i++) append(i);
  return { replay, writer, table: replay.tables.memory };
}

test("sample returns every leaf of each step by name, and the state of the first step", () => {
  const { table } = filled(4);
  const batch = table.sequences({ gamma: 0.5, n: 2, state: ["hidden"] }).sample(2, { beta: 0.4 });
  expect([batch.observation.x.shape, batch.action.shape, batch.reward.shape, batch.note.shape]).toEqual([
    [2, 6, 2],
    [2, 6],
    [2, 6],
    [2, 6],
  ]);
  expect([batch.hidden.h.shape, batch.hidden.c.shape, batch.weights.shape]).toEqual([[2, 3], [2], [2]]);
  const [one] = batch.toArray();
  expect(one).toEqual({
    observation: {
      x: [
        [0, -0],
        [1, -1],
        [2, -2],
        [3, -3],
        [99, 99],
        [0, 0],
      ],
    },
    action: [0, 1, 2, 3, 0, 0],
    reward: [1, 1, 1, 1, 0, 0],
    hidden: { h: [0, 0, 1], c: 0 },
    note: ["at 0", "at 1", "at 2", "at 3", "", ""],
    returns: [1.5, 1.5, 1.5, 1, 0, 0],
    discounts: [0.25, 0.25, 0.25, 0.5, 1, 0],
    bootstraps: [2, 3, 4, 4, 4, 0],
    mask: [1, 1, 1, 1, 1, 0],
    learningMask: [1, 1, 1, 1, 0, 0],
    isFirst: [1, 0, 0, 0, 0, 0],
    isLast: [0, 0, 0, 0, 1, 0],
    isTerminal: [0, 0, 0, 0, 0, 0],
    weights: 1,
    keys: batch.keys[0],
  });
  expect(table.updatePriorities(batch.keys, [2, 2])).toBe(2);
});

test("types follow the spec, the roles and the options", () => {
  const { table } = filled();
  const view = table.sequences({ gamma: 0.5, state: ["hidden"], dtype: "f64" });
  expectTypeOf(view).toExtend<Sequences<typeof spec>>();
  const batch = view.sample(1, { beta: 1 });
  expectTypeOf(batch.observation.x).toExtend<ColumnLike<"f32", [number, number, number]>>();
  expectTypeOf(batch.reward).toExtend<ColumnLike<"f32", [number, number]>>();
  expectTypeOf(batch.hidden.h).toExtend<ColumnLike<"f32", [number, number]>>();
  expectTypeOf(batch.returns.data).toEqualTypeOf<Float64Array<ArrayBuffer>>();
  expectTypeOf(batch.bootstraps.data).toEqualTypeOf<Uint32Array<ArrayBuffer>>();
  expectTypeOf(batch.weights.data).toEqualTypeOf<Float64Array<ArrayBuffer>>();
  // @ts-expect-error no such leaf
  const wrong = () => table.sequences({ gamma: 0.5, state: ["x"] });
  expectError(errorOf(wrong), "NOT_FOUND", /each name in state must be .*"hidden".*"note".*got "x"/);
  // @ts-expect-error no such option
  expect(() => table.sequences({ gamma: 0.5, burnIn: 2 })).toThrow(/burnIn/);
  // @ts-expect-error weights require beta
  expect(view.sample(1).weights).toBeUndefined();
});

describe("prioritiesOf", () => {
  test("mixes the largest and the mean error of the learning steps", () => {
    const { table } = filled(4);
    const view = table.sequences({ gamma: 0.5 });
    const batch = view.sample(1);
    const errors = [1, -4, 2, 1, 100, 100];
    expect([...view.prioritiesOf(batch, errors)]).toEqual([0.9 * 4 + (1 - 0.9) * 2]);
    const into = new Float64Array(3).fill(7);
    expect(view.prioritiesOf(batch, Float32Array.from(errors), { eta: 0.5, into })).toBe(into);
    expect([...into]).toEqual([3, 0, 0]);
    expect(view.prioritiesOf(batch, [Number.NaN, ...errors.slice(1)])[0]).toBeNaN();
    const bare = { count: 1, learningMask: { data: new Uint8Array(6), shape: [1, 6] } };
    expect([...view.prioritiesOf(bare, errors)]).toEqual([0]);
  });

  test("rejects too few errors and invalid options", () => {
    const { table } = filled(4);
    const view = table.sequences({ gamma: 0.5 });
    const batch = view.sample(2);
    expectError(
      errorOf(() => view.prioritiesOf(batch, [1, 2])),
      RangeError,
      /errors must .*2 × 6/,
    );
    expectError(
      errorOf(() => view.prioritiesOf(batch, new Float32Array(12), { eta: 2 })),
      RangeError,
      /eta/,
    );
    expectError(
      errorOf(() => view.prioritiesOf(batch, new Float32Array(12), { into: new Float64Array(1) })),
      TypeError,
      /into must be a Float64Array of at least 2/,
    );
  });
});

describe("a view", () => {
  test("returns equal values in new, reused, recycled and looped batches", async () => {
    const views = [0, 1, 2, 3].map(() => filled(30));
    const options = { gamma: 0.9, n: 3 };
    const [plain, refilled, lent, looped] = views.map(({ table }) => table.sequences(options)) as [
      ReturnType<(typeof views)[0]["table"]["sequences"]>,
      ReturnType<(typeof views)[0]["table"]["sequences"]>,
      ReturnType<(typeof views)[0]["table"]["sequences"]>,
      ReturnType<(typeof views)[0]["table"]["sequences"]>,
    ];
    const into = refilled.batch(5, { beta: 0.4 });
    const loop = looped.dataset({ batchSize: 5, beta: 0.4, prefetch: 1 })[Symbol.asyncIterator]();
    for (let k = 0; k < 5; k++) {
      const expected = JSON.stringify(plain.sample(5, { beta: 0.4 }));
      expect(refilled.sample(5, { into, beta: 0.4 })).toBe(into);
      expect(JSON.stringify(into)).toBe(expected);
      using one = lent.sample(5, { recycle: true, beta: 0.4 });
      expect(JSON.stringify(one)).toBe(expected);
      expect(JSON.stringify((await loop.next()).value)).toBe(expected);
    }
    await loop.return?.(undefined);
  });

  test("combines partial draws into one batch while it waits", async () => {
    const replay = new Replay({ spec, tables: { memory: { maxSize: 100, sampler: fifo(), maxTimesSampled: 1, rateLimiter: minSize(1) } }, seed: 3 });
    const writer = replay.writer({ items: [{ table: "memory", sequence }] });
    const view = replay.tables.memory.sequences({ gamma: 0.5 });
    const waits = view.sampleWhenReady(3);
    for (const steps of [3, 9]) {
      for (let i = 0; i < steps; i++) writer.append({ observation: { x: [i, 0] }, action: i, reward: 1, hidden: { h: [0, 0, 0], c: 0 }, note: "" });
      writer.endEpisode({ terminated: true });
    }
    const batch = await waits;
    expect(batch.count).toBe(3);
    expect(batch.mask.shape).toEqual([3, 6]);
    expect([...batch.isFirst.data.filter((_, i) => i % 6 === 0)]).toEqual([1, 1, 0]);
    expect([...batch.learningMask.data]).toEqual([1, 1, 1, 0, 0, 0, 1, 1, 1, 1, 1, 0, 0, 0, 1, 1, 1, 0]);
    expect([...batch.discounts.data.subarray(0, 4)]).toEqual([0.5, 0.5, 0, 0]);
  });

  test("pads or cuts to length, and bootstraps from the last visible step after a cut", () => {
    const { table } = filled(9);
    const wide = table.sequences({ gamma: 0.5, length: 8 }).sample(1);
    expect(wide.mask.shape).toEqual([1, 8]);
    const cut = table.sequences({ gamma: 0.5, length: 3, n: 5 }).sample(3, { replacement: false });
    for (let i = 0; i < 3; i++) expect([...cut.bootstraps.data.subarray(3 * i, 3 * i + 3)]).toEqual([2, 2, 2]);
  });

  test("reports why it has no batch", () => {
    const replay = new Replay({ spec, tables: { memory: { maxSize: 9, rateLimiter: minSize(2) } } });
    const view = replay.tables.memory.sequences({ gamma: 0.5 });
    expectError(
      errorOf(() => view.sample(1)),
      "EMPTY",
      /no open writer has a rule for it. Add a rule: replay.writer\(\{ items: \[\{ table, sequence \}\] \}\)/,
    );
    const writer = replay.writer({ items: [{ table: "memory", sequence }] });
    expectError(
      errorOf(() => view.sample(1)),
      "EMPTY",
      /when an episode has 6 steps \(or ends, with sequence\)/,
    );
    for (let i = 0; i < 3; i++) writer.append({ observation: { x: [i, 0] }, action: i, reward: 1, hidden: { h: [0, 0, 0], c: 0 }, note: "" });
    writer.endEpisode({ terminated: true });
    expectError(
      errorOf(() => view.sample(1)),
      "RATE_LIMITED",
      /has 1 items, and its rate limiter requires 2/,
    );
  });

  test("rejects leaves with the names of its columns, and roles without a leaf", () => {
    const named = new Replay({ spec: { ...spec, isFirst: bool() }, tables: { t: { maxSize: 9 } } });
    expectError(
      errorOf(() => named.tables.t.sequences({ gamma: 1 })),
      "SPEC_MISMATCH",
      /the leaf "isFirst" has the same name as a column of sequences\(\)/,
    );
    named.tables.t.transitions({ gamma: 1 });
    const bare = new Replay({ spec: { observation: f32(), action: i32() }, tables: { t: { maxSize: 9 } } });
    expectError(
      errorOf(() => bare.tables.t.sequences({ gamma: 1 } as never)),
      "NOT_FOUND",
      /sequences\(\) requires the reward/,
    );
  });

  test("returns batches that writeSteps accepts", () => {
    const { table } = filled(9);
    const view = table.sequences({ gamma: 0.5 });
    const batch = view.sample(3, { replacement: false });
    const values = batch.action.data.map((_, i) => 1000 + i);
    expect(table.writeSteps(batch, { action: values }).skipped).toBe(0);
    const after = table.get(batch.keys).steps.action.data;
    const { mask } = batch;
    const last = new Map<number, number>();
    for (let i = 0; i < 18; i++) if (mask.data[i] === 1) last.set(Number(batch.observation.x.data[2 * i]), values[i] as number);
    for (let i = 0; i < 18; i++) expect(after[i]).toBe(mask.data[i] === 1 ? last.get(Number(batch.observation.x.data[2 * i])) : 0);
  });

  test("reads items of other rules as sequences without burn-in and without isFirst", () => {
    const replay = new Replay({ spec, tables: { memory: { maxSize: 9 } } });
    const writer = replay.writer({});
    for (let i = 0; i < 3; i++) writer.append({ observation: { x: [i, 0] }, action: i, reward: 1, hidden: { h: [0, 0, 0], c: 0 }, note: "" });
    writer.createItem("memory", { length: 3 });
    const batch = replay.tables.memory.sequences({ gamma: 0.5 }).sample(1);
    expect([...batch.learningMask.data, ...batch.isFirst.data]).toEqual([1, 1, 0, 0, 0, 0]);
  });
});

describe("a rule", () => {
  const make =
    (rule: object, options: object = {}) =>
    () =>
      filled().replay.writer({ items: [{ table: "memory", ...rule } as never], ...options });

  test.each<[object, RegExp]>([
    [{ sequence: { length: 3, burnIn: 2 } }, /^items\[0\]\.sequence\.length must be an integer in 4 … /],
    [{ sequence: { length: 6, burnIn: -1 } }, /^items\[0\]\.sequence\.burnIn must be an integer in 0 … 32766/],
    [{ sequence: { length: 6, burnIn: 2, stride: 4 } }, /^items\[0\]\.sequence\.stride must .*1 … 3 \(length - burnIn - 1\).*got 4/],
    [{ sequence: { length: 6, stride: 0 } }, /^items\[0\]\.sequence\.stride must be/],
    [{ sequence: { length: 6, overlap: 2 } }, /overlap/],
    [{ sequence, length: 6 }, /length/],
    [{ sequence, columns: {} }, /columns/],
    [{ sequence: 6 }, /sequence/],
  ])("rejects %j", (rule, says) => {
    const { replay } = filled();
    expect(() => make(rule)()).toThrow(says);
    expectRefused(replay, () => replay.writer({ items: [{ table: "memory", ...rule } as never] }), errorOf(make(rule)).constructor as typeof TypeError, says);
  });

  test("requires terminated, a final observation after truncation, and finite rewards", () => {
    const { writer } = filled(9, 2);
    expectError(
      errorOf(() => writer.endEpisode()),
      TypeError,
      /^terminated .*nStep or sequence rule/,
    );
    expectError(
      errorOf(() => writer.endEpisode({ terminated: false })),
      TypeError,
      /^final .*truncated episode/,
    );
    const step = { observation: { x: [0, 0] }, action: 0, reward: Number.NaN, hidden: { h: [0, 0, 0], c: 0 }, note: "" };
    expectError(
      errorOf(() => writer.append(step)),
      "INVALID_DATA",
      /reward must be finite.*sequence rules/,
    );
    expectError(errorOf(make({ sequence }, { lanes: 2 })), TypeError, /autoreset (must be|is required)/);
    const noReward = new Replay({ spec: { observation: f32(), action: i32() }, tables: { t: { maxSize: 9 } } });
    expectError(
      errorOf(() => noReward.writer({ items: [{ table: "t", sequence }] })),
      "NOT_FOUND",
      /items\[0\] \(sequence\) requires the reward/,
    );
  });

  test.runIf(whole)("creates the items of Acme's SequenceAdder, truncated or padded at the end of an episode", () => {
    /** Returns the first steps and lengths of the items that acme/adders/reverb/sequence.py makes for a buffer of at most `longest` steps. */
    const adder = (steps: number, longest: number, period: number) => {
      const items: string[] = [];
      const create = (step: number, rows: number, end: number) => {
        if (step === longest || (step > longest && (step - longest) % period === 0)) items.push(`${end - rows} ${rows}`);
      };
      for (let step = 1; step < steps; step++) create(step, Math.min(step, longest), step);
      const isFirst = steps <= longest;
      const rest = longest - steps;
      const delta = isFirst ? rest : (period - ((steps - longest) % period)) % period;
      create(steps + delta, isFirst ? steps : longest - delta, steps);
      return items;
    };
    for (const burnIn of [0, 2])
      for (const length of [4, 5, 9]) {
        for (let stride = 1; stride < length - burnIn; stride++)
          for (const steps of LENGTHS) {
            const replay = new Replay({ spec, tables: { memory: { maxSize: 99, sampler: fifo() } } });
            const writer = replay.writer({ items: [{ table: "memory", sequence: { length, burnIn, stride } }] });
            for (let i = 0; i < steps; i++) writer.append({ observation: { x: [i, 0] }, action: i, reward: 1, hidden: { h: [0, 0, 0], c: 0 }, note: "" });
            writer.endEpisode({ terminated: true });
            const { count, lengths, steps: rows } = replay.tables.memory.sample(replay.tables.memory.size, { replacement: false, length });
            const items = Array.from({ length: count }, (_, i) => `${rows.action.data[i * length]} ${lengths[i]}`);
            expect(items, `${steps} steps, ${length}, ${stride}`).toEqual(adder(steps + 1, length, stride));
          }
      }
  });

  test("reads the priority of a sequence from a leaf of its first step", () => {
    const replay = new Replay({ spec, tables: { memory: { maxSize: 9, sampler: prioritized(1) } } });
    const writer = replay.writer({ items: [{ table: "memory", sequence, priority: { leaf: "hidden.c" } }] });
    for (let i = 0; i < 9; i++) writer.append({ observation: { x: [i, 0] }, action: i, reward: 1, hidden: { h: [0, 0, 0], c: 10 + i }, note: "" });
    writer.endEpisode({ terminated: true });
    const { info, steps } = replay.tables.memory.sample(3, { replacement: false });
    expect([...info.priorities].sort()).toEqual([10, 13, 16]);
    expect([...info.priorities]).toEqual([0, 1, 2].map((i) => steps.hidden.c.data[6 * i]));
  });

  test("assigns the largest priority on a prioritized table", () => {
    const { table, writer } = filled(9, 0);
    const { keys } = table.sequences({ gamma: 1 }).sample(3, { replacement: false });
    table.updatePriorities(keys, [5, 1, 1]);
    for (let i = 0; i < 6; i++) writer.append({ observation: { x: [i, 0] }, action: i, reward: 1, hidden: { h: [0, 0, 0], c: 0 }, note: "" });
    expect(table.explain(writer.lastKey("memory")).priority).toBe(5);
    expect(filled(9, 0, { sampler: fifo() }).table.stats().size).toBe(3);
  });

  test("creates items that work with sample, transitions and delete", () => {
    const { table } = filled(9);
    const batch = table.sample(3, { replacement: false });
    expect([...batch.lengths].sort()).toEqual([4, 6, 6]);
    expect(table.transitions({ gamma: 0.5, n: 1 }).sample(2).count).toBe(2);
    expect(table.delete(batch.info.keys)).toBe(3);
    expect(table.size).toBe(0);
  });

  test("creates items that wait for the rate limiter, and discardEpisode removes them", () => {
    const { table, writer } = filled(9, 7);
    expect(table.size).toBe(4);
    expect(writer.discardEpisode()).toBe(1);
    expect(table.size).toBe(3);
    const rateLimiter = { ...minSize(1), samplesPerInsert: 1, minDiff: -1, maxDiff: 1 };
    for (const maxPending of [0, 1]) {
      const replay = new Replay({ spec, tables: { memory: { maxSize: 9, maxPending, rateLimiter } } });
      const limited = replay.writer({ items: [{ table: "memory", sequence }] });
      for (let i = 0; i < 9; i++) {
        const step = { observation: { x: [i, 0] }, action: i, reward: 1, hidden: { h: [0, 0, 0], c: 0 }, note: "" };
        if (i === 8 && maxPending === 0) expectRefused(replay, () => limited.append(step), "RATE_LIMITED");
        else limited.append(step);
      }
      if (maxPending === 0) continue;
      expectRefused(replay, () => limited.endEpisode({ terminated: true }), "RATE_LIMITED");
      expect(replay.tables.memory.stats().pending).toBe(1);
      expect(limited.discardEpisode()).toBe(2);
    }
  });
});
