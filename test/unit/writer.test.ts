import { expect, test } from "vitest";
import { f32, i32, minSize, queueLimiter, Replay, type ReplayErrorCode, u8 } from "../../src/index.ts";
import { TestRandom } from "../support/random.ts";
import { expectRefused } from "../support/refused.ts";

const spec = { x: i32(), o: f32(2) };
const tables = { t: { maxSize: 100 }, u: { maxSize: 5 } };
const step = (x: number) => ({ x, o: [x, -x] });
type Kind = typeof TypeError | typeof RangeError | ReplayErrorCode;

/** Returns x of every item's steps, in the order of the items. */
function items(replay: Replay<typeof spec, "t" | "u">, name: "t" | "u" = "t"): string[] {
  const batch = replay.table(name).sample(1000, { replacement: false, cross: true });
  const width = batch.count === 0 ? 0 : batch.steps.x.data.length / batch.count;
  const rows = Array.from({ length: batch.count }, (_, i) => batch.steps.x.data.slice(i * width, i * width + (batch.lengths[i] as number)));
  return rows.map(String).sort((a, b) => Number.parseInt(a, 10) - Number.parseInt(b, 10));
}

test("writer rejects invalid options", () => {
  const replay = new Replay({ spec, tables });
  const rule = { table: "t", length: 2 };
  const bad: [unknown, Kind, ...RegExp[]][] = [
    [{ kep: 3 }, TypeError, /^writer has no option "kep"/],
    [null, TypeError, /^the options of writer must be an object/, /null/],
    [{ keep: 0 }, RangeError, /^keep must/, /got 0/],
    [{ keep: 1.5 }, TypeError, /^keep must/, /1\.5/],
    [{ keep: 2 ** 24 }, RangeError, /^keep must/, /16777216/],
    [{ keep: 4, items: [{ ...rule, length: 5 }] }, RangeError, /^keep must be an integer in 5/, /got 4/],
    [{ lanes: 0 }, RangeError, /^lanes must/, /got 0/],
    [{ lanes: true }, TypeError, /^lanes must/, /true/],
    [{ lanes: 65537 }, RangeError, /^lanes must/, /65537/],
    [{ across: 1 }, TypeError, /^across must be a boolean/, /got 1/],
    [{ across: null }, TypeError, /^across must be/, /got null/],
    [{ items: {} }, TypeError, /^items must be an array/],
    [{ items: [null] }, TypeError, /^items\[0\] must be an object/, /null/],
    [{ items: [rule, { ...rule, table: "x" }] }, "NOT_FOUND", /^items\[1\]\.table must be one of "t", "u"/, /"x"/],
    [{ items: [rule, { ...rule, length: 0 }] }, RangeError, /^items\[1\]\.length must/, /got 0/],
    [{ items: [{ ...rule, length: "2" }] }, TypeError, /^items\[0\]\.length must/, /"2"/],
    [{ items: [{ ...rule, length: 2 ** 24 }] }, RangeError, /^items\[0\]\.length must/],
    [{ items: [{ ...rule, stride: 0 }] }, RangeError, /^items\[0\]\.stride must/, /got 0/],
    [{ items: [{ ...rule, stride: 0.5 }] }, TypeError, /^items\[0\]\.stride must/, /0\.5/],
    [{ items: [{ ...rule, priority: -1 }] }, RangeError, /^items\[0\]\.priority must/, /got -1/],
    [{ items: [{ ...rule, priority: Number.NaN }] }, RangeError, /^items\[0\]\.priority must/, /NaN/],
    [{ items: [{ ...rule, priority: Number.POSITIVE_INFINITY }] }, RangeError, /^items\[0\]\.priority must/, /Infinity/],
    [{ items: [{ ...rule, priority: "1" }] }, TypeError, /^items\[0\]\.priority must/, /"1"/],
    [{ items: [{ ...rule, prio: 1 }] }, TypeError, /^items\[0\] has no option "prio"/],
    [{ items: [{ ...rule, columns: { a: { leaf: "y" } } }] }, "NOT_FOUND", /^columns\.a\.leaf must be one of/, /"y"/],
  ];
  for (const [options, kind, ...says] of bad) expectRefused(replay, () => replay.writer(options as never), kind, ...says);
  expect(replay.writers.length).toBe(0);
});

test("createItem, lastKey and endEpisode reject invalid arguments", () => {
  const replay = new Replay({ spec, tables });
  const other = new Replay({ spec, tables });
  const writer = replay.writer({ keep: 4 });
  for (let i = 0; i < 3; i++) writer.append(step(i));
  writer.createItem("t", { length: 1 });
  const bad: [unknown, unknown, Kind, ...RegExp[]][] = [
    ["x", { length: 1 }, "NOT_FOUND", /^table must be one of "t", "u"/, /"x"/],
    [undefined, { length: 1 }, "NOT_FOUND", /^table is required/],
    [{ name: "t" }, { length: 1 }, "NOT_FOUND", /^table must be/],
    [other.table("t"), { length: 1 }, "NOT_FOUND", /^table must be/],
    ["t", {}, TypeError, /^length is required/],
    ["t", undefined, TypeError, /^the second argument of createItem is required: an object with keys length/],
    ["t", { length: 0 }, RangeError, /^length must/, /got 0/],
    ["t", { length: -1 }, RangeError, /^length must/, /got -1/],
    ["t", { length: 1.5 }, TypeError, /^length must/, /1\.5/],
    ["t", { length: "1" }, TypeError, /^length must/, /"1"/],
    ["t", { length: true }, TypeError, /^length must/, /true/],
    ["t", { length: 4 }, RangeError, /^length must be an integer in 1 … 3/, /, got 4\. Increase keep for longer items/],
    ["t", { length: 1e12 }, RangeError, /^length must/],
    ["t", { length: 1, priority: -1 }, RangeError, /^priority must/, /got -1/],
    ["t", { length: 1, priority: Number.NaN }, RangeError, /^priority must/, /NaN/],
    ["t", { length: 1, priority: Number.POSITIVE_INFINITY }, RangeError, /^priority must/, /Infinity/],
    ["t", { length: 1, priority: "1" }, TypeError, /^priority must/, /"1"/],
    ["t", { length: 1, lane: 1 }, RangeError, /^lane must/, /got 1/],
    ["t", { length: 1, lane: -1 }, RangeError, /^lane must/, /got -1/],
    ["t", { length: 1, weight: 1 }, TypeError, /^item has no option "weight"/],
    ["t", { length: 1, columns: {} }, RangeError, /^columns must/],
    ["t", { length: 1, columns: { a: { leaf: "z" } } }, "NOT_FOUND", /^columns\.a\.leaf/, /"z"/],
  ];
  for (const [table, options, kind, ...says] of bad) expectRefused(replay, () => writer.createItem(table as "t", options as never), kind, ...says);
  for (let i = 3; i < 9; i++) writer.append(step(i));
  expectRefused(replay, () => writer.createItem("t", { length: 5 }), RangeError, /^length must/, /, got 5\. Increase keep for longer items/);
  for (const table of ["x", undefined, other.table("t")])
    expectRefused(replay, () => writer.lastKey(table as "t"), "NOT_FOUND", /^table (must be|is required:) one of/);
  for (const lane of [1, -1, 0.5, "0"]) {
    expectRefused(replay, () => writer.endEpisode({ lane: lane as number }), typeof lane === "number" && lane % 1 === 0 ? RangeError : TypeError, /^lane must/);
  }
  expect(other.stats().tables.t?.size).toBe(0);
});

test("appendColumns checks ends and priorities before it stores a step", () => {
  const replay = new Replay({ spec, tables });
  const writer = replay.writer({ items: [{ table: "t", length: 1, priority: 2 }] });
  writer.append(step(0));
  const columns = {
    x: [1, 2, 3],
    o: [
      [1, 1],
      [2, 2],
      [3, 3],
    ],
  };
  const bad: [unknown, Kind, ...RegExp[]][] = [
    [{ end: [1] }, TypeError, /^appendColumns has no option "end"/],
    [{ ends: [0, 1] }, RangeError, /^ends must be an array of 3 numbers/, /an array of 2/],
    [{ priorities: { t: [1, 2] } }, RangeError, /^priorities must be an array of 3 numbers/, /an array of 2/],
    [{ priorities: { u: [1, 2, 3] } }, "NOT_FOUND", /^table must be one of "t"/, /"u"/],
    [{ priorities: { t: [1, -1, 3] } }, RangeError, /^priorities\[1\] must be a finite number >= 0/, /got -1/],
    [{ priorities: { t: [1, 2, Number.NaN] } }, RangeError, /^priorities\[2\] must/, /NaN/],
    [{ priorities: { t: [Number.POSITIVE_INFINITY, 2, 3] } }, RangeError, /^priorities\[0\] must/, /Infinity/],
  ];
  for (const [options, kind, ...says] of bad) expectRefused(replay, () => writer.appendColumns(columns, options as never), kind, ...says);
  // A rejected call stores nothing.
  writer.append(step(9));
  expect(replay.table("t").explain(writer.lastKey("t")).priority).toBe(2);
});

test("rules create items with their length, stride and priority, restarting in each episode", () => {
  const replay = new Replay({ spec, tables });
  const writer = replay.writer({ items: [{ table: "t", length: 3, stride: 2, priority: 5 }] });
  for (let e = 0; e < 3; e++) {
    for (let s = 0; s < 6; s++) writer.append(step(100 * e + s));
    writer.endEpisode();
  }
  const expected = [0, 1, 2].flatMap((e) => [0, 2].map((s) => [0, 1, 2].map((k) => 100 * e + s + k).join()));
  expect(items(replay)).toEqual(expected);
  expect(new Set(replay.table("t").sample(9).info.priorities)).toEqual(new Set([5]));
});

test("lanes are separate streams", () => {
  const replay = new Replay({ spec, tables });
  const writer = replay.writer({ lanes: 3, items: [{ table: "t", length: 2 }] });
  const lanes = (s: number) => ({ x: [s, 100 + s, 200 + s], o: new Float32Array(6).fill(s) }) as never;
  writer.append(lanes(0));
  writer.append(lanes(1));
  writer.endEpisode({ lane: 1 });
  writer.append(lanes(2));
  expect(items(replay)).toEqual(["0,1", "1,2", "100,101", "200,201", "201,202"]);
  writer.createItem("u", { length: 3, lane: 2 });
  expect(items(replay, "u")).toEqual(["200,201,202"]);
  expectRefused(replay, () => writer.createItem("u", { length: 2, lane: 1 }), RangeError, /^length must be an integer in 1 … 1/);
  expectRefused(replay, () => writer.createItem("u", { length: 1, lane: 3 }), RangeError, /^lane must be an integer in 0 … 2/, /got 3/);
  writer.endEpisode();
  expect(writer.length).toBe(0);
});

test("appendColumns with lanes and ends equals single appends", () => {
  const blocks = new Replay({ spec, tables });
  const singles = new Replay({ spec, tables });
  const options = { lanes: 2, items: [{ table: "t", length: 2 } as const] };
  const block = blocks.writer(options);
  const single = singles.writer(options);
  const random = new TestRandom(5);
  for (let k = 0; k < 30; k++) {
    const time = 1 + random.below(9);
    const x = Array.from({ length: 2 * time }, () => random.below(1000));
    const o = x.flatMap((v) => [v, -v]);
    const ends = x.map(() => (random.next() < 0.2 ? 1 : 0));
    expect(block.appendColumns({ x: new Int32Array(x), o: new Float32Array(o) }, { ends })).toBe(2 * time);
    for (let s = 0; s < time; s++) {
      single.append({ x: x.slice(2 * s, 2 * s + 2), o: o.slice(4 * s, 4 * s + 4) } as never);
      for (let lane = 0; lane < 2; lane++) if (ends[2 * s + lane]) single.endEpisode({ lane });
    }
    expect(blocks.stats().tables).toEqual(singles.stats().tables);
    expect(blocks.table("t").sample(32)).toEqual(singles.table("t").sample(32));
  }
  expect(blocks.table("t").size).toBe(100);
});

test("appendColumns with priorities and ends equals single appends", () => {
  const make = () => new Replay({ spec, tables: { t: { maxSize: 40, sampler: { kind: "prioritized", exponent: 0.5 } as const }, u: { maxSize: 7 } } });
  const blocks = make();
  const singles = make();
  const rules = { items: [{ table: "t", length: 3 } as const, { table: "u", length: 2, stride: 3 } as const] };
  const block = blocks.writer(rules);
  const single = singles.writer({ keep: block.options.keep });
  const random = new TestRandom(6);
  let inEpisode = 0;
  for (let k = 0; k < 60; k++) {
    const time = 1 + random.below(30);
    const x = Array.from({ length: time }, () => random.below(1000));
    const ends = x.map(() => (random.next() < 0.1 ? 1 : 0));
    const priorities = x.map(() => random.next());
    block.appendColumns({ x: new Int32Array(x), o: new Float32Array(x.flatMap((v) => [v, v])) }, { ends, priorities: { t: priorities } });
    for (let s = 0; s < time; s++) {
      single.append({ x: x[s] as number, o: [x[s], x[s]] as number[] });
      inEpisode++;
      if (inEpisode >= 3) single.createItem("t", { length: 3, priority: priorities[s] as number });
      if (inEpisode >= 2 && (inEpisode - 2) % 3 === 0) single.createItem("u", { length: 2 });
      if (ends[s]) {
        single.endEpisode();
        inEpisode = 0;
      }
    }
    expect(blocks.stats().tables).toEqual(singles.stats().tables);
    for (const name of ["t", "u"] as const) expect(blocks.table(name).sample(64)).toEqual(singles.table(name).sample(64));
  }
});

test("items span episodes only if across is true", () => {
  for (const across of [false, true]) {
    const replay = new Replay({ spec, tables });
    const writer = replay.writer({ across });
    writer.append(step(1));
    writer.append(step(2));
    expect(writer.episodeSteps).toBe(2);
    writer.endEpisode();
    writer.append(step(3));
    expect(writer.episodeSteps).toBe(1);
    expect(writer.length).toBe(across ? 3 : 1);
    if (across) {
      writer.createItem("t", { length: 3 });
      expect(items(replay)).toEqual(["1,2,3"]);
      expect(replay.table("t").stats().episodes).toBe(2);
    } else {
      expectRefused(replay, () => writer.createItem("t", { length: 2 }), RangeError, /^length must be an integer in 1 … 1/);
    }
  }
});

test("lastKey returns the newest key, and keys are never reused", () => {
  const replay = new Replay({ spec, tables });
  const writer = replay.writer();
  expect(writer.lastKey("t")).toBe(0);
  const seen = new Set<number>();
  for (let i = 0; i < 3000; i++) {
    writer.append(step(i));
    writer.createItem(i % 2 ? "u" : replay.table("u"), { length: 1 });
    const key = writer.lastKey("u");
    expect(seen.has(key)).toBe(false);
    seen.add(key);
    expect(replay.table("u").explain(key).state).toBe("live");
    if (i % 7 === 0) replay.table("u").delete([key]);
    if (i % 500 === 0) replay.table("u").clear();
  }
  for (const key of seen) expect(Number.isSafeInteger(key)).toBe(true);
  expect([...seen].filter((key) => replay.table("u").explain(key).state !== "gone").length).toBe(replay.table("u").size);
});

test("a writer keeps its `keep` steps, by default enough for its items", () => {
  const replay = new Replay({ spec, tables });
  expect(replay.writer().options.keep).toBe(32);
  expect(replay.writer({ items: [{ table: "t", length: 90 }] }).options.keep).toBe(90);
  const writer = replay.writer({ keep: 3 });
  for (let i = 0; i < 10; i++) writer.append(step(i));
  expect([writer.length, writer.episodeSteps, replay.stats().steps]).toEqual([3, 10, 3]);
  writer.createItem("t", { length: 3 });
  expect(items(replay)).toEqual(["7,8,9"]);
});

test("two rules with different tables and lengths share their steps", () => {
  const replay = new Replay({ spec: u8(600), tables: { a: { maxSize: 50 }, b: { maxSize: 50, rateLimiter: minSize(2) } } });
  const writer = replay.writer({
    items: [
      { table: "a", length: 1 },
      { table: "b", length: 5 },
    ],
  });
  for (let i = 0; i < 50; i++) writer.append(new Uint8Array(600).fill(i));
  expect(replay.stats().steps).toBe(50);
  expect(replay.stats().tables).toMatchObject({ a: { size: 50, steps: 50 }, b: { size: 46, steps: 230 } });
  replay.table("a").clear();
  expect(replay.stats().steps).toBe(50);
  replay.table("b").clear();
  expect(replay.stats().steps).toBe(32);
});

test("appends and createItem throw RATE_LIMITED if maxPending items wait", () => {
  const replay = new Replay({ spec, tables: { t: { maxSize: 9, rateLimiter: queueLimiter(2), maxPending: 3 } } });
  const writer = replay.writer({ items: [{ table: "t", length: 1 }] });
  const lanes = replay.writer({ lanes: 2, items: [{ table: "t", length: 1 }] });
  for (let i = 0; i < 4; i++) writer.append(step(i));
  expect(replay.table("t").stats()).toMatchObject({ size: 2, pending: 2 });
  expectRefused(
    replay,
    () =>
      writer.appendColumns({
        x: [1, 2],
        o: [
          [1, 1],
          [2, 2],
        ],
      }),
    "RATE_LIMITED",
    /maxPending/,
    /flush/,
  );
  expectRefused(replay, () => lanes.append({ x: [1, 2], o: [1, 1, 2, 2] } as never), "RATE_LIMITED", /maxPending/);
  writer.append(step(4));
  expectRefused(replay, () => writer.append(step(5)), "RATE_LIMITED", /maxPending/);
  expectRefused(replay, () => writer.createItem("t", { length: 1 }), "RATE_LIMITED", /maxPending/);
  replay.table("t").sample(1);
  writer.append(step(5));
  expect(replay.table("t").stats()).toMatchObject({ pending: 3, inserts: 3 });
});

test("endEpisode with a misspelt lane throws, and ends no episode", () => {
  const replay = new Replay({ spec: { x: f32() }, tables: { t: { maxSize: 4 } } });
  const writer = replay.writer({ lanes: 2 });
  writer.append({ x: [1, 2] });
  expect(() => writer.endEpisode({ lan: 1 } as never)).toThrow(/^endEpisode has no option "lan"\. Did you mean "lane"\? Options: final, terminated, lane/);
  expect(writer.episodeSteps).toBe(1);
});
