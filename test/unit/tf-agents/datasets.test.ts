import { expect, expectTypeOf, test } from "vitest";
import { f32, i32, Replay } from "../../../src/index.ts";
import { type Client, LocalClient, type ReplaySample, Table, TimestepDataset, TrajectoryDataset } from "../../../src/tf-agents/index.ts";

const spec = { a: i32(), b: f32(2) } as const;
const code = (error: string) => expect.objectContaining({ code: error });
const ITEM = { a: { dtype: "i32", shape: [null] }, b: { dtype: "f32", shape: [null, 2] } } as const;
const STEP = { a: { dtype: "i32", shape: [] }, b: { dtype: "f32", shape: [2] } } as const;
const empty = (signature: object = {}) => LocalClient.of({ spec, tables: [Table.queue("q", 20, signature)] });

function filled(lengths: readonly number[], client = empty()) {
  const writer = client.trajectoryWriter({ numKeepAliveRefs: 9, validateItems: false });
  let n = 0;
  for (const length of lengths) {
    for (let i = 0; i < length; i++) writer.append({ a: n, b: [n++, 0.5] });
    const { a, b } = writer.history;
    writer.createItem("q", 1, { a: a.slice(), b: b.slice() });
    writer.endEpisode();
  }
  return client;
}

async function all<E>(from: AsyncIterable<E>): Promise<E[]> {
  const elements: E[] = [];
  for await (const element of from) elements.push(element);
  return elements;
}
const as = ({ data }: ReplaySample) => data.a.toArray();
const soon = { rateLimiterTimeoutMs: 5 };

test("TrajectoryDataset returns whole items, nested like the spec, until the rate limiter times out", async () => {
  const client = filled([2, 3]);
  const dataset = new TrajectoryDataset<{ a: { toArray(): number[] } }>(client, "q", { spec: ITEM, ...soon });
  expect((await all(dataset)).map(as)).toEqual([
    [0, 1],
    [2, 3, 4],
  ]);
  expectTypeOf(dataset).toExtend<AsyncIterable<ReplaySample<{ a: { toArray(): number[] } }>>>();
  // The dataset can be iterated again, and `next()` can be called after the end.
  filled([1], client);
  const iterator = dataset[Symbol.asyncIterator]();
  expect(as((await iterator.next()).value as never)).toEqual([0]);
  expect((await iterator.next()).done).toBe(true);
  filled([1], client);
  expect((await iterator.next()).done).toBe(false);
});

test("an array as the spec returns tuples, and a single leaf returns unnested data", async () => {
  const [tuple] = await all(new TrajectoryDataset(filled([2]), "q", { spec: [ITEM.a, ITEM.b], ...soon }));
  expect(tuple?.data.map((column: { shape: number[] }) => column.shape)).toEqual([[2], [2, 2]]);
  const client = LocalClient.of({ spec: i32(), tables: [Table.queue("q", 5)] });
  client.insert(7, { q: 1 });
  const [bare] = await all(new TimestepDataset(client, "q", { spec: { dtype: "i32", shape: [] }, ...soon }));
  expect(bare?.data).toMatchObject({ data: Int32Array.of(7), shape: [] });
});

test("TimestepDataset returns steps one by one, and maxSamples counts items", async () => {
  const dataset = new TimestepDataset(filled([2, 1, 2]), "q", { spec: STEP, maxSamples: 2 });
  const steps = await all(dataset);
  expect(steps.map(as)).toEqual([0, 1, 2]);
  expect(steps.map(({ info }) => info.tableSize)).toEqual([3, 3, 2]);
  expect(new Set(steps.map(({ info }) => info.key)).size).toBe(2);
});

test("columns without a time dimension are one step of a TimestepDataset", async () => {
  const client = empty();
  const writer = client.trajectoryWriter({ numKeepAliveRefs: 2 });
  for (let a = 0; a < 2; a++) writer.append({ a, b: [a, a] });
  writer.createItem("q", 1, { a: writer.history.a.at(-1), b: writer.history.b.slice(-1) });
  expect((await all(new TimestepDataset(client, "q", { spec: STEP, ...soon }))).map(as)).toEqual([1]);
});

test("an item that differs from the spec is rejected by column, and the next call continues", async () => {
  const client = filled([2, 2]);
  const iterator = new TrajectoryDataset(client, "q", { spec: { ...ITEM, a: { dtype: "i64", shape: [2] } }, ...soon })[Symbol.asyncIterator]();
  await expect(iterator.next()).rejects.toThrow(/^column 0 of table q must .*i64.*\[2\].*got i32 of shape \[2\]$/);
  expect(client.table("q").size).toBe(1);
  await expect(iterator.next()).rejects.toThrow(code("SPEC_MISMATCH"));
  await expect(all(new TrajectoryDataset(filled([1]), "q", { spec: { a: ITEM.a }, ...soon }))).rejects.toThrow(
    /^an item of table q must be a list of 1 column,.*got 2 columns$/,
  );
});

test("a spec that contradicts the table's signature is rejected before any draw", async () => {
  const client = filled([2], empty({ signature: ITEM }));
  for (const [wrong, message] of [
    [{ ...ITEM, a: { dtype: "i64", shape: [null] } }, /^a of spec for table q must .*i32.*\[any\].*got i64 of shape \[any\]$/],
    [STEP, /^a of spec for table q must be .*as in its signature/],
    [{ a: ITEM.a }, /^spec for table q must be a spec of 2 columns, as in the table's signature, got 1 column$/],
  ] as const)
    await expect(all(new TrajectoryDataset(client, "q", { spec: wrong as never, ...soon }))).rejects.toThrow(message);
  expect(client.table("q").size).toBe(1);
  const fixed = { a: { dtype: "i32", shape: [2] }, b: { dtype: "f32", shape: [2, 2] } } as const;
  expect(await all(new TrajectoryDataset(client, "q", { spec: fixed, ...soon }))).toHaveLength(1);
});

test("fromTableSignature uses the signature of the table", async () => {
  const client = filled([2], empty({ signature: ITEM }));
  const dataset = TrajectoryDataset.fromTableSignature(client, "q", soon);
  expect(dataset.elementSpec).toEqual({
    info: {
      key: { dtype: "f64", shape: [] },
      probability: { dtype: "f64", shape: [] },
      tableSize: { dtype: "u32", shape: [] },
      priority: { dtype: "f64", shape: [] },
      timesSampled: { dtype: "u32", shape: [] },
    },
    data: ITEM,
  });
  expect((await all(dataset)).map(as)).toEqual([[0, 1]]);
  expect(() => TimestepDataset.fromTableSignature(client, "nowhere")).toThrow(/^table must be one of "q", got "nowhere"$/);
  expect(() => TimestepDataset.fromTableSignature(empty(), "q")).toThrow(/^table must .*got "q"\. Pass such a table, or pass spec to the constructor$/);
  expect(() => TimestepDataset.fromTableSignature(client, "q", { spec: STEP } as never)).toThrow(/has no option "spec"/);
});

test("a client that returns promises is accepted", async () => {
  const local = filled([2, 1], empty({ signature: ITEM }));
  const far = {
    spec,
    writer: () => {},
    sampler: (...of: Parameters<typeof local.sampler>) => {
      const sampler = local.sampler(...of);
      return { next: async (wait: object) => sampler.next(wait), close: () => sampler.close() };
    },
    serverInfo: async (options: object) => local.serverInfo(options),
  } as unknown as Client;
  const dataset = await TrajectoryDataset.fromTableSignature(far, "q", soon);
  expect((await all(dataset)).map(as)).toEqual([[0, 1], [2]]);
  await expect(Promise.resolve(TrajectoryDataset.fromTableSignature(far, "nowhere", soon))).rejects.toThrow(code("NOT_FOUND"));
});

test("a Replay is accepted as the client of its tables", async () => {
  const replay = new Replay({ spec, tables: { t: { maxSize: 3 } } });
  const writer = replay.writer({ items: [{ table: "t", length: 2 }] });
  for (let a = 0; a < 2; a++) writer.append({ a, b: [a, a] });
  expect((await all(new TrajectoryDataset(replay, "t", { spec: ITEM, maxSamples: 1 }))).map(as)).toEqual([[0, 1]]);
});

test("batch returns infos as columns, and dropRemainder drops a shorter last batch", async () => {
  const dataset = (lengths: readonly number[]) => new TrajectoryDataset(filled(lengths), "q", { spec: ITEM, ...soon });
  const two = dataset([2, 2, 2]).batch(2);
  expect(two.elementSpec).toMatchObject({ info: { priority: { shape: [null] } }, data: { b: { shape: [null, null, 2] } } });
  const [first, last] = await all(two);
  expect([first?.info.tableSize, last?.info.tableSize]).toMatchObject([{ data: Uint32Array.of(3, 2), shape: [2] }, { data: Uint32Array.of(1) }]);
  expect(first?.data).toMatchObject({ b: { shape: [2, 2, 2] } });
  expect(await all(dataset([2, 2, 2]).batch(2, { dropRemainder: true }))).toHaveLength(1);
  expect(dataset([]).batch(2, { dropRemainder: true }).elementSpec.data).toMatchObject({ a: { shape: [2, null] } });
  await expect(all(dataset([2, 3]).batch(2))).rejects.toThrow(code("SPEC_MISMATCH"));
  for (const n of [0, 1.5]) expect(() => dataset([]).batch(n)).toThrow(/^n must be/);
  expect(() => dataset([]).batch(1, { drop: true } as never)).toThrow(/has no option "drop"/);
});

test("batch returns the items before an error as a short batch, and then rejects", async () => {
  const stop = new AbortController();
  const dataset = new TrajectoryDataset(filled([1]), "q", { spec: ITEM, signal: stop.signal });
  const iterator = dataset.batch(2)[Symbol.asyncIterator]();
  const next = iterator.next();
  await new Promise((resolve) => setTimeout(resolve, 5));
  stop.abort(new Error("enough"));
  expect((await next).value).toMatchObject({ info: { key: { shape: [1] } } });
  await expect(iterator.next()).rejects.toThrow("enough");
});

test("stream draws nothing before it is read, and cancelling it ends the wait", async () => {
  const client = filled([1, 1]);
  const dataset = new TrajectoryDataset(client, "q", { spec: ITEM });
  const reader = dataset.stream().getReader();
  await new Promise((resolve) => setTimeout(resolve, 5));
  expect(client.table("q").size).toBe(2);
  expect(as((await reader.read()).value as never)).toEqual([0]);
  expect(client.table("q").size).toBe(1);
  await reader.read();
  const waits = reader.read();
  await reader.cancel();
  expect((await waits).done).toBe(true);
  filled([1], client);
  await new Promise((resolve) => setTimeout(resolve, 5));
  expect(client.table("q").size).toBe(1);
});

test("ending or aborting an iteration closes its sampler, but a SPEC_MISMATCH does not", async () => {
  const closed: string[] = [];
  const stop = new AbortController();
  const watched = (of: readonly number[], name: string, options: object = {}) => {
    const local = filled(of);
    const sampler = (...given: Parameters<typeof local.sampler>) => {
      const made = local.sampler(...given);
      return { next: (wait: object) => made.next(wait), close: () => void closed.push(name) };
    };
    const client = { spec, writer: () => {}, sampler, serverInfo: () => local.serverInfo() } as unknown as Client;
    return new TrajectoryDataset(client, "q", { spec: ITEM, ...soon, ...options });
  };
  await all(watched([1], "the end"));
  for await (const _ of watched([1, 1], "a break")) break;
  const reader = watched([1], "a cancel").stream().getReader();
  await reader.read();
  await reader.cancel();
  await all(watched([1, 1, 1], "a batch").batch(2));
  const failing = watched([1, 1], "an error", { spec: STEP })[Symbol.asyncIterator]();
  for (let i = 0; i < 2; i++) await expect(failing.next()).rejects.toThrow(code("SPEC_MISMATCH"));
  expect(closed).toEqual(["the end", "a break", "a cancel", "a batch"]);
  expect((await failing.next()).done).toBe(true);
  expect(closed.pop()).toBe("an error");
  const waits = all(watched([], "a signal", { signal: stop.signal, rateLimiterTimeoutMs: -1 }));
  setTimeout(() => stop.abort(new Error("enough")), 1);
  await expect(waits).rejects.toThrow("enough");
  expect(closed.pop()).toBe("a signal");
});

test("a signal ends a waiting iteration", async () => {
  const stop = new AbortController();
  const waits = all(new TimestepDataset(empty(), "q", { spec: STEP, signal: stop.signal }));
  setTimeout(() => stop.abort(new Error("enough")), 5);
  await expect(waits).rejects.toThrow("enough");
});

test("disposing of the Replay ends a waiting iteration with CLOSED", async () => {
  const client = empty();
  const waits = all(new TrajectoryDataset(client, "q", { spec: ITEM }));
  setTimeout(() => client.replay.dispose(), 5);
  await expect(waits).rejects.toThrow(code("CLOSED"));
});

test.each([
  [{ maxInFlightSamplesPerWorker: 0 }, RangeError, /^maxInFlightSamplesPerWorker must be an integer >= 1, got 0$/],
  [{ maxInFlightSamplesPerWorker: -1 }, RangeError, /^maxInFlightSamplesPerWorker/],
  [{ numWorkersPerIterator: 0 }, RangeError, /^numWorkersPerIterator must be an integer >= 1, or -1, got 0$/],
  [{ maxSamplesPerStream: -2 }, RangeError, /^maxSamplesPerStream/],
  [{ maxSamples: 1.5 }, TypeError, /^maxSamples/],
  [{ rateLimiterTimeoutMs: -2 }, RangeError, /^rateLimiterTimeoutMs must be an integer in -1 … \d+, got -2$/],
  [{ rateLimiterTimeoutMs: "3" }, TypeError, /^rateLimiterTimeoutMs/],
  [{ signal: 3 }, TypeError, /^signal must be an AbortSignal/],
  [{ spec: { a: { dtype: "i32", shape: 3 } } }, TypeError, /^spec\.a must/],
  [{ spec: 3 }, TypeError, /^spec must be/],
  [{ timeout: 3 }, TypeError, /has no option "timeout"/],
])("the constructor rejects an invalid argument %#", (options, kind, message) => {
  for (const make of [TrajectoryDataset, TimestepDataset]) {
    const call = () => new make(empty(), "q", { spec: ITEM, ...options } as never);
    expect(call).toThrow(kind);
    expect(call).toThrow(message);
  }
});

test("a client without tables to draw from is rejected", () => {
  expect(() => new TrajectoryDataset({} as never, "q", { spec: ITEM })).toThrow(TypeError);
  const steps = { spec, writer: () => {} };
  expect(() => new TrajectoryDataset(steps as never, "q", { spec: ITEM })).toThrow(/^client must/);
});
