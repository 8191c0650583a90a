import { expect, test } from "vitest";
import { f32, fifo, i32, queueLimiter, Replay, shared, u8 } from "../../../src/index.ts";
import { engineOf } from "../../../src/replay/replay.ts";
import { type HistoryColumn, type ItemColumns, LocalClient } from "../../../src/tf-agents/index.ts";

const spec = { a: i32(), b: f32(2) } as const;
const QUEUE = { maxSize: 9, sampler: fifo(), maxTimesSampled: 1 };

function made(options: { keep?: number; validateItems?: boolean; signatures?: object } = {}) {
  const client = new LocalClient(new Replay({ spec, tables: { t: QUEUE } }), { signatures: (options.signatures ?? {}) as never });
  const { keep = 4, validateItems = true } = options;
  return { client, table: client.table("t"), writer: client.trajectoryWriter({ numKeepAliveRefs: keep, validateItems }) };
}

const step = (x: number) => ({ a: x, b: [x, x] });
type Shown = { readonly [name: string]: { readonly data: ArrayLike<number>; readonly shape: readonly number[] } };
/** Draws the oldest item, and returns its columns. */
function drawn(client: LocalClient<typeof spec, "t">): { [name: string]: number[] } {
  const { steps } = client.table("t").sample(1, { cross: true });
  return Object.fromEntries(Object.entries(steps as Shown).map(([name, { data }]) => [name, Array.from(data)]));
}
/** Returns the columns of a batch as plain arrays. */
const shownOf = (steps: unknown) => Object.fromEntries(Object.entries(steps as Shown).map(([name, { data }]) => [name, Array.from(data)]));
const code = (error: string) => expect.objectContaining({ code: error });

test("each column of an item has its own steps", () => {
  const { client, writer } = made();
  for (let x = 0; x < 4; x++) writer.append(step(x));
  const { a, b } = writer.history;
  expect(writer.createItem("t", 2, { last: a.at(-1), nest: { back: a.slice(null, null, -1), some: b.list([1, 0, 1]) } })).toBe(undefined);
  expect(drawn(client)).toEqual({ last: [3], "nest.back": [3, 2, 1, 0], "nest.some": [1, 1, 0, 0, 1, 1] });
});

test("items of whole episodes share a column layout regardless of their length", () => {
  const { client, writer } = made({ keep: 100 });
  for (let length = 2; length < 90; length++) {
    for (let x = 0; x < length; x++) writer.append(step(x));
    const { a, b } = writer.history;
    writer.createItem("t", 1, { all: a.slice(), first: a.at(0), last: b.at(-1), butFirst: a.slice(1), butLast: a.slice(0, -1) });
    expect(drawn(client)).toMatchObject({ all: Array.from({ length }, (_, x) => x), last: [length - 1, length - 1], first: [0] });
    writer.endEpisode();
  }
  expect(engineOf(client.replay as unknown as Replay).columnLayouts.size).toBeLessThan(3);
});

test("endEpisode clears the history, or keeps it for items that span two episodes", () => {
  const { client, writer, table } = made();
  writer.append(step(0));
  const { a } = writer.history;
  const old = a.at(-1);
  writer.endEpisode({ clearBuffers: false });
  expect([writer.episodeSteps, a.length]).toEqual([0, 1]);
  writer.append(step(1));
  writer.createItem("t", 1, { a: a.slice() });
  expect(table.stats().episodes).toBe(2);
  expect(drawn(client)).toEqual({ a: [0, 1] });
  writer.endEpisode();
  expect(a.length).toBe(0);
  writer.append(step(2));
  expect(() => writer.createItem("t", 1, { old })).toThrow(/of the open episode/);
  expect(client.replay.stats().steps).toBe(1);
});

test("items across the end of an episode contain all steps of their columns", () => {
  const client = new LocalClient(new Replay({ spec: { x: i32() }, tables: { t: QUEUE } }));
  const writer = client.trajectoryWriter({ numKeepAliveRefs: 4 });
  writer.append({ x: 1 });
  writer.endEpisode({ clearBuffers: false });
  writer.append({ x: 2 });
  const { x } = writer.history;
  writer.createItem("t", 1, { all: x.slice(), last: x.at(-1) });
  const { steps, lengths } = client.table("t").sample(1);
  expect({ length: lengths[0], ...shownOf(steps) }).toEqual({ length: 2, all: [1, 2], last: [2] });
});

test("an item stores the steps from its oldest to its newest step", () => {
  const { client, writer, table } = made({ keep: 40 });
  for (let x = 0; x < 40; x++) writer.append(step(x));
  const { a } = writer.history;
  writer.createItem("t", 1, { now: a.at(3), next: a.at(4) });
  writer.createItem("t", 1, { from: a.at(7), to: a.slice(9, 12) });
  writer.close();
  expect([table.stats().steps, client.replay.stats().steps]).toEqual([7, 7]);
  expect([drawn(client), drawn(client)]).toEqual([
    { now: [3], next: [4] },
    { from: [7], to: [9, 10, 11] },
  ]);
});

test("items with equal columns are drawn together, even at different steps", () => {
  const client = new LocalClient(new Replay({ spec, tables: { t: { maxSize: 99, sampler: fifo() } } }));
  const writer = client.trajectoryWriter({ numKeepAliveRefs: 40 });
  for (let x = 0; x < 40; x++) writer.append(step(x));
  const { a } = writer.history;
  for (let t = 0; t < 9; t++) writer.createItem("t", 1, { now: a.at(t), next: a.at(t + 1) });
  const { steps } = client.table("t").sample(9, { replacement: false });
  expect(shownOf(steps)).toEqual({ now: [0, 1, 2, 3, 4, 5, 6, 7, 8], next: [1, 2, 3, 4, 5, 6, 7, 8, 9] });
});

test("a field is absent in the steps that omit it", () => {
  const { client, writer } = made();
  writer.append({ a: 0 });
  expect(Object.keys(writer.history)).toEqual(["a"]);
  writer.append(step(1));
  writer.append({ b: [2, 2], a: null });
  const { a, b } = writer.history;
  expect([a.length, b.length]).toEqual([3, 3]);
  writer.createItem("t", 1, { a: a.slice(0, 2), b: b.slice(-2) });
  expect(drawn(client)).toEqual({ a: [0, 1], b: [1, 1, 2, 2] });
  expect(() => writer.createItem("t", 1, { b: b.slice() })).toThrow(/one that has b, got 0/);
  expect(() => writer.createItem("t", 1, { a: a.at(-1) })).toThrow(RangeError);
});

test("several appends may form one step, and a rejected append leaves it unchanged", () => {
  const { client, writer } = made();
  const mine = Float32Array.of(7, 8);
  writer.append({ b: mine }, { partialStep: true });
  mine.fill(0);
  expect([writer.episodeSteps, writer.history.b.length]).toEqual([0, 1]);
  expect(() => writer.append({ a: 1, b: [1, 1] })).toThrow(code("SPEC_MISMATCH"));
  expect(() => writer.append({ a: 1.5 })).toThrow(code("INVALID_DATA"));
  expect(() => writer.append({ a: 1, z: 1 } as never)).toThrow(code("SPEC_MISMATCH"));
  writer.append({ a: 5 });
  expect(writer.episodeSteps).toBe(1);
  const { a, b } = writer.history;
  writer.createItem("t", 1, { a: a.slice(), b: b.slice() });
  expect(drawn(client)).toEqual({ a: [5], b: [7, 8] });
});

test("an item may use an open step, and later fields join the same step", () => {
  const client = new LocalClient(
    new Replay({ spec: { x: i32(), wide: u8(1100), f: shared("f", u8(2)), g: shared("f", u8(2)) }, tables: { t: QUEUE }, maxBytes: 1 << 20 }),
  );
  const writer = client.trajectoryWriter({ numKeepAliveRefs: 2 });
  const whole = (x: number) => ({ x, wide: new Uint8Array(1100).fill(x), f: [x, x], g: [x, 0] });
  writer.append(whole(1));
  writer.append({ x: 2 }, { partialStep: true });
  type Columns = { [K in "x" | "wide" | "f" | "g"]: HistoryColumn };
  const { x, wide, f, g } = writer.history as unknown as Columns;
  writer.createItem("t", 1, { x: x.slice() });
  const live = client.replay.stats().steps;
  expect(() => writer.createItem("t", 1, { f: f.at(-1) })).toThrow(/one that has f/);
  writer.append({ wide: new Uint8Array(1100).fill(2), f: [2, 9] }, { partialStep: true });
  expect([...f.at(-1).values().data]).toEqual([2, 9]);
  writer.append({ g: [2, 9] });
  // The count includes the draft row of the open step.
  expect(client.replay.stats().steps).toBe(live);
  writer.createItem("t", 1, { wide: wide.at(-1), f: f.slice(), g: g.slice() });
  const [first, second] = [client.table("t").sample(1), client.table("t").sample(1)].map(({ steps }) => steps as unknown as Shown);
  expect(Array.from(first?.x?.data ?? [])).toEqual([1, 2]);
  expect(Array.from(second?.f?.data ?? [])).toEqual([1, 1, 2, 9]);
  expect(Array.from(second?.g?.data ?? [])).toEqual([1, 0, 2, 9]);
  expect(new Set(Array.from(second?.wide?.data ?? []))).toEqual(new Set([2]));
  writer.append(whole(3));
  expect(Array.from(x.slice(-2).values().data, Number)).toEqual([2, 3]);
});

test("an open step ends with its episode", () => {
  const { writer, client } = made();
  writer.append({ a: 1 }, { partialStep: true });
  writer.endEpisode({ clearBuffers: false });
  writer.append(step(2));
  const { a, b } = writer.history;
  writer.createItem("t", 1, { a: a.slice() });
  expect(drawn(client)).toEqual({ a: [1, 2] });
  expect(() => b.at(0).values()).toThrow(RangeError);
});

test("items must fit the table's signature unless validateItems is false", () => {
  const signatures = { t: { x: { dtype: "i32", shape: [null] }, y: { dtype: "f32", shape: [null, 2] } } };
  const { client, writer, table } = made({ signatures });
  expect(client.signature("t")).toEqual(signatures.t);
  writer.append(step(1));
  const { a, b } = writer.history;
  const misfits: ItemColumns[] = [{ x: a.slice() }, { x: a.at(0), y: b.slice() }, { x: b.slice(), y: a.slice() }, { x: a.slice(), y: b.slice(), z: a.slice() }];
  for (const bad of misfits) expect(() => writer.createItem("t", 1, bad)).toThrow(code("SPEC_MISMATCH"));
  expect(() => client.insert({ a: 1 }, { t: 1 })).toThrow(code("SPEC_MISMATCH"));
  expect(table.size).toBe(0);
  writer.createItem("t", 1, { k: a.slice(), l: b.slice() });
  client.insert({ a: 1, b: [1, 2] }, { t: 1 });
  expect(table.size).toBe(2);
  const free = client.trajectoryWriter({ numKeepAliveRefs: 1, validateItems: false });
  free.append(step(1));
  free.createItem("t", 1, { a: free.history.a.at(0) });
  expect(table.size).toBe(3);
  expect(() => made({ signatures: { z: [] } })).toThrow(code("NOT_FOUND"));
});

test("flush waits for this writer's items, down to blockUntilNumItems", async () => {
  const client = new LocalClient(new Replay({ spec, tables: { t: { ...QUEUE, rateLimiter: queueLimiter(1) } } }));
  const writer = client.trajectoryWriter({ numKeepAliveRefs: 1 });
  writer.append(step(1));
  const item = () => writer.createItem("t", 1, { a: writer.history.a.at(-1) });
  expect(item()).toBe(undefined);
  const waits = item();
  expect(waits).toBeInstanceOf(Promise);
  expect(writer.flush({ blockUntilNumItems: 1 })).toBe(undefined);
  await expect(writer.flush({ timeoutMs: 5 })).rejects.toThrow(code("TIMEOUT"));
  const flushed = writer.flush();
  client.table("t").sample(1);
  await Promise.all([flushed, waits]);
  expect(writer.flush()).toBe(undefined);
});

test("a closed writer rejects every call, and its items remain", () => {
  const { client, writer, table } = made();
  writer.append({ a: 1 }, { partialStep: true });
  const column = writer.history.a.at(0);
  writer.createItem("t", 1, { column });
  writer.close();
  writer.close();
  expect(client.replay.stats().writers).toBe(0);
  for (const call of [
    () => writer.append(step(1)),
    () => writer.createItem("t", 1, { column }),
    () => writer.endEpisode(),
    () => writer.flush(),
    () => writer.configure(["a"], { numKeepAliveRefs: 1 }),
    () => column.values(),
  ])
    expect(call).toThrow(code("CLOSED"));
  expect(table.size).toBe(1);
});

test("invalid arguments are rejected", () => {
  const { client, writer, table } = made();
  writer.append(step(1));
  const { a } = writer.history;
  const other = client.trajectoryWriter({ numKeepAliveRefs: 1 });
  other.append(step(1));
  const bad: [() => unknown, unknown][] = [
    [() => client.trajectoryWriter({ numKeepAliveRefs: 0 }), RangeError],
    [() => client.trajectoryWriter({ numKeepAliveRefs: 1.5 }), TypeError],
    [() => client.trajectoryWriter({ numKeepAliveRefs: 1, validateItems: 1 as never }), TypeError],
    [() => writer.createItem("u", 1, { a: a.at(0) }), code("NOT_FOUND")],
    [() => writer.createItem("t", -1, { a: a.at(0) }), RangeError],
    [() => writer.createItem("t", "1" as never, { a: a.at(0) }), TypeError],
    [() => writer.createItem("t", 1, {}), RangeError],
    [() => writer.createItem("t", 1, { a: 3 as never }), TypeError],
    [() => writer.createItem("t", 1, { a: other.history.a.at(0) }), RangeError],
    [() => writer.append(3 as never), code("SPEC_MISMATCH")],
    [() => writer.append(undefined as never), code("SPEC_MISMATCH")],
    [() => writer.append(step(1), { partial: true } as never), TypeError],
    [() => writer.endEpisode({ clearBuffers: 0 as never }), TypeError],
  ];
  for (const [call, error] of bad) expect(call).toThrow(error as never);
  expect([table.size, a.length]).toEqual([0, 1]);
});

test("two columns with the same dotted name are rejected", () => {
  const { client, writer } = made();
  writer.append({ a: 1, b: [1, 1] } as never);
  const { a } = writer.history as { a: HistoryColumn };
  expect(() => writer.createItem("t", 1, { "x.y": a.at(0), x: { y: a.at(0) } })).toThrow(/^trajectory must .*got "x\.y"/);
  expect(client.table("t").size).toBe(0);
});

test("a field may have any name, including slice", () => {
  const replay = new Replay({ spec: { n: { slice: f32(), at: f32() } }, tables: { t: { maxSize: 4 } } });
  const writer = new LocalClient(replay).trajectoryWriter({ numKeepAliveRefs: 2 });
  writer.append({ n: { slice: 3 } });
  expect(Object.keys(writer.history.n)).toEqual(["slice"]);
  expect([...writer.history.n.slice.at(-1).values().data]).toEqual([3]);
});
