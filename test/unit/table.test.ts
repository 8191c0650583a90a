import { expect, test } from "vitest";
import { f32, fifo, i32, lifo, maxHeap, minHeap, prioritized, queueLimiter, Replay, type Selector, uniform } from "../../src/index.ts";
import { expectRefused } from "../support/refused.ts";

function make(options: object = {}, n = 5) {
  const replay = new Replay({ spec: i32(), tables: { t: { maxSize: 5, ...options } }, seed: 2 });
  const writer = replay.writer();
  const keys: number[] = [];
  const insert = (x: number, priority = 1) => {
    writer.append(x);
    const waits = writer.createItem("t", { length: 1, priority });
    keys.push(writer.lastKey("t"));
    return waits;
  };
  for (let i = 0; i < n; i++) insert(i, i + 1);
  return { replay, writer, table: replay.table("t"), keys, insert };
}

/** Returns the contents of the table, drawn without replacement. */
function held(replay: { table(name: "t"): { sample(n: number, options: object): { steps: { data: Int32Array } } } }): number[] {
  return [...replay.table("t").sample(99, { replacement: false }).steps.data].sort((a, b) => a - b);
}

test("updatePriorities counts existing keys, and uses the last priority of a repeated key", () => {
  const { table, keys } = make({ sampler: prioritized() });
  table.delete([keys[0] as number]);
  expect(table.updatePriorities([keys[0], keys[1], keys[1], keys[2], 12345] as number[], [9, 8, 7, 0, 9])).toBe(3);
  expect(keys.map((key) => table.explain(key).priority)).toEqual([undefined, 7, 0, 4, 5]);
  expect(table.explain(keys[1] as number).probability).toBeCloseTo(7 / 16, 12);
  expect(table.explain(keys[2] as number).probability).toBe(0);
  expect(table.updatePriorities(new Float64Array(0), new Float64Array(0))).toBe(0);
  expect(table.updatePriorities(new Float64Array([keys[3] as number]), new Float32Array([0.5]))).toBe(1);
  expect(table.explain(keys[3] as number).priority).toBe(0.5);
});

test("a table ignores keys of other tables", () => {
  const names = ["a", "b", "c", "d", "e"];
  const tables = Object.fromEntries(names.map((name, i) => [name, { maxSize: 2 + 3 * i, sampler: prioritized() }]));
  const replay = new Replay({ spec: { x: i32() }, tables });
  const writer = replay.writer({ items: names.map((table) => ({ table, length: 1 })) });
  const keys = new Map<string, number[]>(names.map((name) => [name, []]));
  for (let x = 0; x < 40; x++) {
    writer.append({ x });
    for (const name of names) keys.get(name)?.push(writer.lastKey(name));
  }
  const all = [...keys.values()].flat();
  expect(new Set(all).size).toBe(all.length);
  for (const name of names) {
    const table = replay.table(name);
    const { size } = table;
    const strangers = names.filter((other) => other !== name).flatMap((other) => keys.get(other) as number[]);
    expect(table.updatePriorities(strangers, new Array(strangers.length).fill(7))).toBe(0);
    expect(table.delete(strangers)).toBe(0);
    expect([table.size, table.explain(strangers[0] as number).state]).toEqual([size, "gone"]);
    expect(table.updatePriorities(keys.get(name) as number[], new Array(40).fill(3))).toBe(size);
  }
});

test("numbers that were never keys are skipped", () => {
  const { table, replay } = make();
  const never = [0, 2 ** 53 - 1, 1, 7];
  expect(
    table.updatePriorities(
      never,
      never.map(() => 1),
    ),
  ).toBe(0);
  expect(table.delete(never)).toBe(0);
  for (const key of never) expect(table.explain(key)).toEqual({ key, state: "gone" });
  expect(held(replay)).toEqual([0, 1, 2, 3, 4]);
});

test("invalid keys, priorities and batch options are rejected", () => {
  for (const sampler of [uniform(), prioritized(2), maxHeap()]) {
    const { replay, table, keys } = make({ sampler });
    const bad: [unknown, unknown, typeof TypeError | typeof RangeError, ...RegExp[]][] = [
      [keys, [1, 2], RangeError, /^priorities must be an array of 5 numbers/, /an array of 2/],
      [keys, [1, 2, -3, 4, 5], RangeError, /^priorities\[2\] must be a finite number >= 0/, /got -3/],
      [keys, [1, 2, 3, 4, Number.NaN], RangeError, /^priorities\[4\] must/, /NaN/],
      [keys, [Number.POSITIVE_INFINITY, 2, 3, 4, 5], RangeError, /^priorities\[0\] must/, /Infinity/],
      [keys, [1, "2", 3, 4, 5], TypeError, /^priorities\[1\] must be a number/, /"2"/],
      [["a"], [1], TypeError, /^keys\[0\] must be a number/, /"a"/],
      [undefined, [1], TypeError, /^keys is required: an array of numbers/],
      [[1], "1", TypeError, /^priorities must be an array of numbers/, /"1"/],
      [new BigInt64Array(1), [1], TypeError, /^keys must be an array of numbers/, /BigInt64Array\(1\)/],
    ];
    for (const [k, p, kind, ...says] of bad) expectRefused(replay, () => table.updatePriorities(k as number[], p as number[]), kind, ...says);
    expectRefused(replay, () => table.delete(["x"] as never), TypeError, /^keys\[0\] must/, /"x"/);
    expectRefused(replay, () => table.delete(3 as never), TypeError, /^keys must/, /got 3/);
    expectRefused(replay, () => table.explain("3" as never), TypeError, /^key must be a number/, /"3"/);
    expectRefused(replay, () => table.batch(0, { length: 1 }), RangeError, /^n must/, /got 0/);
    expectRefused(replay, () => table.batch(1, {} as never), TypeError, /^length is required/);
    expectRefused(replay, () => table.batch(1, { length: 1, size: 1 } as never), TypeError, /"size"/);
  }
  const { replay, table, keys } = make({ sampler: prioritized(2) });
  expectRefused(replay, () => table.updatePriorities(keys.slice(0, 1), [1e200]), RangeError, /2\^990/, /1e\+200/);
});

test("delete counts each existing key once", () => {
  const { replay, table, keys } = make();
  expect(table.delete([keys[1], keys[3], keys[1]] as number[])).toBe(2);
  expect(held(replay)).toEqual([0, 2, 4]);
  expect(table.stats()).toMatchObject({ size: 3, steps: 3, inserts: 5, deletes: 2 });
  expect(table.delete(new Float64Array(keys))).toBe(3);
  expect(table.size).toBe(0);
});

test("explain reports whether an item is live, waiting or gone", () => {
  const { table, keys, insert } = make({ rateLimiter: queueLimiter(5), maxTimesSampled: 2, sampler: fifo(), maxSize: 5 });
  const [first, second] = keys as [number, number];
  expect(table.explain(first)).toEqual({ key: first, state: "live", length: 1, timesSampled: 0, priority: 1, probability: 1 });
  expect(table.explain(second)).toMatchObject({ state: "live", probability: 0 });
  insert(5, 9);
  const last = keys.at(-1) as number;
  expect(table.explain(last)).toEqual({ key: last, state: "waiting", length: 1, timesSampled: 0, priority: 9, probability: 0 });
  expect(table.updatePriorities([last], [3])).toBe(1);
  table.sample(1);
  // One sample admits one insert, and a full fifo table evicts its oldest item.
  expect(table.explain(first)).toEqual({ key: first, state: "gone" });
  expect(table.explain(last)).toMatchObject({ state: "live", priority: 3 });
  table.sample(1);
  expect(table.explain(second)).toMatchObject({ state: "live", timesSampled: 1 });
  table.sample(1);
  expect(table.explain(second)).toEqual({ key: second, state: "gone" });
});

test("with maxTimesSampled, the last draw of an item returns and removes it", () => {
  for (const sampler of [fifo(), lifo(), uniform(), prioritized(), minHeap(), maxHeap()]) {
    const { table } = make({ sampler, maxTimesSampled: 3 });
    const seen = new Map<number, number>();
    for (let k = 0; k < 5; k++) {
      const batch = table.sample(4);
      for (const x of batch.steps.data.subarray(0, batch.count)) seen.set(x, (seen.get(x) ?? 0) + 1);
    }
    expect([...seen.entries()].sort()).toEqual([0, 1, 2, 3, 4].map((x) => [x, 3]));
    expect(table.sample(1).blocked?.by).toBe("minSize");
    expect(table.stats()).toMatchObject({ size: 0, samples: 15, uniqueSamples: 5, deletes: 5 });
  }
});

const LEFT: [string, Selector, number[]][] = [
  ["fifo", fifo(), [3, 4, 5, 6, 7]],
  ["lifo", lifo(), [0, 1, 2, 3, 4]],
  ["minHeap", minHeap(), [3, 4, 5, 6, 7]],
  ["maxHeap", maxHeap(), [0, 1, 2, 3, 4]],
];

test.each(LEFT)("remover %s evicts items in its order", (_, remover, left) => {
  for (const sampler of [uniform(), prioritized(), fifo(), maxHeap()]) {
    const { replay, insert } = make({ remover, sampler });
    for (let i = 5; i < 8; i++) insert(i, i + 1);
    expect(held(replay)).toEqual(left);
  }
});

test.each([
  ["fifo", fifo(), 0],
  ["lifo", lifo(), 4],
  ["minHeap", minHeap(), 0],
  ["maxHeap", maxHeap(), 4],
] as const)("sampler %s draws one item with probability 1", (_, sampler, expected) => {
  const { table, keys } = make({ sampler });
  expect([...table.sample(3).steps.data]).toEqual([expected, expected, expected]);
  expect([...table.sample(3).info.probabilities]).toEqual([1, 1, 1]);
  table.updatePriorities([keys[2] as number], [sampler.kind === "minHeap" ? 0 : 99]);
  expect(table.sample(1).steps.data[0]).toBe(sampler.kind.endsWith("Heap") ? 2 : expected);
});

test("uniform and prioritized samplers draw with the probabilities that explain reports", () => {
  for (const sampler of [uniform(), prioritized(0.5), prioritized(-1)]) {
    const { table, keys } = make({ sampler });
    const n = 40_000;
    const batch = table.sample(n);
    const counts = [0, 0, 0, 0, 0];
    for (const x of batch.steps.data) counts[x] = (counts[x] as number) + 1;
    let chi2 = 0;
    for (const [x, count] of counts.entries()) {
      const expected = n * (table.explain(keys[x] as number).probability as number);
      chi2 += (count - expected) ** 2 / expected;
    }
    // The limit is for 4 degrees of freedom; the seed is fixed.
    expect(chi2).toBeLessThan(18.5);
  }
});

test("an item with priority 0 is drawn only if all priorities are 0", () => {
  const { table, keys } = make({ sampler: prioritized() });
  table.updatePriorities(keys, [0, 1, 0, 1, 0]);
  expect(new Set(table.sample(200).steps.data)).toEqual(new Set([1, 3]));
  table.updatePriorities(keys, [0, 0, 0, 0, 0]);
  expect(new Set(table.sample(200).steps.data)).toEqual(new Set([0, 1, 2, 3, 4]));
});

test("maxSteps evicts items until the steps fit, and drops an item that is too long", () => {
  const replay = new Replay({ spec: f32(), tables: { t: { maxSize: 100, maxSteps: 10 } } });
  const writer = replay.writer();
  for (let i = 0; i < 20; i++) writer.append(i);
  for (const length of [4, 4, 4]) writer.createItem("t", { length });
  expect(replay.table("t").stats()).toMatchObject({ size: 2, steps: 8, inserts: 3 });
  writer.createItem("t", { length: 10 });
  expect(replay.table("t").stats()).toMatchObject({ size: 1, steps: 10 });
  writer.createItem("t", { length: 11 });
  expect(replay.table("t").stats()).toMatchObject({ size: 0, steps: 0, inserts: 5, deletes: 5 });
});

test("clear removes items and counters, and does not reuse keys", () => {
  const { table, keys, insert } = make({ sampler: prioritized() });
  table.sample(7);
  table.clear();
  expect(table.stats()).toMatchObject({ size: 0, steps: 0, inserts: 0, samples: 0, deletes: 0, uniqueSamples: 0, episodes: 0 });
  expect(keys.map((key) => table.explain(key).state)).toEqual(new Array(5).fill("gone"));
  insert(7);
  expect(keys.slice(0, -1)).not.toContain(keys.at(-1));
  expect(table.sample(2).steps.data).toEqual(new Int32Array([7, 7]));
});

test("a table of one item works with every sampler and remover", () => {
  for (const sampler of [fifo(), lifo(), uniform(), prioritized(), minHeap(), maxHeap()]) {
    for (const remover of [fifo(), lifo(), uniform(), prioritized(), minHeap(), maxHeap()]) {
      const { table, insert } = make({ maxSize: 1, sampler, remover }, 1);
      for (let i = 1; i < 20; i++) {
        insert(i, i % 3);
        expect(table.size).toBe(1);
        const batch = table.sample(5);
        expect(batch.count).toBe(5);
        expect(new Set(batch.steps.data).size).toBe(1);
        if (remover.kind === "fifo") expect(batch.steps.data[0]).toBe(i);
        if (remover.kind === "lifo") expect(batch.steps.data[0]).toBe(0);
      }
    }
  }
});

test("stats counts stored and deleted episodes", () => {
  const replay = new Replay({ spec: i32(), tables: { t: { maxSize: 3 } } });
  const writer = replay.writer({ items: [{ table: "t", length: 1 }] });
  for (let i = 0; i < 6; i++) {
    writer.append(i);
    if (i % 2) writer.endEpisode();
  }
  expect(replay.table("t").stats()).toMatchObject({ name: "t", maxSize: 3, size: 3, episodes: 2, deletedEpisodes: 1 });
});
