import { expect, test } from "vitest";
import { f32, i32, queueLimiter, Replay, type Spec, shared, u8 } from "../../src/index.ts";
import { broken } from "../support/health.ts";
import { errorOf, expectError } from "../support/refused.ts";
import { whole } from "../support/size.ts";

/** The length of items. Items do not share steps, which takes more memory than plan() expects. */
const LENGTH = 8;
const tables = { t: { maxSize: 2000 } };

interface AnyWriter {
  append(step: unknown): void;
  appendColumns(columns: unknown): number;
  lastKey(table: "t"): number;
  createItem(table: "t", options: { length: number }): unknown;
}

function full(spec: Spec, step: (i: number) => unknown) {
  const { bytes } = Replay.plan({ spec, tables });
  const replay = new Replay({ spec, tables, maxBytes: bytes + 64 * 1024 });
  const writer = replay.writer({ keep: LENGTH }) as AnyWriter;
  let i = 0;
  const keys: number[] = [];
  let error: Error | undefined;
  while (error === undefined && i < 20_000) {
    try {
      writer.append(step(i));
      i++;
    } catch (thrown) {
      error = thrown as Error;
    }
    // Drawing at the memory limit only works if the memory for draws exists already.
    if (i === 50 * LENGTH) replay.table("t").sample(16, { length: 1 });
    if (error !== undefined || i % LENGTH !== 0) continue;
    writer.createItem("t", { length: LENGTH });
    keys.push(writer.lastKey("t"));
  }
  return { replay, writer, keys, steps: i, error: error as Error };
}

/** Returns all visible state that can be read without allocating memory. */
function state(replay: Replay<Spec, "t">) {
  const { bytes, ...rest } = replay.stats();
  return rest;
}

test.each<[string, Spec, (i: number) => unknown]>([
  ["narrow", f32(), (i) => i],
  ["a row a block", u8(33_000), (i) => new Uint8Array(33_000).fill(i)],
  ["wide", { a: i32(), b: f32(1000) }, (i) => ({ a: i, b: new Float32Array(1000).fill(i) })],
  ["shared", { s: shared("f", u8(300)), n: shared("f", u8(300)) }, (i) => ({ s: new Uint8Array(300).fill(i), n: new Uint8Array(300).fill(i + 1) })],
])("at the memory limit a step is rejected without a trace until items are deleted: %s", (_, spec, step) => {
  const { replay, writer, keys, steps, error } = full(spec, step);
  const table = replay.table("t");
  expect(steps).toBeGreaterThan(2000);
  expectError(error, "OUT_OF_MEMORY", /^out of memory: maxBytes \(.* MiB\) is reached/, /lower maxSize or maxSteps/);
  const before = state(replay);
  const { used, max } = replay.stats().bytes;
  expect(used).toBeLessThanOrEqual(max);
  for (let k = 0; k < 3; k++) {
    expectError(
      errorOf(() => writer.append(step(1))),
      "OUT_OF_MEMORY",
    );
    expectError(
      errorOf(() => writer.appendColumns(columnsOf(spec, step))),
      "OUT_OF_MEMORY",
      /maxBytes/,
    );
  }
  expect(state(replay)).toEqual(before);
  expect(broken(replay)).toEqual([]);
  // The oldest items are deleted, and their rows are reused.
  expect(table.delete(keys.slice(0, 100))).toBe(100);
  for (let i = 0; i < 50 * LENGTH; i++) {
    writer.append(step(i));
    if ((i + 1) % LENGTH === 0) writer.createItem("t", { length: LENGTH });
  }
  expect(table.size).toBe((before.tables.t?.size as number) - 50);
  expect(broken(replay)).toEqual([]);
});

/** Returns the same step 40 times, as columns. */
function columnsOf(spec: Spec, step: (i: number) => unknown): unknown {
  const many = (value: unknown) => Array.from({ length: 40 }, () => value);
  return "dtype" in spec ? many(step(1)) : Object.fromEntries(Object.entries(step(1) as object).map(([key, value]) => [key, many(value)]));
}

test("an item for which the map of episodes has no memory is rejected", () => {
  const options = { spec: i32(), tables: { t: { maxSize: 20_000 } } };
  const replay = new Replay({ ...options, maxBytes: Replay.plan(options).bytes });
  const writer = replay.writer();
  // Each item is a separate episode, which costs more memory than planned.
  let refused: Error | undefined;
  for (let i = 0; i < 20_000 && refused === undefined; i++) {
    const before = replay.stats().tables;
    try {
      writer.append(i);
      writer.createItem("t", { length: 1 });
    } catch (error) {
      refused = error as Error;
      expect(replay.stats().tables).toEqual(before);
    }
    writer.endEpisode();
  }
  expectError(refused as Error, "OUT_OF_MEMORY", /maxBytes/);
  expect(broken(replay)).toEqual([]);
  replay.table("t").clear();
  writer.append(1);
  writer.createItem("t", { length: 1 });
  expect(replay.table("t").size).toBe(1);
});

test("a batch for which there is no memory draws nothing", () => {
  const { replay } = full(f32(), (i) => i);
  const before = state(replay);
  expectError(
    errorOf(() => replay.table("t").sample(100_000)),
    "OUT_OF_MEMORY",
    /maxBytes/,
  );
  expectError(
    errorOf(() => replay.table("t").batch(10, { length: 1 }) && replay.table("t").sample(10, { into: replay.table("t").batch(10, { length: 500_000 }) })),
    "OUT_OF_MEMORY",
    /maxBytes/,
  );
  expect(state(replay)).toEqual(before);
  expect(replay.table("t").sample(16, { length: 1 }).count).toBe(16);
});

test("memory that one table releases serves another", () => {
  const options = { spec: u8(1000), tables: { a: { maxSize: 300 }, b: { maxSize: 300 } } };
  const replay = new Replay({ ...options, maxBytes: Replay.plan(options).bytes });
  const writer = replay.writer({ keep: 1 });
  const put = (name: "a" | "b", i: number) => {
    writer.append(new Uint8Array(1000).fill(i));
    writer.createItem(name, { length: 1 });
  };
  for (let round = 0; round < 6; round++) {
    const [name, other] = round % 2 ? (["a", "b"] as const) : (["b", "a"] as const);
    for (let i = 0; i < 300; i++) put(name, i);
    replay.table(name).clear();
    expect(replay.table(other).size).toBe(0);
  }
  expect(replay.stats().steps).toBe(1);
});

test.runIf(whole)("writers, samples, priorities and deletes work if the Replay uses more than 2 GiB", () => {
  const replay = new Replay({ spec: { a: i32(), b: f32(2) }, tables: { t: { maxSize: 60_000_000, maxSteps: 1000 } } });
  expect(replay.stats().bytes.used).toBeGreaterThan(2 ** 31);
  const table = replay.table("t");
  const writer = replay.writer({ items: [{ table: "t", length: 1 }] });
  const lanes = replay.writer({ lanes: 2 });
  writer.staged.a = 1;
  writer.staged.b.set([1, 1]);
  writer.append();
  writer.append({ a: 2, b: [2, 2] });
  writer.appendColumns({ a: [3, 4], b: [3, 3, 4, 4] }, { ends: [0, 1], priorities: { t: [3, 4] } });
  expect(table.explain(writer.lastKey("t"))).toMatchObject({ state: "live", length: 1, priority: 4 });
  lanes.append({ a: [5, 6], b: [5, 5, 6, 6] } as never);
  lanes.createItem("t", { length: 1, lane: 1 });
  const { steps, info } = table.sample(5, { replacement: false });
  expect([...steps.a.data].sort()).toEqual([1, 2, 3, 4, 6]);
  for (const [i, a] of steps.a.data.entries()) expect([...steps.b.data.subarray(2 * i, 2 * i + 2)]).toEqual([a, a]);
  expect(table.updatePriorities(info.keys, new Float64Array(5).fill(7))).toBe(5);
  expect(table.explain(info.keys[0] as number).priority).toBe(7);
  expect(table.delete(info.keys)).toBe(5);
});

test("replay.writer rejects windows that exceed memory, even if their bytes overflow 32 bits", () => {
  const replay = new Replay({ spec: i32(), tables: { t: { maxSize: 4 } } });
  const { used } = replay.stats().bytes;
  // 65,536 windows of these lengths take slightly more than 2^32 bytes.
  for (const keep of [16_374, 0xffffff]) {
    expectError(
      errorOf(() => replay.writer({ lanes: 65_536, keep })),
      "OUT_OF_MEMORY",
      /^out of memory: maxBytes/,
    );
    expect(replay.stats()).toMatchObject({ writers: 0, bytes: { used } });
  }
  expect(broken(replay)).toEqual([]);
});

test("at the memory limit no item is lost, in single steps and in blocks", () => {
  for (const rows of [1, 5]) {
    const options = { spec: { x: i32() }, tables: { t: { maxSize: 3000 } } };
    const replay = new Replay({ ...options, maxBytes: Replay.plan(options).bytes });
    const table = replay.table("t");
    const writer = replay.writer({ items: [{ table: "t", length: 1 }] });
    for (let episode = 0; episode < 255; episode++) {
      writer.append({ x: episode });
      writer.endEpisode();
    }
    // A larger map of episodes does not fit into memory.
    const error = errorOf(() => {
      for (;;) replay.writer({ keep: 1000 });
    });
    expectError(error, "OUT_OF_MEMORY", /maxBytes/);
    let made = 255;
    try {
      for (let k = 0; k < 20; k++) {
        if (rows === 1) writer.append({ x: k });
        else writer.appendColumns({ x: Int32Array.from({ length: rows }, () => k) });
        made += rows;
      }
    } catch (refused) {
      expectError(refused as Error, "OUT_OF_MEMORY", /maxBytes/);
    }
    expect(table.size).toBe(made);
    expect(broken(replay)).toEqual([]);
  }
});

test("at the memory limit no waiting item is lost", () => {
  const options = { spec: { x: i32() }, tables: { t: { maxSize: 10, rateLimiter: queueLimiter(1), maxPending: 60_000 } } };
  const replay = new Replay({ ...options, maxBytes: Replay.plan(options).bytes });
  const writer = replay.writer({ items: [{ table: "t", length: 1 }] });
  let made = 0;
  const error = errorOf(() => {
    for (; made < 60_000; made += 700) writer.appendColumns({ x: new Int32Array(700) });
  });
  expectError(error, "OUT_OF_MEMORY", /maxBytes/);
  const { inserts, pending } = replay.table("t").stats();
  expect(inserts + pending).toBe(made);
  expect(broken(replay)).toEqual([]);
});
