/** Tests items whose columns show the same leaves under the same names, but at different steps. */
import { expect, test } from "vitest";
import { type Batch, type Column, f32, fifo, i32, Replay } from "../../../src/index.ts";
import { engineOf } from "../../../src/replay/replay.ts";
import { broken } from "../../support/health.ts";
import { TestRandom } from "../../support/random.ts";

const STEPS = 12;

interface Drawn {
  readonly count: number;
  readonly info: { readonly keys: Float64Array };
  readonly steps: { readonly [name: string]: { readonly data: Float32Array; readonly shape: readonly number[] } };
}

/** Appends twelve steps, x = 1 … 12, and creates a table for items that select from them. */
function filled(maxSize = 30) {
  const replay = new Replay({ spec: { x: f32(), y: i32() }, tables: { t: { maxSize, remover: fifo() } }, seed: 5, logger: null });
  const writer = replay.writer({ keep: STEPS });
  for (let x = 1; x <= STEPS; x++) writer.append({ x, y: -x });
  return { replay, writer, table: replay.tables.t };
}

test("a batch to refill is checked once, and again only for a longer layout", () => {
  const { replay, writer, table } = filled();
  const create = (steps: readonly number[]) => writer.createItem("t", { length: STEPS, columns: { a: { leaf: "x", at: 0 }, b: { leaf: "x", steps } } });
  for (let k = 0; k < 20; k++) create([k % 6, (k + 1) % 12]);
  let times = 0;
  const { lengths, ...rest } = table.sample(8, { length: STEPS }).detached();
  const into = Object.defineProperty({ ...rest, blocked: undefined }, "lengths", { get: () => [lengths, times++][0], enumerable: true }) as never;
  const worked = (draws: number) => {
    const before = times;
    for (let i = 0; i < draws; i++) expect(table.sample(8, { into, length: STEPS })).toBe(into);
    return times - before;
  };
  const once = worked(1);
  expect(once).toBeGreaterThan(0);
  expect(worked(50)).toBe(0);
  // A different layout changes nothing if it is not longer.
  create([11, 0]);
  create([11]);
  expect(worked(50)).toBe(0);
  create([1, 2, 3]);
  expect(() => table.sample(8, { into, length: STEPS })).toThrow(/into\.steps\.b\.data/);
  expect(broken(replay)).toEqual([]);
});

test("each item shows its own steps in new and refilled batches while layouts change", () => {
  const { replay, writer, table } = filled();
  const { columnLayouts } = engineOf(replay as never as Replay);
  const random = new TestRandom(11);
  const shown = new Map<number, { readonly [name: string]: readonly number[] }>();
  let into: object | undefined;
  for (let round = 0; round < 400; round++) {
    const length = 1 + random.below(STEPS);
    const xs = Array.from({ length }, (_, k) => STEPS - length + 1 + k);
    const list = Array.from({ length: 1 + random.below(3) }, () => random.below(length));
    const [from, step] = [random.below(length), 1 + random.below(2)];
    const columns = { run: { leaf: "x", from, step }, list: { leaf: "x", steps: list } } as const;
    writer.createItem("t", { length, columns: (random.below(2) === 0 ? columns : { list: columns.list, run: columns.run }) as typeof columns });
    shown.set(writer.lastKey("t"), { run: xs.filter((_, k) => k >= from && (k - from) % step === 0), list: list.map((k) => xs[k] as number) });
    if (random.below(40) === 0) table.clear();
    if (random.below(20) === 0) columnLayouts.sweep();
    if (table.size === 0) continue;
    const n = 1 + random.below(8);
    const batches: unknown[] = [table.sample(n)];
    try {
      if (into !== undefined) batches.push(table.sample(8, { into: into as never }));
    } catch (error) {
      // The table contains a longer item than `into` has room for.
      expect((error as { code: string }).code).toBe("SPEC_MISMATCH");
      into = undefined;
    }
    into ??= table.sample(8, { length: STEPS });
    for (const { count, info, steps } of batches as Drawn[])
      for (let i = 0; i < count; i++)
        for (const [name, { data, shape }] of Object.entries(steps)) {
          const room = shape[1] as number;
          const wanted = shown.get(info.keys[i] as number)?.[name] as number[];
          expect([...data.subarray(i * room, (i + 1) * room)]).toEqual(Array.from({ length: room }, (_, k) => wanted[k] ?? 0));
        }
  }
  expect(broken(replay)).toEqual([]);
});

test("a refilled batch keeps its shape and pads shorter lists with zeros, even in parts", async () => {
  const replay = new Replay({ spec: { x: f32() }, tables: { t: { maxSize: 30, sampler: fifo(), maxTimesSampled: 1 } }, logger: null });
  const writer = replay.writer({ keep: STEPS });
  for (let x = 1; x <= STEPS; x++) writer.append({ x });
  const { t } = replay.tables;
  const create = (...steps: readonly number[]) => writer.createItem("t", { length: STEPS, columns: { b: { leaf: "x", steps } } });
  for (const lists of [
    [
      [4, 5, 6],
      [7, 8, 9],
    ],
    [[1], [2]],
    [[3, 4], [5]],
  ] as const) {
    for (const parts of [false, true]) {
      for (let i = 0; i < 2; i++) create(9, 10, 11);
      const into = t.sample(2, { length: STEPS }) as unknown as Batch<{ readonly b: Column<"f32", [number, number]> }>;
      expect(into.steps.b.shape).toEqual([2, 3]);
      let waiting: Promise<unknown> | undefined;
      if (parts) waiting = t.sampleWhenReady(2, { into });
      for (const list of lists) create(...list);
      expect(parts ? await waiting : t.sample(2, { into })).toBe(into);
      const rows = lists.map((list) => list.map((k) => k + 1));
      expect([...into.steps.b.data], `${parts} ${lists}`).toEqual(rows.flatMap((row) => [0, 1, 2].map((k) => row[k] ?? 0)));
      expect(into.toArray()).toEqual(rows.map((b) => ({ b })));
    }
    t.clear();
  }
});
