/** Translates Reverb's trajectory_dataset_test.py and trajectory_dataset_eager_test.py to our dataset. */
import { expect, test } from "vitest";
import { type Column, f32, fifo, i32, i64, minSize, prioritized } from "../../src/index.ts";
import { ReverbClient } from "../../src/reverb/index.ts";
import { LocalClient, type ReplaySample, type Signature, Table, type TableDatasetOptions, TrajectoryDataset } from "../../src/tf-agents/index.ts";
import { code, INFO, nowhere, REFUSED, TAKEN, taken } from "./support.ts";

const TABLE = "prioritized";
const prioritizedTable = () => new Table({ name: TABLE, sampler: prioritized(1), remover: fifo(), maxSize: 1000, rateLimiter: minSize(1) });
const SPEC = { observation: f32(1, 3, 3), reward: i64() };

function ofPairs() {
  return LocalClient.of({ spec: [f32(3, 3), i64()] as const, tables: [prioritizedTable()] });
}

test.each([...TAKEN, ...REFUSED])("arguments are accepted or rejected as in Reverb: $options", ({ options }) => {
  const make = () => new TrajectoryDataset(ofPairs(), TABLE, { spec: SPEC, ...options } as TableDatasetOptions);
  if (REFUSED.some((one) => one.options === options)) expect(make).toThrow(RangeError);
  else expect(make().elementSpec.data).toEqual(SPEC);
});

test("an element contains the columns and the info of its item", async () => {
  const client = ofPairs();
  const writer = client.trajectoryWriter({ numKeepAliveRefs: 1 });
  for (let i = 0; i < 10; i++) {
    writer.append([Array(9).fill(1), 3n]);
    const { 0: observation, 1: reward } = writer.history;
    writer.createItem(TABLE, 1, { observation: observation.slice(-1), reward: reward.at(-1) });
  }
  writer.close();
  const [sample] = await taken(new TrajectoryDataset(client, TABLE, { spec: SPEC, maxInFlightSamplesPerWorker: 1 }), 1);
  expect(sample?.info).toEqual({ ...INFO, probability: 0.1, tableSize: 10, priority: 1, timesSampled: 1 });
  const { observation, reward } = (sample as ReplaySample).data as { observation: Column<"f32">; reward: Column<"i64"> };
  expect([observation.shape, [...observation.data]]).toEqual([[1, 3, 3], Array(9).fill(1)]);
  expect([reward.shape, [...reward.data]]).toEqual([[], [3n]]);
});

const LENGTHS: Signature = { last: i32(3, 3), all: { dtype: "i32", shape: [null, 3, 3] } };
/** Returns a client whose table has ten items. Each contains all steps that were appended before it was created. */
function grown(table: Table) {
  const client = LocalClient.of({ spec: [i32(3, 3)] as const, tables: [table] });
  const writer = client.trajectoryWriter({ numKeepAliveRefs: 10 });
  for (let i = 0; i < 10; i++) {
    writer.append([new Int32Array(9).fill(i)]);
    const { 0: steps } = writer.history;
    writer.createItem(table.name, 1, { last: steps.at(-1), all: steps.slice() });
  }
  writer.close();
  return client;
}

test("one table returns items of different lengths", async () => {
  const dataset = new TrajectoryDataset(grown(prioritizedTable()), TABLE, { spec: LENGTHS, maxInFlightSamplesPerWorker: 1 });
  const seen = new Set<number>();
  for await (const { data } of dataset) {
    const { last, all } = data as { last: Column<"i32">; all: Column<"i32"> };
    expect(Object.keys(data).sort()).toEqual(["all", "last"]);
    expect(last.shape).toEqual([3, 3]);
    expect(all.shape).toEqual([(last.data[0] as number) + 1, 3, 3]);
    seen.add(all.shape[0] as number);
    if (seen.size === 10) break;
  }
  expect([...seen].sort((a, b) => a - b)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
});

test.each([1, 3].flatMap((workers) => [1, 5].map((ahead) => ({ options: { numWorkersPerIterator: workers, maxInFlightSamplesPerWorker: ahead } }))))(
  "maxSamples limits the number of drawn items: $options",
  async ({ options }) => {
    const client = grown(Table.queue("queue", 10));
    const dataset = new TrajectoryDataset(client, "queue", { spec: LENGTHS, maxSamples: 4, ...options });
    expect((await taken(dataset, 100)).length).toBe(4);
    expect(client.serverInfo().queue?.currentSize).toBe(6);
  },
);

const queues = (...tables: Table[]) => LocalClient.of({ spec: i64(), tables });

test("fromTableSignature throws NOT_FOUND for an unknown table, and lists the tables", () => {
  const client = queues(Table.queue("table_a", 10), Table.queue("table_c", 10), Table.queue("table_b", 10));
  const make = () => TrajectoryDataset.fromTableSignature(client, "not_found");
  expect(make).toThrow(code("NOT_FOUND"));
  for (const part of ["not_found", "table_a", "table_b", "table_c"]) expect(make).toThrow(part);
});

test("fromTableSignature rejects with TIMEOUT if no server listens", async () => {
  const client = new ReverbClient(await nowhere());
  const made = TrajectoryDataset.fromTableSignature(client, "not_found", { getSignatureTimeoutSecs: 0.1 });
  await expect(made).rejects.toMatchObject({ code: "TIMEOUT", message: expect.stringContaining(`the Reverb server at ${client.address}`) });
});

test("fromTableSignature throws a RangeError for a table without a signature", () => {
  expect(() => TrajectoryDataset.fromTableSignature(queues(Table.queue("plain", 10)), "plain")).toThrow(RangeError);
});

test("elements have the dtypes and shapes of the signature", () => {
  const signature: Signature = { a: { b: f32(3, 3), c: i64() }, x: { dtype: "u64", shape: [null] } };
  const client = queues(Table.queue("queue", 10, { signature }));
  expect(TrajectoryDataset.fromTableSignature(client, "queue").elementSpec.data).toEqual(signature);
});

test("elements do not include the bounds of the signature", () => {
  const signature = { a: { b: { ...f32(3, 3), minimum: 0, maximum: 3 }, c: { ...i64(), minimum: 0, maximum: 5 } } };
  const client = queues(Table.queue("queue", 10, { signature }));
  expect(TrajectoryDataset.fromTableSignature(client, "queue").elementSpec.data).toEqual({ a: { b: f32(3, 3), c: i64() } });
});
