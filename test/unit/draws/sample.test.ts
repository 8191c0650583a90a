import { expect, test, vi } from "vitest";
import { Draw } from "../../../src/batch/draw.ts";
import { f32, fifo, i32, prioritized, Replay, ReplayError, u8, uniform } from "../../../src/index.ts";
import { expectRefused } from "../../support/refused.ts";
import { whole } from "../../support/size.ts";

const spec = { x: i32(), o: f32(2), r: f32(), d: f32() };

/** Creates five episodes of four steps, x = 10 × episode + step, and items of `length` steps in order. */
function filled(length = 3, across = false) {
  const replay = new Replay({ spec, tables: { t: { maxSize: 100, sampler: uniform() }, all: { maxSize: 10 } }, seed: 3 });
  const writer = replay.writer({ items: [{ table: "t", length }], across });
  for (let e = 0; e < 5; e++) {
    for (let s = 0; s < 4; s++) writer.append({ x: 10 * e + s, o: [s, e], r: 1, d: s === 3 ? 0 : 1 });
    if (e < 4) writer.endEpisode();
  }
  writer.createItem("all", { length: 4 });
  return { replay, writer, table: replay.table("t"), all: replay.table("all") };
}

/** Returns x of each item's steps. */
function rows(batch: { count: number; steps: { x: { data: Int32Array } } }): number[][] {
  const width = batch.steps.x.data.length / batch.count;
  return Array.from({ length: batch.count }, (_, i) => [...batch.steps.x.data.subarray(i * width, (i + 1) * width)]);
}

test("a batch contains the steps of its items in every leaf", () => {
  const { table } = filled();
  const batch = table.sample(50);
  expect(batch.count).toBe(50);
  expect(batch.blocked).toBe(undefined);
  expect(batch.steps.o.shape).toEqual([50, 3, 2]);
  for (const [i, row] of rows(batch).entries()) {
    const first = row[0] as number;
    expect(row).toEqual([first, first + 1, first + 2]);
    expect([...batch.steps.o.data.subarray(6 * i, 6 * i + 2)]).toEqual([first % 10, Math.floor(first / 10)]);
  }
  expect(new Set(rows(batch).map(String)).size).toBe(10);
  expect([...batch.lengths]).toEqual(new Array(50).fill(3));
  expect([...batch.info.tableSizes]).toEqual(new Array(50).fill(10));
  expect([...batch.info.probabilities]).toEqual(new Array(50).fill(0.1));
});

test("`into` can be refilled repeatedly, and equals new arrays", () => {
  const options = { length: 2, mask: true, beta: 0.5, offset: "end", nStep: { n: 2, gamma: 0.5, reward: "r", discount: "d" } } as const;
  const { table } = filled();
  const twin = filled().table;
  const into = table.batch(8, options);
  for (let k = 0; k < 20; k++) {
    const given = table.sample(8, { ...options, into });
    expect(given).toBe(into);
    expect(given).toEqual(twin.sample(8, options));
  }
  const own = {
    ...into.detached(),
    steps: {
      x: { data: new Int32Array(99), shape: [8, 2] },
      o: { data: new Float32Array(99), shape: [8, 2, 2] },
      r: { data: new Float32Array(99), shape: [8, 2] },
      d: { data: new Float32Array(99), shape: [8, 2] },
    },
  };
  const given = table.sample(8, { ...options, length: undefined, into: own });
  expect(given).toBe(own);
  expect([...given.steps.x.data.subarray(0, 16)]).toEqual([...twin.sample(8, options).steps.x.data]);
});

test("sample rejects `into` of another shape before anything is drawn", () => {
  const { replay, table } = filled();
  const made = table.batch(3, { length: 3, mask: true });
  const b = made.detached();
  const bad: [unknown, typeof TypeError | typeof RangeError | "SPEC_MISMATCH", RegExp][] = [
    [null, TypeError, /^into must be a batch, .* got null/],
    ["x", TypeError, /^into must be a batch, .* got "x"/],
    [{}, TypeError, /^into must be a batch/],
    [[], TypeError, /^into must be a batch/],
    [{ ...b, lengths: undefined }, "SPEC_MISMATCH", /^into\.lengths is required: a Uint32Array of at least 3/],
    [{ ...b, lengths: new Float64Array(3) }, "SPEC_MISMATCH", /^into\.lengths .*Float64Array\(3\)/],
    [{ ...b, lengths: new Uint32Array(2) }, "SPEC_MISMATCH", /^into\.lengths .*Uint32Array\(2\)/],
    [{ ...b, info: { ...b.info, keys: new Float32Array(3) } }, "SPEC_MISMATCH", /^into\.info\.keys (must be|is required:) a Float64Array/],
    [{ ...b, info: { ...b.info, timesSampled: new Float64Array(3) } }, "SPEC_MISMATCH", /^into\.info\.timesSampled (must be|is required:) a Uint32Array/],
    [{ ...b, mask: new Uint8Array(8) }, "SPEC_MISMATCH", /^into\.mask (must be|is required:) a Uint8Array of at least 9/],
    [{ ...b, mask: new Float32Array(9) }, "SPEC_MISMATCH", /^into\.mask/],
    [
      { ...b, steps: { ...b.steps, x: { data: [1, 2, 3], shape: [3, 3] } } },
      "SPEC_MISMATCH",
      /^into\.steps\.x\.data (must be|is required:) an Int32Array of at least 9/,
    ],
    [{ ...b, steps: { ...b.steps, x: { data: new Float32Array(9), shape: [3, 3] } } }, "SPEC_MISMATCH", /^into\.steps\.x\.data .*Float32Array/],
    [{ ...b, steps: { ...b.steps, x: { data: new Int32Array(8), shape: [3, 3] } } }, "SPEC_MISMATCH", /^into\.steps\.x\.data .*Int32Array\(8\)/],
    [{ ...b, steps: { ...b.steps, x: undefined } }, "SPEC_MISMATCH", /^into\.steps\.x\.data/],
  ];
  for (const [into, kind, says] of bad) expectRefused(replay, () => table.sample(3, { into: into as never }), kind, says);
  expectRefused(replay, () => table.sample(4, { into: made }), "SPEC_MISMATCH", /^into must .* at least 4 items, got 3/);
  expectRefused(replay, () => table.sample(3, { into: made, length: 4 }), "SPEC_MISMATCH", /^into\./);
  expectRefused(replay, () => table.sample(3, { into: made, beta: 1 }), "SPEC_MISMATCH", /^into\.info\.weights is required/);
  expectRefused(
    replay,
    () => table.sample(3, { into: made, nStep: { n: 1, gamma: 1, reward: "r" } }),
    "SPEC_MISMATCH",
    /^into\.nStep\.returns (must be|is required)/,
  );
});

test("sample rejects invalid options before anything is drawn", () => {
  const { replay, table } = filled();
  const bad: [number, object, typeof TypeError | typeof RangeError | "NOT_FOUND" | "UNSUPPORTED", ...RegExp[]][] = [
    [0, {}, RangeError, /^n must be an integer in 1/, /got 0/],
    [-1, {}, RangeError, /^n must/, /got -1/],
    [1.5, {}, TypeError, /^n must/, /got 1\.5/],
    [Number.NaN, {}, RangeError, /^n must/, /NaN/],
    [Number.POSITIVE_INFINITY, {}, RangeError, /^n must/, /Infinity/],
    ["4" as never, {}, TypeError, /^n must/, /"4"/],
    [true as never, {}, TypeError, /^n must/, /true/],
    [2 ** 24, {}, RangeError, /^n must/, /16777216/],
    [4, { replacment: false }, TypeError, /"replacment"/],
    [4, { among: -1 }, RangeError, /^among must/, /-1/],
    [4, { among: 1.5 }, TypeError, /^among must/, /1\.5/],
    [4, { length: 0 }, RangeError, /^length must/, /got 0/],
    [4, { length: 2.5 }, TypeError, /^length must/, /2\.5/],
    [4, { length: "2" }, TypeError, /^length must/, /"2"/],
    [4, { beta: Number.NaN }, RangeError, /^beta must be a finite/, /NaN/],
    [4, { beta: "1" }, TypeError, /^beta must/, /"1"/],
    [4, { offset: "middle" }, RangeError, /^offset must be one of "start"/, /"middle"/],
    [4, { beta: 1, normalize: "max" }, RangeError, /^normalize must be one of/, /"max"/],
    [4, { columns: {} }, RangeError, /^columns must/],
    [4, { columns: null }, RangeError, /^columns must/],
    [4, { columns: { a: { leaf: "y" } } }, "NOT_FOUND", /^columns\.a\.leaf must be one of "d", "o"/, /got "y"/],
    [4, { columns: { a: { leaf: "x", From: 1 } } }, TypeError, /^columns\.a has no option "From"/],
    [4, { columns: { a: 3 } }, TypeError, /^columns\.a must be an object/, /got 3/],
    [4, { columns: { a: { leaf: "x", at: 0, to: 2 } } }, TypeError, /^columns\.a has no option "to"\. Options: leaf, at$/],
    [4, { columns: { a: { leaf: "x", at: 0, steps: [1] } } }, TypeError, /^columns\.a has no option "steps"\. Options: leaf, at$/],
    [4, { columns: { a: { leaf: "x", from: 0, steps: [1] } } }, TypeError, /^columns\.a has no option "from"\. Options: leaf, steps$/],
    [4, { columns: { a: { leaf: "x", steps: 2 } } }, TypeError, /^columns\.a\.steps must be an array/, /got 2/],
    [4, { columns: { a: { leaf: "x", steps: [0, 1.5] } } }, TypeError, /^columns\.a\.steps must be an integer/, /1\.5/],
    [4, { columns: { a: { leaf: "x", steps: [2 ** 24] } } }, RangeError, /^columns\.a\.steps must be an integer/, /16777216/],
    [4, { columns: { a: { leaf: "x", at: 0.5 } } }, TypeError, /^columns\.a\.at must/, /0\.5/],
    [4, { columns: { a: { leaf: "x", from: "1" } } }, TypeError, /^columns\.a\.from must/, /"1"/],
    [4, { columns: { a: { leaf: "x", step: 0 } } }, RangeError, /^columns\.a\.step must/, /got 0/],
    [4, { columns: { a: { leaf: "x", at: "bootstrap" } } }, RangeError, /"bootstrap" require the option nStep/],
  ];
  for (const [n, options, kind, ...says] of bad) expectRefused(replay, () => table.sample(n, options as never), kind, ...says);
});

test("sample rejects draws that the selectors of a table do not support", () => {
  const tables = {
    once: { maxSize: 9, maxTimesSampled: 1 },
    fifo: { maxSize: 9, sampler: { kind: "fifo" } as const },
    lifo: { maxSize: 9, sampler: { kind: "lifo" } as const },
    heap: { maxSize: 9, sampler: { kind: "maxHeap" } as const },
    per: { maxSize: 9, sampler: prioritized(), remover: { kind: "uniform" } as const },
    any: { maxSize: 9, remover: { kind: "lifo" } as const },
  };
  const replay = new Replay({ spec: i32(), tables });
  const writer = replay.writer({ items: Object.keys(tables).map((table) => ({ table: table as "once", length: 1 })) });
  for (let i = 0; i < 9; i++) writer.append(i);
  for (const name of ["once", "fifo", "lifo", "heap"] as const) {
    expectRefused(replay, () => replay.table(name).sample(2, { stratified: true }), "UNSUPPORTED", /stratified/, /uniform or prioritized/);
  }
  expectRefused(replay, () => replay.table("any").sample(2, { stratified: true, replacement: false }), "UNSUPPORTED", /stratified/, /replacement/);
  for (const name of ["lifo", "heap", "per"] as const)
    expectRefused(replay, () => replay.table(name).sample(2, { among: 3 }), "UNSUPPORTED", /^among requires/);
  expect(replay.table("fifo").sample(2, { among: 3 }).count).toBe(2);
});

test("columns select steps with at, from, to and step, from both ends", () => {
  const { all, writer } = filled();
  const steps = (columns: object, options: object = {}) =>
    Object.fromEntries(
      Object.entries(all.sample(1, { columns, ...options } as object).steps as object).map(([name, { data, shape }]) => [name, [[...data], shape.slice(1)]]),
    );
  expect(
    steps({
      first: { leaf: "x", at: 0 },
      last: { leaf: "x", at: -1 },
      o: { leaf: "o", at: 2 },
      all: { leaf: "x" },
      tail: { leaf: "x", from: 1 },
      head: { leaf: "x", to: -1 },
      middle: { leaf: "x", from: 1, to: 3 },
      last2: { leaf: "x", from: -2 },
      every2: { leaf: "x", step: 2 },
      odd: { leaf: "x", from: 1, step: 2 },
      longer: { leaf: "x", from: -6 },
    }),
  ).toEqual({
    first: [[40], []],
    last: [[43], []],
    o: [[2, 4], [2]],
    all: [[40, 41, 42, 43], [4]],
    tail: [[41, 42, 43], [3]],
    head: [[40, 41, 42], [3]],
    middle: [[41, 42], [2]],
    last2: [[42, 43], [2]],
    every2: [[40, 42], [2]],
    odd: [[41, 43], [2]],
    longer: [[0, 0, 40, 41, 42, 43], [6]],
  });
  expect(steps({ a: { leaf: "x", from: -2 } }, { length: 6 })).toEqual({ a: [[42, 43], [2]] });
  // If longer items contain the selected steps, shorter items are padded.
  for (let s = 0; s < 8; s++) writer.append({ x: 100 + s, o: [0, 0], r: 1, d: 1 });
  writer.createItem("all", { length: 9 });
  const beyond = all.sample(2, { columns: { last: { leaf: "x", at: -1 }, beyond: { leaf: "x", at: 8 }, before: { leaf: "x", at: -9 } }, replacement: false });
  const { last, ...outside } = beyond.steps;
  const [short, long] = [last.data.indexOf(43), last.data.indexOf(107)];
  expect(Object.values(outside).map(({ data }) => [data[short], data[long]])).toEqual([
    [0, 107],
    [0, 43],
  ]);
});

test("columns of an item apply until sample selects others, and the batch can be refilled", () => {
  const { replay, writer } = filled();
  const table = replay.table("all");
  table.clear();
  writer.createItem("all", { length: 2, columns: { s: { leaf: "o", at: 0 }, next: { leaf: "o", at: 1 } } });
  const batch = table.sample(2) as unknown as { count: number; steps: { s: { data: Float32Array; shape: number[] } } };
  expect(Object.keys(batch.steps)).toEqual(["s", "next"]);
  expect([...batch.steps.s.data]).toEqual([2, 4, 2, 4]);
  batch.steps.s.data.fill(0);
  expect(table.sample(2, { into: batch as never })).toBe(batch);
  expect([...batch.steps.s.data]).toEqual([2, 4, 2, 4]);
  expect(rows(table.sample(1, { columns: { x: { leaf: "x" } } }) as never)).toEqual([[42, 43]]);
  // A batch with columns of another shape cannot be refilled.
  table.clear();
  writer.createItem("all", { length: 2, columns: { end: { leaf: "x", at: "bootstrap" } } });
  const own = table.batch(2, { length: 2, columns: { s: { leaf: "o", at: 0 } }, nStep: { n: 1, gamma: 1, reward: "r" } });
  expect(() => table.sample(2, { into: own as never, nStep: { n: 1, gamma: 1, reward: "r" } })).toThrow(/^into\.steps\.end\.data is required/);
  expect(() => table.sample(2)).toThrow(/bootstrap/);
  const { steps } = table.sample(1, { nStep: { n: 1, gamma: 1, reward: "r" } }) as unknown as { steps: { end: { data: Int32Array } } };
  expect([...steps.end.data]).toEqual([43]);
  writer.createItem("all", { length: 2 });
  expectRefused(replay, () => table.sample(64), "SPEC_MISMATCH", /different columns/);
  expect(table.sample(64, { columns: { x: { leaf: "x", at: 0 } } }).count).toBe(64);
});

test("length, offset and mask select windows of longer and shorter items", () => {
  const { all, table } = filled();
  expect(rows(all.sample(1, { length: 2 }))).toEqual([[40, 41]]);
  expect(rows(all.sample(1, { length: 2, offset: "end" }))).toEqual([[42, 43]]);
  const starts = new Set(rows(all.sample(64, { length: 2, offset: "uniform" })).map(([first]) => first));
  expect([...starts].sort()).toEqual([40, 41, 42]);
  for (const offset of ["start", "end", "uniform"] as const) {
    const padded = table.sample(1, { length: 5, mask: true, offset });
    expect(rows(padded)[0]?.slice(3)).toEqual([0, 0]);
    expect([...padded.lengths]).toEqual([3]);
    expect([...(padded.mask as Uint8Array)]).toEqual([1, 1, 1, 0, 0]);
  }
});

test("a window continues past the end of an episode unless cross is false", () => {
  const { table } = filled(3, true);
  // The windows of the lane's 20 steps include those across its four borders.
  expect(table.size).toBe(18);
  const { replay, writer } = filled(3, true);
  writer.endEpisode();
  for (let s = 0; s < 2; s++) writer.append({ x: 50 + s, o: [s, 5], r: 1, d: 1 });
  replay.table("all").clear();
  writer.createItem("all", { length: 4 });
  const stopped = replay.table("all").sample(1, { mask: true, cross: false });
  expect(rows(stopped)).toEqual([[42, 43, 0, 0]]);
  expect([...stopped.lengths, ...(stopped.mask as Uint8Array)]).toEqual([2, 1, 1, 0, 0]);
  for (const cross of [undefined, true] as const) {
    expect(rows(replay.table("all").sample(1, { cross }))).toEqual([[42, 43, 50, 51]]);
    expect(rows(replay.table("all").sample(1, { cross, offset: "end", length: 3 }))).toEqual([[43, 50, 51]]);
  }
});

test("a batch can be larger than its table, but ends with the items without replacement", () => {
  const { table } = filled();
  expect(table.sample(1000).count).toBe(1000);
  const distinct = table.sample(16, { replacement: false });
  expect(distinct.count).toBe(10);
  expect(new Set(distinct.info.keys).size).toBe(10);
  expect(distinct.blocked).toEqual({ by: "items", have: 10, need: 16 });
  const oldest = table.sample(16, { replacement: false, among: 3 });
  expect(rows(oldest).map(String).sort()).toEqual(["0,1,2", "1,2,3", "10,11,12"]);
  const strata = table.sample(10, { stratified: true });
  expect(rows(strata).map(([first]) => first)).toEqual([0, 1, 10, 11, 20, 21, 30, 31, 40, 41]);
});

test("an empty table returns an empty batch with the reason", () => {
  const replay = new Replay({ spec: u8(3), tables: { t: { maxSize: 1 } } });
  const batch = replay.table("t").sample(5);
  expect(batch.count).toBe(0);
  expect(batch.blocked).toEqual({ by: "minSize", have: 0, need: 1 });
  expect(batch.info.keys.length).toBe(0);
  const into = replay.table("t").batch(5, { length: 1 });
  expect(replay.table("t").sample(5, { into }).count).toBe(0);
});

test.each(["batch", "none", "table"] as const)("importance weights are (size × probability)^-beta, normalised by %s", (normalize) => {
  for (const exponent of [0.6, 1, 2, -0.5]) {
    const replay = new Replay({ spec: i32(), tables: { t: { maxSize: 50, sampler: prioritized(exponent, { withMin: true }) } }, seed: 5 });
    const writer = replay.writer();
    const priorities = Array.from({ length: 50 }, (_, i) => (i % 7) + 0.5);
    for (const [i, priority] of priorities.entries()) {
      writer.append(i);
      writer.createItem("t", { length: 1, priority });
    }
    const total = priorities.reduce((sum, p) => sum + p ** exponent, 0);
    const probability = (p: number) => p ** exponent / total;
    for (const beta of [0.4, 1, -1, 0]) {
      const batch = replay.table("t").sample(32, { beta, normalize });
      const raw = [...batch.info.priorities].map((p) => (50 * probability(p)) ** -beta);
      const largest =
        normalize === "none"
          ? 1
          : normalize === "batch"
            ? Math.max(...raw)
            : Math.max(...raw, ...priorities.map((p) => (50 * probability(p)) ** -beta).slice(0, beta > 0 ? 50 : 0));
      for (let i = 0; i < 32; i++) {
        expect(batch.info.probabilities[i]).toBeCloseTo(probability(batch.info.priorities[i] as number), 12);
        expect(batch.info.weights?.[i]).toBeCloseTo((raw[i] as number) / largest, 10);
      }
    }
  }
});

test("weights exist only if beta is set", () => {
  const { table } = filled();
  expect(table.sample(2).info.weights).toBe(undefined);
  expect([...(table.sample(2, { beta: 1 }).info.weights as Float64Array)]).toEqual([1, 1]);
});

test("later changes to a columns object do not affect items", () => {
  const { replay, writer } = filled();
  const table = replay.table("all");
  table.clear();
  const columns: { [name: string]: { leaf: "x"; at: number } } = { x: { leaf: "x", at: 0 } };
  writer.createItem("all", { length: 2, columns });
  columns.x = { leaf: "x", at: 1 };
  writer.createItem("all", { length: 2, columns });
  const drawn = Array.from({ length: 40 }, () => table.sample(1) as unknown as { steps: { x: { data: Int32Array } } });
  expect([...new Set(drawn.map(({ steps }) => steps.x.data[0]))].sort()).toEqual([42, 43]);
});

/** Creates fifty items of five steps, after one item of 5,000 steps that was removed. */
function afterLong(options: object = {}, numbers = 1024) {
  const spec = { observation: f32(numbers), action: u8(), reward: f32() };
  const replay = new Replay({ spec, tables: { t: { maxSize: 50, ...options } } });
  const step = (i: number) => ({ observation: new Float32Array(numbers).fill(i), action: i % 256, reward: i });
  const writer = replay.writer({ keep: 5000 });
  for (let i = 0; i < 5000; i++) writer.append(step(i));
  writer.createItem("t", { length: 5000 });
  for (let i = 0; i < 50; i++) {
    writer.append(step(i));
    writer.createItem("t", { length: 5 });
  }
  return { replay, writer, table: replay.table("t") };
}

test.runIf(whole)("a batch is as wide as its longest item, regardless of evicted items", () => {
  for (const options of [{}, { maxTimesSampled: 10, sampler: fifo() }]) {
    const { replay, table } = afterLong(options);
    const { count, steps } = table.sample(256);
    expect([count, ...steps.observation.shape]).toEqual([256, 256, 5, 1024]);
    const { returns, nextObservation } = replay.tables.t.transitions({ gamma: 1 }).sample(100);
    expect([returns.data.length, ...nextObservation.shape]).toEqual([100, 100, 1024]);
  }
});

test("an evicted long item needs no memory in draws, even with small steps", () => {
  for (const options of [{}, { sampler: prioritized(1), remover: fifo() }, { maxTimesSampled: 1e6 }]) {
    const { replay, table } = afterLong(options, 4);
    const view = table.transitions({ gamma: 1 });
    const batch = table.batch(32, { length: 5 });
    const { used } = replay.stats().bytes;
    for (let i = 0; i < 20; i++) {
      expect(table.sample(32).steps.observation.shape).toEqual([32, 5, 4]);
      expect(table.sample(32, { into: batch }).count).toBe(32);
      expect(view.sample(32).steps.data).toEqual(new Uint32Array(32).fill(4));
    }
    // Memory for 5,000 rows per item would take two million bytes.
    expect(replay.stats().bytes.used - used).toBeLessThan(1e5);
  }
});

test("a refilled batch of transitions reads no rows after the longest drawn item", () => {
  const { table, writer } = afterLong({}, 4);
  const view = table.transitions({ gamma: 1 });
  const into = view.batch(32);
  const runs = vi.spyOn(Draw.prototype, "runs");
  const steps = () => Array.from({ length: 20 }, () => [...view.sample(32, { into }).steps.data]).flat();
  const widths = () => new Set(runs.mock.calls.map(([, , width]) => width));
  expect([new Set(steps()), widths()]).toEqual([new Set([4]), new Set([5])]);
  writer.createItem("t", { length: 5000 });
  expect([new Set(steps()), widths()]).toEqual([new Set([4, 4999]), new Set([5, 5000])]);
  runs.mockRestore();
});

test.runIf(whole)("sample throws OUT_OF_MEMORY if a batch does not fit, and draws nothing", () => {
  const { replay, writer, table } = afterLong({ sampler: fifo() });
  table.clear();
  writer.createItem("t", { length: 5000 });
  expectRefused(replay, () => table.sample(4096), "OUT_OF_MEMORY");
  expect(table.sample(2).steps.observation.shape).toEqual([2, 5000, 1024]);
});

test("an item with other columns affects only batches that also draw other items", () => {
  const { replay, table, writer } = filled(1);
  const into = table.batch(3, { length: 1 });
  writer.createItem("t", { length: 1, columns: { other: { leaf: "x", at: 0 } } });
  const stray = writer.lastKey("t");
  let [given, refused] = [0, 0];
  for (let i = 0; i < 60; i++) {
    const before = [...replay.snapshot()];
    try {
      const batch = table.sample(3, i % 2 === 0 ? {} : { into });
      given++;
      const keys = [...batch.info.keys];
      expect(keys.includes(stray)).toBe(keys.every((key) => key === stray));
    } catch (error) {
      refused++;
      expect(error).toBeInstanceOf(ReplayError);
      expect((error as ReplayError).code).toBe("SPEC_MISMATCH");
      expect([...replay.snapshot()]).toEqual(before);
      // The same draw would fail again, so another draw comes first.
      table.sample(1);
    }
  }
  expect([given > 20, refused > 0]).toEqual([true, true]);
  table.delete([stray]);
  for (let i = 0; i < 60; i++) expect(table.sample(3, { into })).toBe(into);
});

test("a view of transitions throws only for draws with an item of a single step", () => {
  const replay = new Replay({ spec: { observation: f32(), action: i32(), reward: f32() }, tables: { t: { maxSize: 9, sampler: fifo() } } });
  const writer = replay.writer();
  for (let i = 0; i < 4; i++) writer.append({ observation: i, action: i, reward: i });
  writer.createItem("t", { length: 1 });
  const stray = writer.lastKey("t");
  writer.createItem("t", { length: 3 });
  const view = replay.tables.t.transitions({ gamma: 1 });
  expectRefused(replay, () => view.sample(2), "SPEC_MISMATCH", /single step/);
  replay.tables.t.delete([stray]);
  expect([...view.sample(2).returns.data]).toEqual([3, 3]);
});

test("every batch contains a nest without leaves", () => {
  const replay = new Replay({ spec: { x: f32(), info: [], extra: {} }, tables: { t: { maxSize: 9 } } });
  replay.writer({ items: [{ table: "t", length: 1 }] }).append({ x: 1, info: [], extra: {} });
  for (const { steps } of [replay.tables.t.sample(1), replay.tables.t.batch(1, { length: 1 })]) {
    expect([Object.keys(steps), steps.info, steps.extra]).toEqual([["extra", "info", "x"], [], {}]);
  }
});
