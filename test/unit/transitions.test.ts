import { expect, expectTypeOf, test } from "vitest";
import { bool, f32, f64, fifo, i32, minSize, prioritized, Replay, sampleToInsertRatio, type Table, text, u8 } from "../../src/index.ts";
import type { ColumnLike } from "../../src/schema/column.ts";
import { errorOf, expectError, expectRefused } from "../support/refused.ts";

const spec = { observation: { x: f32(2) }, action: i32(), reward: f32(), mask: u8(3), note: text({ maxBytes: 8 }) } as const;

/** Appends the steps of an unfinished episode, as transitions of three steps. */
function filled(steps = 9) {
  const replay = new Replay({ spec, tables: { memory: { maxSize: 100, sampler: prioritized(0.6) } }, seed: 3 });
  const writer = replay.writer({ items: [{ table: "memory", nStep: 3 }] });
  for (let i = 0; i < steps; i++) writer.append({ observation: { x: [i, -i] }, action: i, reward: 1, mask: [i, 0, 1], note: `at ${i}` });
  return { replay, writer, table: replay.tables.memory };
}

test("a transition has its parts by role, and other leaves by name", () => {
  const { table } = filled(4);
  const batch = table.transitions({ gamma: 0.5, next: ["action", "mask", "note"] }).sample(2, { beta: 0.4 });
  const { observation, nextObservation, action, nextAction, mask, nextMask, note, nextNote } = batch;
  const arrays = [observation.x, nextObservation.x, action, nextAction, mask, nextMask, note, nextNote].map(({ data }) => [...data]);
  expect(arrays).toEqual([
    [0, -0, 0, -0],
    [3, -3, 3, -3],
    [0, 0],
    [3, 3],
    [0, 0, 1, 0, 0, 1],
    [3, 0, 1, 3, 0, 1],
    ["at 0", "at 0"],
    ["at 3", "at 3"],
  ]);
  expect([observation.x.shape, nextAction.shape, batch.returns.shape]).toEqual([[2, 2], [2], [2]]);
  expect([batch.returns, batch.discounts, batch.weights].map(({ data }) => data)).toEqual([
    new Float32Array([1.75, 1.75]),
    new Float32Array([0.125, 0.125]),
    new Float32Array([1, 1]),
  ]);
  expect([batch.steps.data, batch.terminated.data, batch.truncated.data]).toEqual([new Uint32Array([3, 3]), new Uint8Array(2), new Uint8Array(2)]);
  expect(table.updatePriorities(batch.keys, [2, 2])).toBe(2);
  expect(Object.keys(batch)).not.toContain("reward");
  const wide = table.transitions({ gamma: 0.5, dtype: "f64" }).sample(1, { beta: 0.4 });
  expect([wide.returns.data, wide.weights.data]).toEqual([new Float64Array([1.75]), new Float64Array([1])]);
  expect("weights" in table.transitions({ gamma: 0.5 }).sample(1)).toBe(false);
});

test("a truncated transition keeps its discount, and a terminated one has discount 0", () => {
  for (const terminated of [true, false]) {
    const { table, writer } = filled(3);
    writer.endEpisode({ final: { observation: { x: [9, 9] } }, terminated });
    const batch = table.transitions({ gamma: 0.5 }).sample(3, { replacement: false });
    expect([...batch.nextObservation.x.data]).toEqual(new Array(6).fill(9));
    expect([...batch.steps.data].sort()).toEqual([1, 2, 3]);
    expect([...batch.discounts.data]).toEqual([...batch.steps.data].map((k) => (terminated ? 0 : 0.5 ** k)));
    expect([...batch.terminated.data, ...batch.truncated.data]).toEqual([...new Array(3).fill(+terminated), ...new Array(3).fill(1 - +terminated)]);
  }
});

test("roles may have other names in subtrees, whose other leaves keep their names", () => {
  const replay = new Replay({
    spec: { env: { obs: f32(2), r: f64(), info: { lives: i32(), over: bool() } }, act: i32(), terminated: u8() },
    tables: { t: { maxSize: 9 } },
    transition: { observation: "env.obs", action: "act", reward: "env.r" },
  });
  const writer = replay.writer({ items: [{ table: "t", length: 2 }] });
  for (let i = 0; i < 3; i++) writer.append({ env: { obs: [i, i], r: 5, info: { lives: i, over: false } }, act: i, terminated: i });
  const view = replay.tables.t.transitions({ gamma: 1, next: ["env"] });
  const batch = view.sample(2, { replacement: false });
  const lives = [...batch.env.info.lives.data];
  expect(lives.sort()).toEqual([0, 1]);
  // The leaf `terminated` masks returns like the flag, because its name is that of the role.
  expect([...batch.terminated.data]).toEqual([...batch.action.data].map((act) => Number(act > 0)));
  expect([...batch.discounts.data]).toEqual([...batch.action.data].map((act) => Number(act === 0)));
  expect([...batch.nextEnv.info.lives.data]).toEqual([...batch.action.data].map((act) => act + 1));
  expect(Object.keys(batch.env)).toEqual(["info"]);
  // @ts-expect-error: the reward is only in the returns
  expect(batch.env.r).toBeUndefined();
});

test("invalid options of a view and of its sample are rejected", () => {
  const { replay, table } = filled();
  const bad: [object, Parameters<typeof expectError>[1], ...RegExp[]][] = [
    [{}, TypeError, /^gamma (must be|is required:) a finite number in 0 … 1/],
    [{ gamma: 1.01 }, RangeError, /^gamma must/, /1\.01/],
    [{ gamma: -0.1 }, RangeError, /^gamma must/],
    [{ gamma: Number.NaN }, RangeError, /^gamma must/, /NaN/],
    [{ gamma: 0.9, n: 0 }, RangeError, /^n must be an integer/],
    [{ gamma: 0.9, n: 1.5 }, TypeError, /^n must be an integer/],
    [{ gamma: 0.9, n: 4 }, RangeError, /^n must .*3,.*"memory".*got 4/],
    [{ gamma: 0.9, dtype: "f16" }, RangeError, /^dtype must be one of "f32", "f64"/],
    [{ gamma: 0.9, next: "mask" }, TypeError, /^next must be an array of names/],
    [{ gamma: 0.9, next: ["observation"] }, "NOT_FOUND", /^each name in next must be one of "action", "mask", "note", got "observation"/],
    [{ gamma: 0.9, lambda: 1 }, TypeError, /^transitions has no option "lambda"\. Options: gamma, n, next, dtype/],
    [null as never, TypeError, /^the options of transitions must be an object/],
  ];
  for (const [options, kind, ...says] of bad) expectRefused(replay, () => table.transitions(options as never), kind, ...says);
  const view = table.transitions({ gamma: 0.9 });
  const draws: [unknown, object, Parameters<typeof expectError>[1], ...RegExp[]][] = [
    [0, {}, RangeError, /^n must be an integer/],
    [2, { length: 3 }, TypeError, /^sample has no option "length"/],
    [2, { beta: Number.NaN }, RangeError, /^beta must/],
    [7, { replacement: false }, "TOO_FEW", /can provide 6 items, but the call needs 7/],
    [5, { replacement: false, among: 4 }, "TOO_FEW", /can provide 4 items, but the call needs 5 \(among selects the 4 oldest of 6 items/],
    [2, { normalize: "table" }, "UNSUPPORTED", /withMin/],
    [2, { into: {} }, "SPEC_MISMATCH", /^into\.observation\.x\.data (must be|is required:) a Float32Array of at least 4 elements/],
    [3, { into: view.batch(2) }, "SPEC_MISMATCH", /at least 6 elements/],
    [2, { into: view.batch(2), beta: 0.4 }, "SPEC_MISMATCH", /^into\.weights\.data (must be|is required:) a Float32Array/],
    [2, { into: view.batch(2, { beta: 0.4 }) }, TypeError, /^beta (must be given|is required), because into has weights/],
  ];
  for (const [n, options, kind, ...says] of draws) expectRefused(replay, () => view.sample(n as number, options as never), kind, ...says);
});

test("TOO_FEW reports how many items can be drawn", () => {
  const { replay, table } = filled(12);
  const { keys } = table.transitions({ gamma: 1 }).sample(table.size, { replacement: false });
  table.updatePriorities(
    keys,
    [...keys].map((_, i) => Number(i < 3)),
  );
  const says = `table "memory" can provide 3 items, but the call needs 5 \\(it has ${table.size} items, .* priority 0`;
  expectRefused(replay, () => table.transitions({ gamma: 1 }).sample(5, { replacement: false }), "TOO_FEW", new RegExp(says));
  expect(table.transitions({ gamma: 1 }).sample(3, { replacement: false }).count).toBe(3);
});

test("leaves with the name of a view column and missing roles are rejected", () => {
  const viewOf =
    (leaves: object, transition?: object, next: never[] = []) =>
    () =>
      new Replay({ spec: { observation: f32(), action: i32(), reward: f32(), ...leaves }, tables: { t: { maxSize: 9 } }, transition }).tables.t.transitions({
        gamma: 1,
        next,
      });
  for (const name of ["count", "returns", "discounts", "steps", "truncated", "weights", "keys", "nextObservation"])
    expectError(errorOf(viewOf({ [name]: f32() })), "SPEC_MISMATCH", new RegExp(`the leaf "${name}" has the same name as a column of transitions\\(\\)`));
  expectError(errorOf(viewOf({ mask: f32(), nextMask: f32() }, undefined, ["mask" as never])), "SPEC_MISMATCH", /the leaf "nextMask"/);
  expectError(errorOf(viewOf({ terminated: f32(), done: bool() }, { terminated: "done" })), "SPEC_MISMATCH", /the leaf "terminated"/);
  expectError(errorOf(viewOf({ obs: f32() }, { observation: "obs" })), "SPEC_MISMATCH", /the leaf "observation"/);
  expectError(errorOf(viewOf({ discount: bool() })), "SPEC_MISMATCH", /^transition\.discount must be an unshared leaf with one number per step.* terminated/);
  const bare = new Replay({ spec: { obs: f32(), action: i32(), reward: f32() }, tables: { t: { maxSize: 9 } } });
  expectError(
    errorOf(() => bare.tables.t.transitions({ gamma: 1 })),
    "NOT_FOUND",
    /transitions\(\) requires the observation/,
    /"obs"/,
    /transition: \{ observation \}/,
  );
});

test("an empty table throws EMPTY with the reason", () => {
  const make = (limiter = minSize(1)) => new Replay({ spec, tables: { t: { maxSize: 9, rateLimiter: limiter } }, logger: null });
  const step = { observation: { x: [0, 0] }, action: 0, reward: 0, mask: [0, 0, 0], note: "" };
  const bare = make();
  const draw = (replay: typeof bare) => () => replay.tables.t.transitions({ gamma: 1 }).sample(1);
  expectError(errorOf(draw(bare)), "EMPTY", /table "t" is empty: nothing was inserted yet/);
  const writer = bare.writer({ items: [{ table: "t", length: 3 }] });
  expectError(errorOf(draw(bare)), "EMPTY", /when an episode has 3 steps/);
  for (let i = 0; i < 3; i++) writer.append(step);
  draw(bare)();
  bare.tables.t.clear();
  expectError(errorOf(draw(bare)), "EMPTY", /nothing was inserted yet|has no items yet/);
  for (let i = 0; i < 3; i++) writer.append(step);
  bare.tables.t.delete([writer.lastKey("t")]);
  for (let i = 0; bare.tables.t.size > 0 && i < 9; i++) bare.tables.t.delete(bare.tables.t.sample(1).info.keys);
  expectError(errorOf(draw(bare)), "EMPTY", /all of its items were evicted, deleted, or drawn/);
});

test("rules and items of a single step are rejected", () => {
  const replay = new Replay({ spec, tables: { t: { maxSize: 9 } } });
  const writer = replay.writer({ items: [{ table: "t", length: 1 }] });
  expectError(
    errorOf(() => replay.tables.t.transitions({ gamma: 1 })),
    "SPEC_MISMATCH",
    /items that cannot become transitions/,
  );
  writer.close();
  const view = replay.tables.t.transitions({ gamma: 1 });
  const plain = replay.writer();
  for (let i = 0; i < 3; i++) plain.append({ observation: { x: [0, 0] }, action: 0, reward: 0, mask: [0, 0, 0], note: "" });
  plain.createItem("t", { length: 2 });
  view.sample(1);
  plain.createItem("t", { length: 1 });
  expectRefused(replay, () => view.sample(1), "SPEC_MISMATCH", /items that cannot become transitions/);
  replay.tables.t.clear();
  plain.createItem("t", { length: 3 });
  expect(view.sample(1).steps.data[0]).toBe(2);
});

test("sample throws RATE_LIMITED if the rate limiter blocks it, and sampleWhenReady waits", async () => {
  const replay = new Replay({
    spec: { observation: f32(), action: i32(), reward: f32() },
    tables: { t: { maxSize: 9, rateLimiter: sampleToInsertRatio(1, 2, 2) } },
  });
  const writer = replay.writer({ items: [{ table: "t", nStep: 1 }] });
  const view = replay.tables.t.transitions({ gamma: 1 });
  const append = (n: number) => {
    for (let i = 0; i < n; i++) writer.append({ observation: i, action: i, reward: i });
  };
  append(2);
  expectRefused(replay, () => view.sample(1), "RATE_LIMITED", /has 1 items, and its rate limiter requires 2/, /await sampleWhenReady\(1\)/);
  const later = view.sampleWhenReady(2);
  append(3);
  expect((await later).count).toBe(2);
  await expect(view.sampleWhenReady(100, { replacement: false })).rejects.toThrow(/n must be <= /);
  expectError(await view.sampleWhenReady(3, { timeoutMs: 1 }).catch((error) => error), "TIMEOUT", /table "t" provided only \d+ of 3 items/);
});

test("a short batch has no keys of an earlier draw after its transitions", () => {
  const replay = new Replay({ spec: { observation: f32(), action: i32(), reward: f32() }, tables: { t: { maxSize: 9, sampler: fifo(), maxTimesSampled: 2 } } });
  const writer = replay.writer({ items: [{ table: "t", nStep: 1 }] });
  for (let id = 0; id < 4; id++) writer.append({ observation: id, action: id, reward: id });
  const view = replay.tables.t.transitions({ gamma: 1 });
  const into = view.batch(3);
  expect([...view.sample(3, { into, replacement: false }).keys].every((key) => key > 0)).toBe(true);
  view.sample(1, { into });
  expect([into.count, [...into.keys].map((key) => key > 0)]).toEqual([1, [true, false, false]]);
  expect(replay.tables.t.delete(into.keys)).toBeLessThanOrEqual(1);
});

test("a dataset returns full batches, and can fill one batch repeatedly", async () => {
  const { table } = filled();
  const view = table.transitions({ gamma: 0.5 });
  const into = view.batch(4, { beta: 0.4 });
  let seen = 0;
  for (const batch of view.dataset({ batchSize: 4, into, beta: 0.4 })) {
    expect(batch).toBe(into);
    if (++seen === 3) break;
  }
  for await (const batch of view.dataset({ batchSize: 2, prefetch: 2 })) {
    expect([...batch.returns.data]).toEqual([1.75, 1.75]);
    if (++seen === 6) break;
  }
  const queue = new Replay({ spec: { observation: f32(), action: i32(), reward: f32() }, tables: { t: { maxSize: 9, maxTimesSampled: 1 } } });
  const writer = queue.writer({ items: [{ table: "t", nStep: 1 }] });
  for (let i = 0; i < 6; i++) writer.append({ observation: i, action: i, reward: i });
  const counts = [...queue.tables.t.transitions({ gamma: 1 }).dataset({ batchSize: 2 })].map(({ count }) => count);
  expect(counts).toEqual([2, 2]);
});

test("the types follow the spec, roles, dtype, next and beta, and any Table has views", () => {
  const { table } = filled();
  const batch = table.transitions({ gamma: 0.5, next: ["mask"] }).sample(1);
  expectTypeOf(batch.observation.x.data).toEqualTypeOf<Float32Array<ArrayBuffer>>();
  expectTypeOf(batch.observation.x.shape).toEqualTypeOf<[number, 2]>();
  expectTypeOf(batch.nextMask.data).toEqualTypeOf<Uint8Array<ArrayBuffer>>();
  expectTypeOf(batch.note.data).toEqualTypeOf<string[]>();
  expectTypeOf(batch.returns.data).toEqualTypeOf<Float32Array<ArrayBuffer>>();
  expectTypeOf(batch.keys).toEqualTypeOf<Float64Array<ArrayBuffer>>();
  expectTypeOf(batch).not.toHaveProperty("weights");
  expectTypeOf(batch).not.toHaveProperty("nextAction");
  expectTypeOf(batch).not.toHaveProperty("reward");
  const wide = table.transitions({ gamma: 0.5, dtype: "f64" }).sample(1, { beta: 0.4 });
  expectTypeOf(wide.weights.data).toEqualTypeOf<Float64Array<ArrayBuffer>>();
  const view = table.transitions({ gamma: 0.5 });
  // @ts-expect-error: no such leaf
  const misspelt = () => table.transitions({ gamma: 0.5, next: ["masks"] });
  // @ts-expect-error: gamma is required
  const without = () => table.transitions({});
  // @ts-expect-error: not an option of transition views
  const general = () => view.sample(1, { columns: {} });
  expectError(errorOf(misspelt), "NOT_FOUND");
  for (const call of [without, general]) expectError(errorOf(call), TypeError);
  const learn = (any: Table) => any.transitions({ gamma: 0.9 }).sample(1);
  expect((learn(table).returns as ColumnLike).shape).toEqual([1]);
});

test("an error for too many draws names maxTimesSampled as the reason", () => {
  const tables = { t: { maxSize: 10, maxTimesSampled: 1, rateLimiter: minSize(2) } };
  const replay = new Replay({ spec: { observation: f32(), action: i32(), reward: f32() }, tables });
  const writer = replay.writer({ items: [{ table: "t", length: 2 }] });
  for (let t = 0; t < 3; t++) writer.append({ observation: t, action: 0, reward: 0 });
  const view = replay.tables.t.transitions({ gamma: 1 });
  expectError(
    errorOf(() => view.sample(2)),
    "TOO_FEW",
    /^table "t" has 2 items, and maxTimesSampled .* 2 draws/,
  );
  // A smaller sample is also suggested if the call draws without replacement.
  expectError(
    errorOf(() => view.sample(2, { replacement: false })),
    "TOO_FEW",
    /but the call needs 2 \(it has 2 items.*\)\. Sample fewer items$/,
  );
});
