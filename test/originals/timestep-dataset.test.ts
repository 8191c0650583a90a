/** Translates Reverb's timestep_dataset_test.py and timestep_dataset_eager_test.py to our dataset. */
import { expect, test } from "vitest";
import { type Column, f32, f64, fifo, i8, i32, i64, minSize, prioritized, type Spec } from "../../src/index.ts";
import { ReverbClient } from "../../src/reverb/index.ts";
import { LocalClient, type SampleBatch, type Signature, Table, type TableDatasetOptions, TimestepDataset } from "../../src/tf-agents/index.ts";
import { code, INFO, nowhere, plain, REFUSED, samples, TAKEN, taken } from "./support.ts";

const SIGNED: Signature = { dtype: "f32", shape: [null, null] };
const BOUNDED = { ...SIGNED, minimum: [0, 0], maximum: [10, 10] } as Signature;
const TABLES = ["dist", "signatured", "bounded_spec_signatured"] as const;
const MATRIX = [f32(3, 3)] as const;

function clientOf<const S extends Spec>(spec: S): LocalClient<S> {
  const table = { sampler: prioritized(1), remover: fifo(), maxSize: 1000, rateLimiter: minSize(1) };
  const signatures = spec === (MATRIX as Spec) ? [undefined, SIGNED, BOUNDED] : [];
  return LocalClient.of({ spec, tables: TABLES.map((name, i) => new Table({ ...table, name, signature: signatures[i] })) });
}

/** Returns a client whose tables contain items of 100 steps. Each step is a matrix of zeros. */
function populated() {
  const client = clientOf(MATRIX);
  const writer = client.legacyWriter({ maxSequenceLength: 100 });
  for (let i = 0; i < 1000; i++) {
    writer.append([new Float32Array(9)]);
    if (i % 5 === 0 && i >= 100) for (const table of TABLES) writer.createItem(table, 100, 1);
  }
  writer.close();
  return client;
}
const dataset = (client: LocalClient<never, string>, options: object = {}, table: string = "dist", spec: Signature = MATRIX) =>
  new TimestepDataset(client, table, { spec, maxInFlightSamplesPerWorker: 100, ...options } as TableDatasetOptions);

/** Returns a client with ten items in the table `dist`. Each item is a matrix of ones. */
function ofBlobs() {
  const client = clientOf([i32(3, 3)] as const);
  for (let i = 0; i < 10; i++) client.insert([new Int32Array(9).fill(1)], { dist: 1 });
  return client as never;
}
const BLOB = [i32(3, 3)] as const;

test.each([...TAKEN, ...REFUSED])("arguments are accepted or rejected as in Reverb: $options", ({ options }) => {
  const make = () => dataset(clientOf(MATRIX) as never, options);
  if (REFUSED.some((one) => one.options === options)) expect(make).toThrow(RangeError);
  else expect(make().elementSpec.data).toEqual(MATRIX);
});

test("an element is one step with the info of its item", async () => {
  const got = await taken(dataset(populated() as never), 10);
  expect(got.length).toBe(10);
  for (const { info, data } of got) {
    expect(info).toEqual(INFO);
    expect(plain(data)).toEqual([Array(3).fill([0, 0, 0])]);
  }
});

test("the constructor rejects a timeout below -1", () => {
  expect(() => dataset(clientOf(MATRIX) as never, { rateLimiterTimeoutMs: -2 })).toThrow(RangeError);
  expect(dataset(clientOf(MATRIX) as never, { rateLimiterTimeoutMs: -1 }).elementSpec.data).toEqual(MATRIX);
});

test("a dataset ends if its table returns no item within the timeout", async () => {
  const empty = clientOf(MATRIX) as never;
  for (const rateLimiterTimeoutMs of [0, 10, 20]) {
    const start = performance.now();
    expect(await taken(dataset(empty, { rateLimiterTimeoutMs }), 1)).toEqual([]);
    // Timers may fire a millisecond early.
    expect(performance.now() - start).toBeGreaterThanOrEqual(rateLimiterTimeoutMs - 2);
  }
  expect((await taken(dataset(populated() as never, { rateLimiterTimeoutMs: 0 }), 2)).length).toBe(2);
});

const SIGNATURED = TABLES.slice(1).map((table) => ({ table }));

test.each(SIGNATURED)("iteration rejects a spec with more leaves than the table has: $table", async ({ table }) => {
  await expect(taken(dataset(populated() as never, {}, table, [f32(3, 3), f64()]), 10)).rejects.toThrow(code("SPEC_MISMATCH"));
});

test.each(SIGNATURED)("iteration rejects a spec with another dtype: $table", async ({ table }) => {
  await expect(taken(dataset(populated() as never, {}, table, [i64(3, 3)]), 10)).rejects.toThrow(code("SPEC_MISMATCH"));
});

test.each(SIGNATURED)("iteration rejects a spec with another shape: $table", async ({ table }) => {
  await expect(taken(dataset(populated() as never, {}, table, [f32(3)]), 10)).rejects.toThrow(code("SPEC_MISMATCH"));
});

test("without a signature, a wrong shape is rejected with the first item", async () => {
  await expect(taken(dataset(populated() as never, {}, "dist", [f32()]), 1)).rejects.toThrow(code("SPEC_MISMATCH"));
});

test.each(TABLES.map((table) => ({ table })))("steps and their infos are returned in batches: $table", async ({ table }) => {
  const got = await taken(dataset(populated() as never, {}, table).batch(2, { dropRemainder: true }), 10);
  expect(got.length).toBe(10);
  for (const { info, data } of got) {
    expect(info.key.shape).toEqual([2]);
    expect(plain(data)).toEqual([Array(2).fill(Array(3).fill([0, 0, 0]))]);
  }
});

test("nested steps are returned in batches", async () => {
  const spec = { observation: { data: f32(3, 3), extras: [i64(), i32(1)] as const }, reward: f32(10, 10) };
  const client = clientOf(spec);
  const writer = client.legacyWriter({ maxSequenceLength: 100 });
  const step = { observation: { data: new Float32Array(9), extras: [10n, [1]] as const }, reward: new Float32Array(100) };
  for (let i = 0; i < 1000; i++) {
    writer.append(step as never);
    if (i % 5 === 0 && i >= 100) writer.createItem("dist", 100, 1);
  }
  writer.close();
  const got = await taken(dataset(client as never, {}, "dist", spec as Signature).batch(3), 10);
  expect(got.length).toBe(10);
  const zeros = (n: number) => Array(3).fill(Array(n).fill(Array(n).fill(0)));
  for (const { data } of got)
    expect(plain(data)).toEqual({
      observation: {
        data: zeros(3),
        extras: [
          [10n, 10n, 10n],
          [[1], [1], [1]],
        ],
      },
      reward: zeros(10),
    });
});

test("iterators of one dataset are independent", async () => {
  const client = clientOf([f32(81, 81)] as const);
  const writer = client.legacyWriter({ maxSequenceLength: 10 });
  for (let i = 0; i < 10; i++) writer.append([new Float32Array(81 * 81).fill(i)]);
  writer.createItem("dist", 10, 1);
  writer.close();
  const batches = dataset(client as never, {}, "dist", [f32(81, 81)]).batch(5);
  const iterators = [0, 1, 2].map(() => batches[Symbol.asyncIterator]());
  const firsts = await Promise.all(iterators.map((iterator) => iterator.next()));
  for (const { value } of firsts) {
    const [column] = (value as SampleBatch).data as [Column<"f32">];
    expect(column.shape).toEqual([5, 81, 81]);
    for (let t = 0; t < 5; t++) expect(column.data.subarray(t * 6561, (t + 1) * 6561).every((x) => x === t)).toBe(true);
  }
});

test("inserted items are returned as single steps", async () => {
  const got = await taken(dataset(ofBlobs(), {}, "dist", BLOB), 20);
  expect(got.length).toBe(20);
  for (const { info, data } of got) {
    expect(info).toEqual({ ...INFO, tableSize: 10, priority: 1 });
    expect(info.probability).toBeCloseTo(0.1, 12);
    expect(plain(data)).toEqual([Array(3).fill([1, 1, 1])]);
  }
});

test.each([1, 3, 7])("items are drawn only when they are requested", async (maxInFlightSamplesPerWorker) => {
  const client = ofBlobs() as LocalClient<never, string>;
  let n = 0;
  for await (const _ of dataset(client as never, { maxInFlightSamplesPerWorker }, "dist", BLOB)) {
    n++;
    expect(client.serverInfo().dist?.rateLimiterInfo.sampleStats.completed).toBe(n);
    if (n === 100) break;
  }
});

test("inserted items are returned in batches", async () => {
  const got = await taken(dataset(ofBlobs(), {}, "dist", BLOB).batch(5), 20);
  expect(got.length).toBe(20);
  for (const { info, data } of got) {
    expect(info.key.shape).toEqual([5]);
    expect(plain(data)).toEqual([Array(5).fill(Array(3).fill([1, 1, 1]))]);
  }
});

test("a spec of nested lists returns steps as nested lists", async () => {
  const spec = [[i32(1, 1)], [i8(3, 3), [f64(2, 2)]]] as const;
  const client = clientOf(spec);
  for (let i = 0; i < 10; i++) client.insert([[[1]], [Array(9).fill(1), [Array(4).fill(1)]]] as never, { dist: 1 });
  const got = await taken(dataset(client as never, {}, "dist", spec), 10);
  expect(got.length).toBe(10);
  for (const { info, data } of got) {
    expect(info).toEqual(INFO);
    expect(plain(data)).toEqual([[[[1]]], [Array(3).fill([1, 1, 1]), [Array(2).fill([1, 1])]]]);
  }
});

test("a signal aborts the wait for a step", async () => {
  const { signal, abort } = abortable();
  const waits = taken(dataset(clientOf(MATRIX) as never, { signal }), 1);
  setTimeout(abort, 5);
  await expect(waits).rejects.toThrow("enough");
});
function abortable() {
  const controller = new AbortController();
  return { signal: controller.signal, abort: () => controller.abort(new Error("enough")) };
}

test.each([1, 3].flatMap((workers) => [1, 5].map((ahead) => ({ options: { numWorkersPerIterator: workers, maxInFlightSamplesPerWorker: ahead } }))))(
  "maxSamples limits the number of drawn items: $options",
  async ({ options }) => {
    const client = LocalClient.of({ spec: i64(), tables: [Table.queue("q", 10)] });
    for (let i = 0; i < 10; i++) client.insert(BigInt(i), { q: 1 });
    const four = new TimestepDataset(client, "q", { spec: i64(), maxSamples: 4, ...options });
    expect((await taken(four, 100)).map(({ data }) => plain(data))).toEqual([0n, 1n, 2n, 3n]);
    expect(client.serverInfo().q?.currentSize).toBe(6);
    expect(plain((await samples(client, "q", 1))[0]?.data)).toEqual([[4n]]);
  },
);

const queues = (...tables: Table[]) => LocalClient.of({ spec: i64(), tables });

test("fromTableSignature throws NOT_FOUND for an unknown table, and lists the tables", () => {
  const client = queues(Table.queue("table_a", 10), Table.queue("table_c", 10), Table.queue("table_b", 10));
  const make = () => TimestepDataset.fromTableSignature(client, "not_found");
  expect(make).toThrow(code("NOT_FOUND"));
  for (const part of ["not_found", "table_a", "table_b", "table_c"]) expect(make).toThrow(part);
});

test("fromTableSignature rejects with TIMEOUT if no server listens", async () => {
  const client = new ReverbClient(await nowhere());
  const made = TimestepDataset.fromTableSignature(client, "not_found", { getSignatureTimeoutSecs: 0.1 });
  await expect(made).rejects.toMatchObject({ code: "TIMEOUT", message: expect.stringContaining(`the Reverb server at ${client.address}`) });
});

test("fromTableSignature throws a RangeError for a table without a signature", () => {
  expect(() => TimestepDataset.fromTableSignature(queues(Table.queue("plain", 10)), "plain")).toThrow(RangeError);
});

test("elements have the dtypes and shapes of the signature", () => {
  const signature: Signature = { a: { b: f32(3, 3), c: i64() }, x: { dtype: "u64", shape: [null] } };
  const client = queues(Table.queue("queue", 10, { signature }));
  expect(TimestepDataset.fromTableSignature(client, "queue").elementSpec.data).toEqual(signature);
});

test("elements do not include the bounds of the signature", () => {
  const signature = { a: { b: { ...f32(3, 3), minimum: 0, maximum: 3 }, c: { ...i64(), minimum: 0, maximum: 5 } } };
  const client = queues(Table.queue("queue", 10, { signature }));
  expect(TimestepDataset.fromTableSignature(client, "queue").elementSpec.data).toEqual({ a: { b: f32(3, 3), c: i64() } });
});
