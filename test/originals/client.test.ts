/** Translates Reverb's client_test.py to our client. */
import { expect, test } from "vitest";
import { f32, f64, fifo, i32, i64, minSize, prioritized, type Spec } from "../../src/index.ts";
import { ReverbClient } from "../../src/reverb/index.ts";
import { LocalClient, Table } from "../../src/tf-agents/index.ts";
import { GrpcServer } from "../support/grpc-server.ts";
import { contents, frequencies, plain, type Sampled, samples } from "./support.ts";

const DIST = "dist";
const NESTED = "queue_nested";
const QUEUE = "queue";
const SIGNATURE = { a: i64(3), b: f32(3, 2, 2) };

/** Returns a client with a prioritized table that needs three items before a draw, and two queues. If the spec has fields a and b, one has a signature. */
function clientOf<const S extends Spec>(spec: S, signature?: { dtype: "i64"; shape: number[] }): LocalClient<S> {
  const dist = { name: DIST, sampler: prioritized(1), remover: fifo(), maxSize: 1000, rateLimiter: minSize(3) };
  const isNested = (Object.keys(spec) as string[]).join() === "a,b";
  return LocalClient.of({
    spec,
    tables: [new Table({ ...dist, signature }), Table.queue(NESTED, 10, isNested ? { signature: SIGNATURE } : {}), Table.queue(QUEUE, 10)],
  });
}
const ofNumbers = () => clientOf(i64(), { dtype: "i64", shape: [] });

/** Draws one sample from a table that is not empty. */
async function one(client: Sampled, table: string, options?: object) {
  const [sample] = await samples(client, table, 1, options);
  return sample as NonNullable<typeof sample>;
}

test("a sample's info contains the number of items in its table", async () => {
  const client = ofNumbers();
  for (let i = 1; i <= 10; i++) {
    client.insert(BigInt(i), { [DIST]: 1 });
    if (i >= 3) expect((await one(client, DIST)).info.tableSize).toBe(i);
  }
  expect(client.table(DIST).size).toBe(10);
});

test("a sample's info contains its probability", async () => {
  const client = ofNumbers();
  for (let i = 1; i <= 10; i++) {
    client.insert(BigInt(i), { [DIST]: 1 });
    if (i >= 3) expect((await one(client, DIST)).info.probability).toBeCloseTo(1 / i, 12);
  }
});

test("a sample's info contains the item's priority, before and after an update", async () => {
  const client = ofNumbers();
  for (let i = 0; i < 10; i++) client.insert(BigInt(i), { [DIST]: 1000 });
  const priorities = async () => new Map((await samples(client, DIST, 100)).map(({ info }) => [info.key, info.priority]));
  const before = await priorities();
  expect(new Set(before.values())).toEqual(new Set([1000]));
  const changed = new Map([...before.keys()].map((key, i) => [key, i]));
  client.mutatePriorities(DIST, { updates: changed });
  const after = await priorities();
  expect(after.size).toBeGreaterThan(5);
  // The item of priority 0 is never drawn again.
  for (const [key, priority] of after) expect(priority).toBe(changed.get(key) ?? 1000);
});

test("insert requires a table", () => {
  expect(() => ofNumbers().insert(1n, {})).toThrow(RangeError);
});

test("items are drawn in proportion to their priorities", async () => {
  const client = ofNumbers();
  client.insert(1n, { [DIST]: 1 });
  client.insert(2n, { [DIST]: 0.1 });
  client.insert(3n, { [DIST]: 0 });
  expect(client.table(DIST).size).toBe(3);
  const found = await frequencies(client, DIST);
  expect(found.length).toBe(2);
  expect(Math.abs((found[0] as number) - 1 / 1.1)).toBeLessThan(0.02);
  expect(Math.abs((found[1] as number) - 0.1 / 1.1)).toBeLessThan(0.02);
});

test("a legacy writer requires a maxSequenceLength of at least 1", () => {
  expect(() => ofNumbers().legacyWriter({ maxSequenceLength: 0 })).toThrow(RangeError);
});

test("a legacy writer requires a chunkLength of at least 1", () => {
  const client = ofNumbers();
  client.legacyWriter({ maxSequenceLength: 2, chunkLength: 1 });
  for (const chunkLength of [0, -1]) expect(() => client.legacyWriter({ maxSequenceLength: 2, chunkLength })).toThrow(RangeError);
});

test("a legacy writer rejects a chunkLength above maxSequenceLength", () => {
  const client = ofNumbers();
  for (const chunkLength of [1, 2]) client.legacyWriter({ maxSequenceLength: 2, chunkLength });
  expect(() => client.legacyWriter({ maxSequenceLength: 2, chunkLength: 3 })).toThrow(RangeError);
});

test("a legacy writer rejects a negative maxInFlightItems", () => {
  const client = ofNumbers();
  for (const maxInFlightItems of [1, 2]) client.legacyWriter({ maxSequenceLength: 1, maxInFlightItems });
  expect(() => client.legacyWriter({ maxSequenceLength: 1, maxInFlightItems: -1 })).toThrow(RangeError);
});

test("an item is in its table after its writer is closed", () => {
  const client = ofNumbers();
  const writer = client.legacyWriter({ maxSequenceLength: 2 });
  writer.append(0n);
  writer.createItem(DIST, 1, 1);
  writer.close();
  expect(client.table(DIST).size).toBe(1);
});

test("items of one and two steps, from append and appendSequence, are drawn equally often", async () => {
  const client = clientOf(i64());
  const writer = client.legacyWriter({ maxSequenceLength: 2 });
  writer.append(0n);
  writer.createItem(DIST, 1, 1);
  writer.append(1n);
  writer.createItem(DIST, 2, 1);
  writer.append(2n);
  writer.createItem(DIST, 1, 1);
  writer.appendSequence(BigInt64Array.of(3n, 4n) as never);
  writer.createItem(DIST, 2, 1);
  writer.close();
  const found = await frequencies(client, DIST);
  expect(found.length).toBe(4);
  for (const part of found) expect(Math.abs(part - 0.25)).toBeLessThan(0.03);
  const items = (await samples(client, DIST, 100)).map(({ data }) => String(plain(data)));
  expect([...new Set(items)].sort()).toEqual(["0", "0,1", "2", "3,4"]);
});

test("one table can contain items of different shapes and dtypes", async () => {
  const client = clientOf({ number: i64(), small: f32(2, 2), large: i32(3, 3) });
  const inserted = [{ number: 1n }, { small: [1, 1, 1, 1] }, { large: new Int32Array(9).fill(1) }];
  for (const step of inserted) client.insert(step as never, { [QUEUE]: 1 });
  const matrix = (n: number) => Array.from({ length: n }, () => Array.from({ length: n }, () => 1));
  expect(await contents(client, QUEUE)).toEqual([[[1n]], [[matrix(2)]], [[matrix(3)]]]);
});

test("a changed priority changes how often an item is drawn", async () => {
  const client = ofNumbers();
  for (let i = 0; i < 3; i++) client.insert(0n, { [DIST]: 1 });
  const before = await frequencies(client, DIST);
  expect(before.length).toBe(3);
  for (const part of before) expect(Math.abs(part - 1 / 3)).toBeLessThan(0.03);
  const { key } = (await one(client, DIST)).info;
  client.mutatePriorities(DIST, { updates: [[key, 0.5]] });
  const after = await frequencies(client, DIST);
  expect(after.length).toBe(3);
  for (const [i, wanted] of [0.4, 0.4, 0.2].entries()) expect(Math.abs((after[i] as number) - wanted)).toBeLessThan(0.03);
});

test("a deleted item is not drawn again", async () => {
  const client = ofNumbers();
  for (let i = 0; i < 4; i++) client.insert(0n, { [DIST]: 1 });
  expect((await frequencies(client, DIST, 1000)).length).toBe(4);
  const { key } = (await one(client, DIST)).info;
  client.mutatePriorities(DIST, { deletes: [key] });
  const after = await samples(client, DIST, 1000);
  expect(new Set(after.map(({ info }) => info.key)).size).toBe(3);
  expect(after.some(({ info }) => info.key === key)).toBe(false);
});

test("reset empties a table, and new items get new keys", async () => {
  const client = ofNumbers();
  const keys = async () => {
    for (let i = 0; i < 3; i++) client.insert(0n, { [DIST]: 1 });
    return new Set((await samples(client, DIST, 1000)).map(({ info }) => info.key));
  };
  const before = await keys();
  expect(before.size).toBe(3);
  client.reset(DIST);
  expect(client.table(DIST).size).toBe(0);
  const after = await keys();
  expect(after.size).toBe(3);
  for (const key of after) expect(before.has(key)).toBe(false);
});

test("serverInfo returns each table's items, limits, selectors and signature", async () => {
  const client = clientOf({ a: i64(), b: f32(2, 2) }, { dtype: "i64", shape: [] });
  for (let i = 0; i < 3; i++) client.insert({ a: 0n }, { [DIST]: 1 });
  await one(client, DIST);
  const info = client.serverInfo();
  expect(Object.keys(info)).toEqual([DIST, NESTED, QUEUE]);
  expect(info[DIST]).toMatchObject({ name: DIST, currentSize: 3, numUniqueSamples: 1, maxSize: 1000, signature: { dtype: "i64", shape: [] } });
  expect(info[DIST]).toMatchObject({ sampler: { kind: "prioritized", exponent: 1 }, remover: { kind: "fifo" } });
  const empty = { currentSize: 0, numUniqueSamples: 0, maxSize: 10, sampler: { kind: "fifo" }, remover: { kind: "fifo" } };
  expect(info[NESTED]).toMatchObject({ ...empty, signature: SIGNATURE });
  expect(info[QUEUE]).toMatchObject({ ...empty, signature: undefined });
});

const STEP = { a: 1n, b: [1, 1, 1, 1] };
const ONES = { a: [1n, 1n, 1n], b: [0, 1, 2].map(() => [[1, 1], [1, 1]]) } as const; // biome-ignore format: as matrices are drawn
/** Returns a client whose given table contains one item of three steps. */
function withItem(table: string) {
  const client = clientOf({ a: i64(), b: f32(2, 2) });
  const writer = client.trajectoryWriter({ numKeepAliveRefs: 3 });
  for (let i = 0; i < 3; i++) writer.append(STEP);
  const { a, b } = writer.history;
  writer.createItem(table, 1, { a: a.slice(), b: b.slice() });
  writer.close();
  return client;
}
/** The expected info of that item's sample. It has one number per field, whatever the number of steps in the item. */
const NUMBERS = { key: expect.any(Number), probability: 1, tableSize: 1, priority: 1, timesSampled: 1 };

test("an item is nested like the signature of its table", async () => {
  const { data, info } = await one(withItem(NESTED), NESTED, { unpackAsTableSignature: true });
  expect(plain(data)).toEqual(ONES);
  expect(info).toEqual(NUMBERS);
});

test("without a signature an item is a list of its columns", async () => {
  const { data, info } = await one(withItem(QUEUE), QUEUE, { unpackAsTableSignature: true });
  expect(plain(data)).toEqual([ONES.a, ONES.b]);
  expect(info).toEqual(NUMBERS);
});

test("with unpackAsTableSignature: false an item is a list of its columns", async () => {
  const { data, info } = await one(withItem(NESTED), NESTED, { unpackAsTableSignature: false });
  expect(plain(data)).toEqual([ONES.a, ONES.b]);
  expect(info).toEqual(NUMBERS);
});

test("an inserted step is an item of one step", async () => {
  const client = clientOf(i32(3, 3));
  client.insert(new Int32Array(9).fill(1), { [QUEUE]: 1 });
  const { data, info } = await one(client, QUEUE);
  expect(data[0].shape).toEqual([1, 3, 3]);
  expect([...data[0].data]).toEqual(Array(9).fill(1));
  expect(info).toEqual(NUMBERS);
});

test("columns of a legacy writer's item contain all its steps", async () => {
  const client = clientOf([i64(), f64(2, 2)] as const);
  const writer = client.legacyWriter({ maxSequenceLength: 3 });
  for (let i = 0; i < 3; i++) writer.append([BigInt(i), [1, 1, 1, 1]]);
  writer.createItem(QUEUE, 3, 1);
  writer.close();
  const { data, info } = await one(client, QUEUE);
  expect(plain(data)).toEqual([[0n, 1n, 2n], ONES.b]);
  expect(info).toEqual(NUMBERS);
});

test("serverInfo rejects with TIMEOUT if the server does not respond", async () => {
  const server = await GrpcServer.start({});
  const client = new ReverbClient(server.address);
  await expect(client.serverInfo({ timeout: 0.2 })).rejects.toMatchObject({ code: "TIMEOUT", message: expect.stringContaining("within 200 ms") });
  client.close();
  await server.stop();
});

test("many concurrent writers that are flushed lose no item", async () => {
  const client = ofNumbers();
  const write = async (i: number) => {
    const writer = client.legacyWriter({ maxSequenceLength: 1 });
    await undefined;
    writer.append(BigInt(i));
    // No item is pending yet, so this flush has nothing to wait for.
    await writer.flush();
    writer.createItem(DIST, 1, 1);
    await writer.flush();
    writer.close();
  };
  for (let round = 0; round < 5; round++) await Promise.all(Array.from({ length: 128 }, (_, i) => write(i)));
  expect(client.table(DIST).size).toBe(640);
});

test("many concurrent writers that are closed lose no item", async () => {
  const client = ofNumbers();
  const write = async (i: number) => {
    const writer = client.legacyWriter({ maxSequenceLength: 1 });
    await undefined;
    writer.append(BigInt(i));
    await undefined;
    writer.createItem(DIST, 1, 1);
    writer.close();
  };
  for (let round = 0; round < 5; round++) await Promise.all(Array.from({ length: 256 }, (_, i) => write(i)));
  // The table keeps the newest items up to its size.
  expect(client.serverInfo()[DIST]).toMatchObject({ currentSize: 1000, rateLimiterInfo: { insertStats: { completed: 1280 } } });
});

test("a trajectory writer requires numKeepAliveRefs of at least 1", () => {
  for (const numKeepAliveRefs of [0, -1]) expect(() => ofNumbers().trajectoryWriter({ numKeepAliveRefs })).toThrow(RangeError);
});
