/** Tests writing values back to the steps of a batch. The twin identifies each step by its number, which the batch also contains. */
import { expect, test } from "vitest";
import {
  f16,
  f32,
  fifo,
  i32,
  mixture,
  packed,
  prioritized,
  Replay,
  type ReplayOptions,
  sampleToInsertRatio,
  shared,
  text,
  u8,
  uniform,
} from "../../../src/index.ts";
import { memory } from "../../../src/storage/index.ts";
import { TestRandom } from "../../support/random.ts";
import { errorOf, expectError } from "../../support/refused.ts";
import { scaled } from "../../support/size.ts";

const SPEC = { id: i32(), value: f32(), list: f16(3), wide: u8(300), word: text({ maxBytes: 8 }), frames: shared("frames", u8(4), 2) };
type Written = Record<string, unknown>;

const stepOf = (id: number) => ({
  id,
  value: id,
  list: new Float32Array([id, id + 0.5, -id]),
  wide: new Uint8Array(300).fill(id),
  word: `w${id}`,
  frames: new Uint8Array(8).fill(id),
});

/** Returns the rows of a column, one per place, in the order of the batch. */
function rowsOf({ data }: { data: ArrayLike<unknown> }, leaf: keyof typeof SPEC): unknown[] {
  const each = { id: 1, value: 1, list: 3, wide: 300, word: 1, frames: 8 }[leaf];
  return Array.from({ length: data.length / each }, (_, i) => (each === 1 ? data[i] : Array.from(data as Uint8Array).slice(i * each, (i + 1) * each)));
}

function newValue(leaf: string, random: TestRandom): unknown {
  const n = random.below(100);
  return leaf === "value" ? n + 0.25 : leaf === "list" ? [n, -n, n + 0.5] : leaf === "wide" ? new Array(300).fill(n) : `x${n}`;
}

async function world(seed: number, isJournaled: boolean): Promise<void> {
  const random = new TestRandom(seed);
  const remover = random.below(2) === 1 ? uniform() : fifo();
  const options = { spec: SPEC, tables: { t: { maxSize: 12, remover }, other: { maxSize: 5 } }, seed, logger: null };
  const dir = memory();
  let replay = isJournaled ? await Replay.open({ ...options, dir, durability: "manual" }) : new Replay(options);
  const writer = replay.writer({ keep: 30, across: random.below(2) === 1 });
  const twin = new Map<number, Written>();
  for (let id = 1, step = 0; step < 120; step++, id++) {
    twin.set(id, { ...stepOf(id), list: [id, id + 0.5, -id], wide: new Array(300).fill(id & 255) });
    writer.append(stepOf(id));
    for (const table of ["t", "other"] as const)
      if (step === 20 || random.below(3) === 0)
        writer.createItem(table, { length: step === 20 ? writer.length : 1 + random.below(Math.min(writer.length, 20)) });
    if (step > 20 && random.below(25) === 0) writer.endEpisode();
    const table = replay.table("t");
    if (step <= 20 || table.size === 0 || random.below(4) > 0) continue;
    const leaf = ["value", "list", "wide", "word"][random.below(4)] as keyof typeof SPEC;
    const isNStep = random.below(3) === 0;
    const place = [{ at: 0 }, { at: -1 }, { from: 1, to: 4 }, {}, { at: isNStep ? "bootstrap" : 1 }][random.below(5)];
    const columns = { ids: { leaf: "id", ...place }, values: { leaf, ...place } };
    const batch = table.sample(1 + random.below(6), {
      columns: columns as object,
      offset: (["start", "end", "uniform"] as const)[random.below(3)],
      cross: random.below(2) === 1,
      ...(random.below(2) === 1 && { length: 5 + random.below(18) }),
      ...(isNStep && { nStep: { n: 3, gamma: 0.9, reward: "value" } }),
    } as object) as unknown as {
      count: number;
      steps: { ids: { data: Int32Array; shape: number[] }; values: { data: ArrayLike<unknown>; shape: number[] } };
      info: { keys: Float64Array };
    };
    const gone = new Set<number>();
    if (random.below(2) === 1) gone.add(batch.info.keys[random.below(batch.count)] as number);
    table.delete([...gone]);
    const ids = rowsOf(batch.steps.ids, "id") as number[];
    const values = ids.map(() => newValue(leaf, random));
    const each = ids.length / batch.info.keys.length;
    let written = 0;
    for (const [i, value] of values.entries()) {
      const item = Math.floor(i / each);
      const id = ids[i] as number;
      if (item >= batch.count || id === 0 || gone.has(batch.info.keys[item] as number)) continue;
      (twin.get(id) as Written)[leaf] = value;
      written++;
    }
    const { shape } = batch.steps.values;
    const data = leaf === "word" ? values : leaf === "wide" ? Uint8Array.from(values.flat() as number[]) : Float32Array.from(values.flat() as number[]);
    const goneItems = Array.from(batch.info.keys.subarray(0, batch.count)).filter((key) => gone.has(key)).length;
    expect(table.writeSteps(batch, { values: random.below(2) === 1 ? { data, shape } : data })).toEqual({ written, skipped: goneItems });
  }
  const check = () => {
    for (const name of ["t", "other"] as const) {
      const table = replay.table(name);
      if (table.size === 0) continue;
      const batch = table.sample(8);
      for (const item of batch.toArray()) {
        for (const [k, id] of (item.id as number[]).entries()) {
          const known = twin.get(id) as Written;
          for (const leaf of ["value", "list", "wide", "word"]) expect((item as Record<string, unknown[]>)[leaf]?.[k], `${leaf} of ${id}`).toEqual(known[leaf]);
        }
      }
    }
  };
  check();
  if (isJournaled) {
    replay.dispose();
    replay = await Replay.open({ ...options, dir, durability: "manual" });
  } else replay = Replay.restore(replay.snapshot(), { logger: null } as ReplayOptions) as typeof replay;
  check();
}

test("written values appear in every item that shares the step, and survive snapshots and journals", async () => {
  for (let seed = 0; seed < scaled(60, 2); seed++) await world(seed, seed % 2 === 1);
});

const TRANSITIONS = { observation: f32(2), action: i32(), reward: f32(), extra: i32() };

/** Creates the transitions of a truncated episode of six steps. Step k has the observation [k, 0]. */
function transitions(options: object = {}) {
  const replay = new Replay({ spec: TRANSITIONS, tables: { t: { maxSize: 50, ...options } }, logger: null });
  const writer = replay.writer({ items: [{ table: "t", nStep: 2 }] });
  for (let k = 0; k < 6; k++) writer.append({ observation: [k, 0], action: k, reward: 1, extra: 10 + k });
  writer.endEpisode({ terminated: false, final: { observation: [6, 0] } });
  return { replay, table: replay.table("t") };
}

test("writeSteps writes each column of a transition to its own step, including the bootstrap step", () => {
  const { table } = transitions();
  const view = table.transitions({ gamma: 0.5 });
  const batch = view.sample(32);
  const before = Array.from(batch.nextObservation.data);
  const next = Float32Array.from(before, (x) => x + 100);
  expect(table.writeSteps(batch, { nextObservation: { data: next, shape: batch.nextObservation.shape }, extra: batch.extra.data.map((x) => -x) })).toEqual({
    written: 64,
    skipped: 0,
  });
  const again = table.transitions({ gamma: 0.5 }).sample(200);
  for (let i = 0; i < again.count; i++) {
    const [first] = [again.observation.data[2 * i] as number];
    // The first step of an episode is never a next observation; all other steps occur in some item.
    const shown = new Set(before.filter((_, k) => k % 2 === 0));
    const at = first >= 100 ? first - 100 : first;
    expect(first).toBe(shown.has(at) ? at + 100 : at);
  }
  for (const name of ["returns", "keys", "steps"]) {
    expectError(
      errorOf(() => table.writeSteps(batch, { [name]: [1] })),
      "UNSUPPORTED",
      new RegExp(`^values.${name} cannot be written, because it is computed`),
    );
  }
});

test("get returns items in the order of the keys, and does not count as a draw", () => {
  const { replay, table } = transitions({ sampler: prioritized(0.7), rateLimiter: sampleToInsertRatio(2, 1, 50) });
  const { keys } = table.sample(5).info;
  table.updatePriorities(keys.subarray(0, 1), [7]);
  const stats = table.stats();
  const twin = Replay.restore(replay.snapshot());
  const wanted = [keys[3], keys[0], keys[0], keys[1]] as number[];
  const batch = table.get(wanted, { columns: { a: { leaf: "action", at: 0 } } });
  expect(Array.from(batch.info.keys)).toEqual(wanted);
  expect(batch.info.priorities[1]).toBe(7);
  expect(batch.info.probabilities[1]).toBe(table.explain(keys[0] as number).probability);
  expect(batch.info.timesSampled[1]).toBe(table.explain(keys[0] as number).timesSampled);
  expect(batch.blocked).toBe(undefined);
  expect(table.stats()).toEqual(stats);
  expect(table.sample(9)).toEqual(twin.table("t").sample(9));
  table.delete([keys[0] as number]);
  expect(Array.from(table.get(wanted).info.keys)).toEqual(wanted.filter((key) => key !== keys[0]));
  expect(table.get([]).count).toBe(0);
  expect(table.get([keys[0] as number]).count).toBe(0);
  const into = table.batch(4, { length: 3 });
  expect(table.get(wanted, { into, length: 3 })).toBe(into);
  expect(into.count).toBe(wanted.filter((key) => key !== keys[0]).length);
  expectError(
    errorOf(() => table.get([0.5])),
    RangeError,
    /^keys must be/,
  );
  expectError(
    errorOf(() => table.get([1], { beta: 1 } as object)),
    TypeError,
    /^get has no option "beta"/,
  );
  expectError(
    errorOf(() => table.get([1], { offset: "uniform" } as object)),
    RangeError,
    /^offset must be "start" or "end"/,
  );
});

test("writeSteps accepts batches in the caller's arrays, and batches drawn in parts", async () => {
  const { replay, table } = transitions({ rateLimiter: sampleToInsertRatio(2, 1, 6) });
  const into = { ...structuredClone(table.batch(2, { length: 2 }).detached()), blocked: undefined };
  const mine = table.sample(2, { into: into as never, offset: "uniform" });
  const { action } = mine.steps;
  expect(table.writeSteps(mine, { action: action.data.map((x: number) => x + 50) })).toEqual({ written: 4, skipped: 0 });
  for (const [i, old] of action.data.entries()) {
    const item = table.get([mine.info.keys[i >> 1] as number]).toArray()[0];
    expect(item?.action).toContain(old + 50);
  }
  // The call draws more items than the limiter admits together.
  const columns = { first: { leaf: "extra", at: 0 }, two: { leaf: "extra", from: 0, to: 2 } } as const;
  const waiting = table.sampleWhenReady(20, { columns, offset: "uniform", length: 2 });
  const writer = replay.writer({ items: [{ table: "t", nStep: 2 }] });
  for (let k = 0; k < 20; k++) writer.append({ observation: [k, 1], action: 100 + k, reward: 1, extra: 200 + k });
  const batch = await waiting;
  const values = batch.steps.two.data.map((x) => -x);
  expect(table.writeSteps(batch, { two: values })).toEqual({ written: 40, skipped: 0 });
  const kept = replay.table("t").get(batch.info.keys).toArray();
  for (const [i, old] of batch.steps.two.data.entries()) expect(kept[i >> 1]?.extra).toContain(-old);
});

test("writeSteps rejects a batch whose count was changed, and accepts a batch filled by a view", () => {
  const { table } = transitions();
  const view = table.transitions({ gamma: 0.5 });
  const into = { ...structuredClone(view.batch(3).detached()) };
  const batch = view.sample(3, { into }) as unknown as { count: number; extra: { data: Int32Array } };
  expect(table.writeSteps(batch, { extra: Int32Array.of(1, 2, 3) })).toEqual({ written: 3, skipped: 0 });
  for (const count of [4, 100_000, -1, 0.5, Number.NaN]) {
    batch.count = count;
    expectError(
      errorOf(() => table.writeSteps(batch, { extra: new Int32Array(count > 0 && count < 1e6 ? Math.ceil(count) : 3) })),
      count === 0.5 ? TypeError : RangeError,
      /^batch.count must be/,
    );
  }
});

test("writeSteps writes items with different columns, each to the steps that it shows", () => {
  const replay = new Replay({ spec: TRANSITIONS, tables: { t: { maxSize: 50 } }, logger: null });
  const writer = replay.writer();
  for (let k = 1; k <= 8; k++) writer.append({ observation: [k, 0], action: k, reward: 1, extra: k });
  const table = replay.table("t");
  for (const from of [-1, -2, -3]) writer.createItem("t", { length: 8, columns: { a: { leaf: "action", from } } });
  const batch = table.sample(40);
  const { data, shape } = (batch.steps as unknown as { a: { data: Int32Array; shape: number[] } }).a;
  const result = table.writeSteps(batch, { a: { data: Int32Array.from(data, (x) => 10 * (x as number)), shape } });
  expect(result.written).toBe(Array.from(data as Int32Array).filter((x) => x > 0).length);
  expect(table.get([batch.info.keys[0] as number], { columns: { all: { leaf: "action" } } }).steps.all.data).toEqual(Int32Array.of(1, 2, 3, 4, 5, 60, 70, 80));
});

test("writeSteps rejects invalid values before it writes anything", () => {
  const spec = { a: f32(), flag: i32(), frames: shared("f", u8(4), 2), films: packed("p", u8(300)) };
  const replay = new Replay({ spec, tables: { t: { maxSize: 5 }, u: { maxSize: 5 } }, logger: null });
  const writer = replay.writer({
    items: [
      { table: "t", length: 1 },
      { table: "u", length: 1 },
    ],
  });
  for (let k = 0; k < 4; k++) writer.append({ a: k, flag: k, frames: new Uint8Array(8), films: new Uint8Array(300) });
  const table = replay.table("t");
  const batch = table.sample(3, {
    columns: { a: { leaf: "a", at: 0 }, flag: { leaf: "flag", at: 0 }, frames: { leaf: "frames", at: 0 }, films: { leaf: "films", at: 0 } },
  });
  const refused = (values: unknown, kind: Parameters<typeof expectError>[1], says: RegExp) =>
    expectError(
      errorOf(() => table.writeSteps(batch, values as object)),
      kind,
      says,
    );
  refused({ a: [9, 9, 9], flag: [1, 2, 0.5] }, "INVALID_DATA", /^values.flag/);
  refused({ a: [9, 9, 9], flag: [1, 2] }, "SPEC_MISMATCH", /^values.flag must be .*\[3\]/);
  refused({ a: [9, 9, 9], other: [1] }, "NOT_FOUND", /^values.other is not a column of the batch.* a, flag, frames, films/);
  refused({ a: [9, 9, 9], frames: new Uint8Array(24) }, "UNSUPPORTED", /^values.frames cannot be written, because shared values/);
  refused({ a: [9, 9, 9], films: new Uint8Array(900) }, "UNSUPPORTED", /^values.films cannot be written, because packed values/);
  refused(5, TypeError, /^values must be an object of columns/);
  for (const other of [
    null,
    {},
    { count: 1, info: { keys: new Float64Array(1) } },
    new Replay({ spec: f32(), tables: { t: { maxSize: 1 } } }).table("t").sample(1),
  ])
    expectError(
      errorOf(() => table.writeSteps(other as object, {})),
      TypeError,
      /^batch must be a batch of table "t"/,
    );
  const getter = Object.defineProperty({}, "a", { enumerable: true, get: () => table.sample(1) });
  refused(getter, "OUT_OF_TURN", /./);
  expect(table.writeSteps(replay.table("u").sample(2), { a: [7, 7] })).toEqual({ written: 0, skipped: 2 });
  expect(table.writeSteps(batch, {})).toEqual({ written: 0, skipped: 0 });
  expect(
    new Set(
      replay
        .table("u")
        .sample(50)
        .toArray()
        .map((item) => item.a[0]),
    ),
  ).toEqual(new Set([0, 1, 2, 3]));
});

test("writeSteps rejects a mixture's batch, and accepts its rows fetched by key", () => {
  const replay = new Replay({ spec: { id: i32(), value: f32() }, tables: { a: { maxSize: 9 }, b: { maxSize: 9 } }, logger: null });
  const writer = replay.writer({
    items: [
      { table: "a", length: 1 },
      { table: "b", length: 1 },
    ],
  });
  for (let id = 0; id < 9; id++) writer.append({ id, value: 0 });
  const { a, b } = replay.tables;
  const batch = mixture([
    { from: a, share: 1 },
    { from: b, share: 1 },
  ]).sample(8);
  expectError(
    errorOf(() => a.writeSteps(batch, { value: batch.steps.value })),
    "UNSUPPORTED",
    /^batch belongs to a mixture, .*get\(keys\).* table "a"/,
  );
  const rows = a.get(batch.info.keys.filter((_, i) => batch.info.source[i] === 0));
  expect(a.writeSteps(rows, { value: new Float32Array(rows.count).fill(7) })).toEqual({ written: 4, skipped: 0 });
  const ids = new Set(rows.steps.id.data);
  for (const { id, value } of a.sample(30).toArray()) expect(value[0]).toBe(ids.has(id[0] as number) ? 7 : 0);
});
