/** Tests rules that read an item's priority from a leaf of its first step. */
import { expect, test } from "vitest";
import { f16, f32, f64, i32, minHeap, prioritized, Replay, shared, text, u8 } from "../../src/index.ts";
import { memory } from "../../src/storage/index.ts";
import { broken } from "../support/health.ts";
import { TestRandom } from "../support/random.ts";
import { errorOf, expectError } from "../support/refused.ts";
import { scaled } from "../support/size.ts";
import { pair } from "./remote/support.ts";

const SPEC = { observation: f32(), action: i32(), reward: f32(), value: f64() };
type Any = Replay<typeof SPEC>;

/** Returns each live item's priority and the leaf's value in the item's first step. */
function prioritiesOf(replay: Any, name: string): [number, number][] {
  const table = replay.table(name);
  if (table.size === 0) return [];
  const batch = table.sample(table.size, { replacement: false, columns: { value: { leaf: "value" } } });
  return batch.toArray().map((item, i) => [batch.info.priorities[i] as number, (item as { value: number[] }).value[0] as number]);
}

async function world(seed: number): Promise<void> {
  const random = new TestRandom(seed);
  const lanes = 1 + random.below(3);
  const across = random.below(3) === 0;
  const leaf = { leaf: "value" } as const;
  const rules = [
    { table: "windows", length: 1 + random.below(4), stride: 1 + random.below(2), priority: leaf },
    { table: "transitions", nStep: 1 + random.below(3), priority: leaf },
  ];
  const tables = {
    windows: { maxSize: 12, remover: minHeap() },
    transitions: { maxSize: 30, sampler: prioritized(0.6) },
  };
  const options = { spec: SPEC, tables, seed, logger: null };
  let replay: Any = seed % 3 === 0 ? await Replay.open({ ...options, dir: memory(), durability: "manual" }) : new Replay(options);
  const writer = replay.writer({ name: "w", lanes, across, items: rules, autoreset: "sameStep" });
  let open = writer;
  for (let k = 0; k < 60; k++) {
    const rows = 1 + random.below(random.below(4) === 0 ? 9 : 1);
    const column = Array.from({ length: rows * lanes }, () => random.below(1000) / 8);
    const numbers = column.map(() => 0);
    if (rows === 1 && lanes > 1) open.append({ observation: numbers, action: numbers, reward: numbers, value: column } as never);
    else if (rows === 1) open.append({ observation: 0, action: 0, reward: 0, value: column[0] as number } as never);
    else open.appendColumns({ observation: numbers, action: numbers, reward: numbers, value: column });
    if (random.below(6) === 0) {
      const lane = random.below(lanes);
      open.endEpisode({ ...(lanes > 1 && { lane }), final: { observation: 1 }, terminated: random.below(2) === 0 } as never);
    }
    if (k === 30) {
      const bytes = [...replay.snapshot()];
      replay.dispose();
      replay = Replay.restore(bytes, { spec: SPEC, logger: null }) as Any;
      open = replay.writer({ name: "w", lanes, across, items: rules, autoreset: "sameStep" }) as never;
    }
    for (const name of ["windows", "transitions"]) for (const [priority, value] of prioritiesOf(replay, name)) expect(priority).toBe(value);
  }
  expect(replay.table("transitions").size).toBeGreaterThan(0);
  expect(broken(replay)).toEqual([]);
  replay.dispose();
}

test("items of all rules take the leaf's value in their first step as priority", async () => {
  for (let seed = 0; seed < scaled(100, 4); seed++) await world(seed);
});

test("a table with a minHeap remover keeps the k items of highest priority", () => {
  const random = new TestRandom(5);
  const replay = new Replay({ spec: { value: f32() }, tables: { best: { maxSize: 7, remover: minHeap() } } });
  const writer = replay.writer({ items: [{ table: "best", length: 1, priority: { leaf: "value" } }] });
  const all = Array.from({ length: 200 }, () => random.below(10_000));
  for (const value of all.slice(0, 100)) writer.append({ value });
  writer.appendColumns({ value: all.slice(100) });
  const best = all.sort((a, b) => b - a).slice(0, 7);
  expect([...replay.tables.best.sample(7, { replacement: false }).info.priorities].sort((a, b) => b - a)).toEqual(best);
});

test("priorities passed with a block override the leaf", () => {
  const replay = new Replay({ spec: { value: f32() }, tables: { t: { maxSize: 9 } } });
  const writer = replay.writer({ items: [{ table: "t", length: 1, priority: { leaf: "value" } }] });
  writer.appendColumns({ value: [1, 2] }, { priorities: { t: [5, 6] } });
  expect(replay.tables.t.explain(writer.lastKey("t")).priority).toBe(6);
  writer.append({ value: 3 });
  expect(replay.tables.t.explain(writer.lastKey("t")).priority).toBe(3);
});

test("a rule reads its priority across a port, and from a leaf of half floats", async () => {
  const rules = { items: [{ table: "t", length: 2, priority: { leaf: "value" } }] } as const;
  const { replay, writer } = await pair({ spec: { value: f16() }, tables: { t: { maxSize: 9 } } }, rules);
  for (const value of [0.5, 2, 3]) await writer.append({ value });
  await writer.flush();
  expect([...replay.table("t").sample(2, { replacement: false }).info.priorities].sort()).toEqual([0.5, 2]);
  await writer.close();
});

test("append rejects a step whose value is not a priority, and changes nothing", () => {
  const replay = new Replay({ spec: { value: f32() }, tables: { t: { maxSize: 9 } } });
  const writer = replay.writer({ items: [{ table: "t", length: 2, priority: { leaf: "value" } }] });
  writer.append({ value: 1 });
  for (const value of [-1, Number.NaN, Number.POSITIVE_INFINITY]) {
    expectError(
      errorOf(() => writer.append({ value })),
      "INVALID_DATA",
      /^value must be a finite number >= 0, .* got .*\. Add an offset to the values$/,
    );
    expectError(
      errorOf(() => writer.appendColumns({ value: [2, value] })),
      "INVALID_DATA",
      /Add an offset/,
    );
  }
  expect(writer.length).toBe(1);
  writer.append({ value: -0 });
  writer.append({ value: 0 });
  expect([...replay.tables.t.sample(2, { replacement: false }).info.priorities].sort()).toEqual([0, 1]);
});

test("the priority leaf must have one number per step", () => {
  const spec = { frames: shared("f", u8(4)), name: text({ maxBytes: 8 }), value: f32(), pair: f32(2) };
  const replay = new Replay({ spec, tables: { t: { maxSize: 9 } } });
  const make = (leaf: unknown) => () => replay.writer({ items: [{ table: "t", length: 1, priority: { leaf } as never }] });
  for (const leaf of ["frames", "name", "pair"]) expectError(errorOf(make(leaf)), "SPEC_MISMATCH", /items\[0\]\.priority\.leaf must/);
  expectError(errorOf(make("missing")), "NOT_FOUND", /items\[0\]\.priority\.leaf/);
  expect(() => replay.writer({ items: [{ table: "t", length: 1, priority: { leaf: "value", of: 1 } as never }] })).toThrowError(TypeError);
  expect(() => replay.writer({ items: [{ table: "t", length: 1, priority: "min" as never }] })).toThrowError(TypeError);
});

test.each([Number.NaN, Number.POSITIVE_INFINITY, -5])("a value that is written back and is not a priority counts as 0: %d", (value) => {
  const tables = { steps: { maxSize: 10 }, best: { maxSize: 10, remover: minHeap() } };
  const replay = new Replay({ spec: { value: f32() }, tables, logger: null });
  const items = [
    { table: "steps", length: 1 },
    { table: "best", length: 3, priority: { leaf: "value" } },
  ] as const;
  const writer = replay.writer({ items });
  writer.append({ value: 1 });
  replay.tables.steps.writeSteps(replay.tables.steps.sample(1), { value: [value] });
  for (let i = 2; i < 6; i++) writer.append({ value: i });
  const { priorities } = replay.tables.best.sample(3, { replacement: false }).info;
  expect([...priorities].sort()).toEqual([0, 2, 3]);
  expect(broken(replay)).toEqual([]);
});
