import { expect, expectTypeOf, test, vi } from "vitest";
import { f32, fifo, i32, maxHeap, minSize, prioritized, queueLimiter, Replay, text, uniform } from "../../../src/index.ts";
import { type Client, LocalClient, type ReplaySample, ReverbReplayBuffer, Table } from "../../../src/tf-agents/index.ts";

const spec = { a: i32(), b: f32(2) } as const;
const code = (error: string) => expect.objectContaining({ code: error });
const once = { maxSize: 9, sampler: fifo(), maxTimesSampled: 1 };
const client = (table: object = once) => LocalClient.of({ spec, tables: [{ name: "t", maxSize: 9, ...table }], seed: 1 });
/** Inserts items with the given numbers of steps. */
function filled(lengths: readonly number[], made = client()) {
  const writer = made.trajectoryWriter({ numKeepAliveRefs: 9, validateItems: false });
  let n = 0;
  for (const length of lengths) {
    for (let i = 0; i < length; i++) writer.append({ a: n, b: [n++, 0.5] });
    const { a, b } = writer.history;
    writer.createItem("t", 1, { a: a.slice(), b: b.slice() });
    writer.endEpisode();
  }
  return made;
}
const plain = ({ data }: ReplaySample) => data.map((column: { toArray(): unknown }) => column.toArray());

test("sample returns whole columns or a list of steps, with the info of the item", () => {
  const made = filled([2, 1]);
  const [whole] = [...made.sample("t", 1, { emitTimesteps: false })];
  expect(plain(whole as ReplaySample)).toEqual([
    [0, 1],
    [
      [0, 0.5],
      [1, 0.5],
    ],
  ]);
  expect(whole?.info).toEqual({ key: expect.any(Number), probability: 1, tableSize: 2, priority: 1, timesSampled: 1 });
  const [steps = []] = [...made.sample("t")];
  expect(steps.map(plain)).toEqual([[2, [2, 0.5]]]);
  expectTypeOf(made.sample("t", 2, { emitTimesteps: false })).toExtend<Iterable<ReplaySample>>();
  expectTypeOf(made.sample("t")).toExtend<Iterable<readonly ReplaySample[]>>();
});

test("unpackAsTableSignature nests data like the table's signature", () => {
  const signature = { n: { a: { dtype: "i32", shape: [null] } }, z: { dtype: "f32", shape: [null, 2] } } as const;
  const made = filled([2], LocalClient.of({ spec, tables: [{ name: "t", ...once, signature }] }));
  const [sample] = [...made.sample("t", 1, { emitTimesteps: false, unpackAsTableSignature: true })];
  expect(sample?.data.n.a.toArray()).toEqual([0, 1]);
  expect(sample?.data.z.shape).toEqual([2, 2]);
});

test("unpacking rejects an item with more columns than the signature, and counts it as sampled", () => {
  const made = filled([2], LocalClient.of({ spec, tables: [{ name: "t", ...once, signature: { dtype: "i32", shape: [2] } }] }));
  expect(() => [...made.sample("t", 1, { unpackAsTableSignature: true })]).toThrow(/^an item of table t must be a list of 1 column,.*got 2 columns$/);
  expect(made.table("t").size).toBe(0);
});

test("`for` ends if no item is available, and `for await` waits for items", async () => {
  const made = client();
  expect([...made.sample("t", 2)]).toEqual([]);
  const waits = (async () => {
    const found: unknown[] = [];
    for await (const sample of made.sample("t", 2, { emitTimesteps: false })) found.push(plain(sample)[0]);
    return found;
  })();
  made.insert({ a: 1, b: [0, 0] }, { t: 1 });
  made.insert({ a: 2, b: [0, 0] }, { t: 1 });
  expect(await waits).toEqual([[1], [2]]);
  expect(made.table("t").size).toBe(0);
});

test("a signal ends a waiting sample, and later items stay in the table", async () => {
  const made = client();
  const stop = new AbortController();
  const waits = made.sample("t", 1, { signal: stop.signal })[Symbol.asyncIterator]().next();
  await new Promise((resolve) => setTimeout(resolve));
  stop.abort(new Error("enough"));
  await expect(waits).rejects.toThrow("enough");
  made.insert({ a: 1, b: [0, 0] }, { t: 1 });
  await Promise.resolve();
  expect(made.table("t").size).toBe(1);
  expect(() => [...made.sample("t", 1, { signal: AbortSignal.abort(new Error("before")) })]).toThrow("before");
});

test("leaving an iteration stops drawing", async () => {
  const made = filled([1, 1, 1]);
  for (const _ of made.sample("t", 3)) break;
  for await (const _ of made.sample("t", 3)) break;
  expect(made.table("t").size).toBe(1);
});

test.each([
  [0, RangeError, /^numSamples must be an integer >= 1, got 0$/],
  [-2, RangeError, /^numSamples/],
  [1.5, TypeError, /^numSamples/],
  ["2", TypeError, /^numSamples must be an integer >= 1, got "2"$/],
])("numSamples %s is rejected", (n, kind, text) => {
  const call = () => client().sample("t", n as number);
  expect(call).toThrow(kind);
  expect(call).toThrow(text);
});

test("sample checks its arguments when it is called", () => {
  const made = client();
  expect([...made.sample("t", -1)]).toEqual([]);
  expect(() => made.sample("nowhere")).toThrow(/^table must be one of "t", got "nowhere"$/);
  expect(() => made.sample("t", 1, { emitTimesteps: 1 as never })).toThrow(/^emitTimesteps must be a boolean, got 1$/);
  expect(() => made.sample("t", 1, { emit: true } as never)).toThrow(/^options has no option "emit"/);
  expect(() => made.sample("t", 1, { signal: 3 as never })).toThrow(/^signal must be an AbortSignal/);
});

test("sampling steps rejects an item with columns of different lengths, and lists their shapes", () => {
  const made = client();
  const writer = made.trajectoryWriter({ numKeepAliveRefs: 3 });
  for (let i = 0; i < 3; i++) writer.append({ a: i, b: [i, i] });
  const { a, b } = writer.history;
  writer.createItem("t", 1, { a: a.slice(), b: b.at(-1) });
  expect(() => [...made.sample("t")]).toThrow(/^an item of table t .*got columns of shapes \[3\] \[2\]$/);
});

test("strings and single numbers are returned as columns", () => {
  const made = LocalClient.of({ spec: { word: text({ maxBytes: 8 }), n: i32() }, tables: [{ name: "t", ...once }] });
  const writer = made.trajectoryWriter({ numKeepAliveRefs: 2 });
  for (const word of ["ab", "c"]) writer.append({ word, n: 3 });
  writer.createItem("t", 1, { w: writer.history.word.at(-1), ws: writer.history.word.slice(), n: writer.history.n.at(0) });
  const [sample] = [...made.sample("t", 1, { emitTimesteps: false })];
  expect(sample?.data).toMatchObject([
    { data: Int32Array.of(3), shape: [] },
    { data: ["c"], shape: [] },
    { data: ["ab", "c"], shape: [2] },
  ]);
});

test("serverInfo returns every table with its options and counts", () => {
  const made = LocalClient.of({ spec, tables: [Table.queue("q", 3), { name: "t", maxSize: 5, sampler: prioritized(0.5), rateLimiter: minSize(2) }] });
  made.insert({ a: 1, b: [1, 1] }, { q: 1, t: 2 });
  made.table("q").sample(1);
  expect(made.serverInfo({ timeout: 5 })).toEqual({
    q: {
      name: "q",
      sampler: { kind: "fifo" },
      remover: { kind: "fifo" },
      maxSize: 3,
      maxTimesSampled: 1,
      rateLimiterInfo: { samplesPerInsert: 1, minSizeToSample: 1, minDiff: 0, maxDiff: 3, insertStats: { completed: 1 }, sampleStats: { completed: 1 } },
      signature: undefined,
      currentSize: 0,
      numEpisodes: 0,
      numDeletedEpisodes: 1,
      numUniqueSamples: 1,
    },
    t: expect.objectContaining({ maxTimesSampled: 0, currentSize: 1, sampler: { kind: "prioritized", exponent: 0.5, withMin: false } }),
  });
  expect(() => made.serverInfo({ timeout: -1 })).toThrow(/^timeout must be a finite number >= 0, got -1$/);
  expect(() => made.serverInfo({ timeoutMs: 1 } as never)).toThrow(/has no option "timeoutMs"/);
});

test("mutatePriorities accepts a Map or pairs, changes all or none, and prefers deletions", () => {
  const made = client({ sampler: maxHeap() });
  for (let a = 0; a < 3; a++) made.insert({ a, b: [0, 0] }, { t: a });
  const [{ info }] = [...made.sample("t", 1, { emitTimesteps: false })] as [ReplaySample];
  made.mutatePriorities("t", { updates: new Map([[info.key, 0.5]]) });
  const [second] = [...made.sample("t", 1, { emitTimesteps: false })] as [ReplaySample];
  expect(plain(second)[0]).toEqual([1]);
  expect(() =>
    made.mutatePriorities("t", {
      updates: [
        [second.info.key, 9],
        [info.key, -1],
      ],
      deletes: [info.key],
    }),
  ).toThrow(/must be a finite number >= 0, got -1$/);
  expect(made.table("t").explain(second.info.key as number).priority).toBe(1);
  made.mutatePriorities("t", { updates: [[info.key, 5]], deletes: [BigInt(info.key)] });
  expect(made.table("t").size).toBe(2);
  made.mutatePriorities("t", {});
  for (const [changes, text] of [
    [{ updates: [info.key] }, /^updates must be a Map, or pairs \[key, priority\]/],
    [{ updates: { 1: 2 } }, /^updates must .*got an object/],
    [{ updates: { data: new Float64Array(2), shape: [2] } }, /^updates must .*got an object/],
    [{ updates: [["1", 2]] }, /^a key of updates must .*got "1"$/],
    [{ deletes: 3 }, /^deletes must be a list, got 3$/],
    [{ delete: [] }, /^changes has no option "delete"/],
  ] as const) {
    expect(() => made.mutatePriorities("t", changes as never)).toThrow(TypeError);
    expect(() => made.mutatePriorities("t", changes as never)).toThrow(text);
  }
  expect(() => made.mutatePriorities("nowhere", {})).toThrow(code("NOT_FOUND"));
  for (const priorities of ["t", ["t"], new Map([["t", 1]]), 1, undefined, {}])
    expect(() => made.insert({ a: 1, b: [0, 0] }, priorities as never)).toThrow(/^priorities (must be|is required:) an object with at least one table/);
});

test("a checkpoint restores a client with its keys and draws", () => {
  const made = client({ sampler: uniform() });
  for (let a = 0; a < 4; a++) made.insert({ a, b: [0, 0] }, { t: 1 });
  const again = new LocalClient(Replay.restore<typeof spec, "t">(made.checkpoint()));
  const draw = (one: LocalClient<typeof spec>) => [...one.sample("t", 5, { emitTimesteps: false })];
  expect(JSON.stringify(draw(again))).toBe(JSON.stringify(draw(made)));
});

test("reset empties one table, and admits a waiting insert", async () => {
  const made = LocalClient.of({ spec, tables: [Table.queue("q", 1)] });
  made.insert({ a: 1, b: [0, 0] }, { q: 1 });
  const waits = made.insert({ a: 2, b: [0, 0] }, { q: 1 });
  made.reset("q");
  await waits;
  expect(made.serverInfo().q).toMatchObject({ currentSize: 1, rateLimiterInfo: { insertStats: { completed: 1 } } });
  expect(() => made.reset("nowhere")).toThrow(code("NOT_FOUND"));
});

test("an inserted step fits a signature of one-step items or of single steps", () => {
  for (const shape of [[1], [], [null]]) {
    const made = LocalClient.of({ spec: i32(), tables: [{ name: "t", ...once, signature: { dtype: "i32", shape } }] });
    made.insert(1, { t: 1 });
    expect(made.table("t").size).toBe(1);
  }
  const made = LocalClient.of({ spec: i32(), tables: [{ name: "t", ...once, signature: { dtype: "i32", shape: [2] } }] });
  expect(() => made.insert(1, { t: 1 })).toThrow(/^column 0 of an item of table t must .*i32.*\[2\].*got i32 of shape \[1\]$/);
  const signature = Object.fromEntries(["a", "b", "c"].map((name) => [name, { dtype: "i32", shape: [1] }] as const));
  const wide = LocalClient.of({ spec: { a: i32(), b: i32(), c: i32() }, tables: [{ name: "t", ...once, signature }] });
  expect(() => wide.insert({ a: 1, b: 2 }, { t: 1 })).toThrow(
    /^an item of table t must .*3 columns.*: a i32.*, b i32.*, c i32.*, got 2: i32 of shape \[1\], i32 of shape \[1\]$/,
  );
  const writer = made.legacyWriter({ maxSequenceLength: 2 });
  writer.append(1);
  expect(() => writer.createItem("t", 1, 1)).toThrow(code("SPEC_MISMATCH"));
  writer.append(1);
  writer.createItem("t", 2, 1);
  expect(made.table("t").size).toBe(1);
});

test("calls of a client work through the Client interface", async () => {
  const any: Client<typeof spec> = client();
  const { t } = await any.serverInfo();
  expect(t?.maxSize).toBe(9);
  await any.insert({ a: 1, b: [1, 1] }, { t: 1 });
  for await (const { info } of any.sample("t", 1, { emitTimesteps: false })) await any.mutatePriorities("t", { deletes: [info.key] });
  await any.reset("t");
  any.structuredWriter;
  const sampler = any.sampler("t", { maxSamples: 1, rateLimiterTimeoutMs: 0 });
  await expect(sampler.next()).rejects.toThrow(code("TIMEOUT"));
  sampler.close();
  expect(await sampler.next()).toBe(undefined);
});

test("a sampler of an unknown table throws NOT_FOUND on the first item", () => {
  const sampler = client().sampler("nowhere");
  expect(() => sampler.next()).toThrow(code("NOT_FOUND"));
  expect(() => client().sampler("t", { maxSamples: 0 })).toThrow(/^maxSamples must be an integer >= 1, or -1, got 0$/);
  expect(() => client().sampler("t", { max: 1 } as never)).toThrow(/has no option "max"/);
});

test("getTableInfo of a buffer equals the table's entry in serverInfo", () => {
  const made = client();
  const buffer = new ReverbReplayBuffer(spec, { client: made, tableName: "t" });
  made.insert({ a: 1, b: [1, 1] }, { t: 1 });
  expect(buffer.getTableInfo()).toEqual(made.serverInfo().t);
  expect(buffer.getTableInfo().currentSize).toBe(buffer.numFrames());
});

test("a Table defines queues, stacks and modified copies, and counts once a client uses it", () => {
  const queue = Table.queue("q", 3, { signature: { dtype: "i32", shape: [] } });
  expect(queue).toMatchObject({ name: "q", maxSize: 3, maxTimesSampled: 1, sampler: fifo(), remover: fifo(), rateLimiter: queueLimiter(3) });
  expect(queue.info).toMatchObject({ currentSize: 0, maxTimesSampled: 1, rateLimiterInfo: { minDiff: 0, maxDiff: 3 }, signature: { dtype: "i32", shape: [] } });
  expect(Table.stack("s", 2)).toMatchObject({ sampler: { kind: "lifo" }, remover: { kind: "lifo" }, maxTimesSampled: 1 });
  const wider = queue.replace({ name: "w", maxSize: 9, maxTimesSampled: 0 });
  expect(wider.info).toMatchObject({ name: "w", maxSize: 9, maxTimesSampled: 0, rateLimiterInfo: { maxDiff: 3 } });
  expect(queue.maxSize).toBe(3);
  const made = LocalClient.of({ spec: i32(), tables: [queue, wider] });
  made.insert(1, { q: 1 });
  expect([queue.info.currentSize, wider.info.currentSize]).toEqual([1, 0]);
  expect(made.signature("q")).toEqual({ dtype: "i32", shape: [] });
  const table = new Table({ name: "t", maxSize: 4 });
  expect(Object.keys(table).sort()).toEqual(["maxSize", "name", "rateLimiter", "remover", "sampler"]);
});

test.each([
  [() => Table.queue("q", 0), RangeError, /^maxSize must be an integer in 1 … \d+, got 0$/],
  [() => Table.stack("s", 1.5), TypeError, /^maxSize/],
  [() => Table.queue("", 1), RangeError, /^name must be a non-empty string, got ""$/],
  [() => new Table({ name: 3 as never, maxSize: 1 }), TypeError, /^name must be a string, got 3$/],
  [() => new Table({ name: "t", maxSize: 1, sampler: "fifo" as never }), TypeError, /^sampler must .*uniform\(\), got "fifo"$/],
  [() => new Table({ name: "t", maxSize: 1, rateLimiter: 3 as never }), TypeError, /^rateLimiter must be a rate limiter/],
  [() => new Table({ name: "t", maxSize: 1, maxTimesSampled: -1 }), RangeError, /^maxTimesSampled/],
  [() => new Table({ name: "t", max: 1 } as never), TypeError, /has no option "max"/],
  [() => Table.queue("q", 3).replace({ maxSize: 0 }), RangeError, /^maxSize/],
  [() => Table.queue("q", 3).replace({ size: 1 } as never), TypeError, /has no option "size"/],
])("an invalid table definition is rejected %#", (make, kind, message) => {
  expect(make).toThrow(kind);
  expect(make).toThrow(message);
});

test("endEpisode with a time limit ends the episode only if its items are admitted", async () => {
  const made = LocalClient.of({ spec: i32(), tables: [Table.queue("q", 1)] });
  const writer = made.trajectoryWriter({ numKeepAliveRefs: 3 });
  for (let i = 0; i < 2; i++) {
    writer.append(i);
    writer.createItem("q", 1, { x: writer.history.at(-1) });
  }
  await expect(writer.endEpisode({ timeoutMs: 1 })).rejects.toThrow(/^timed out after 1 ms: items are still waiting for the rate limiter \(1 in total\)$/);
  expect(writer.episodeSteps).toBe(2);
  const stop = new AbortController();
  const stopped = writer.endEpisode({ signal: stop.signal });
  expect(() => writer.append(2)).toThrow(/episode .*endEpisode/);
  stop.abort(new Error("enough"));
  await expect(stopped).rejects.toThrow("enough");
  const ended = writer.endEpisode({ timeoutMs: 1000 });
  made.table("q").sample(1);
  await ended;
  expect(writer.episodeSteps).toBe(0);
  // Without a time limit, the episode ends immediately; the promise is for callers that want to wait.
  made.insert(8, { q: 1 });
  writer.append(5);
  writer.createItem("q", 1, { x: writer.history.at(-1) });
  const waits = writer.endEpisode();
  expect([writer.episodeSteps, waits]).toEqual([0, expect.any(Promise)]);
  for (let i = 0; i < 3; i++) made.table("q").sample(1);
  await waits;
  expect(writer.endEpisode({ timeoutMs: 0 })).toBe(undefined);
});

test("closing a writer while endEpisode waits rejects it with CLOSED, and the item remains", async () => {
  const made = LocalClient.of({ spec: i32(), tables: [Table.queue("q", 1)] });
  made.insert(8, { q: 1 });
  const writer = made.trajectoryWriter({ numKeepAliveRefs: 3 });
  writer.append(1);
  writer.createItem("q", 1, { x: writer.history.at(-1) });
  const ended = writer.endEpisode({ timeoutMs: 1000 });
  writer.close();
  made.table("q").sample(1);
  await expect(ended).rejects.toThrow(code("CLOSED"));
  expect(made.table("q").size).toBe(1);
});

test("an abandoned wait causes no unhandled rejection", async () => {
  const unhandled = vi.fn();
  process.on("unhandledRejection", unhandled);
  const made = LocalClient.of({ spec: i32(), tables: [Table.queue("q", 1)] });
  made.insert(8, { q: 1 });
  const writer = made.trajectoryWriter({ numKeepAliveRefs: 3 });
  writer.append(1);
  writer.createItem("q", 1, { x: writer.history.at(-1) });
  writer.endEpisode({ timeoutMs: 1 });
  void made.sample("q", 3)[Symbol.asyncIterator]();
  await new Promise((resolve) => setTimeout(resolve, 10));
  process.off("unhandledRejection", unhandled);
  expect(unhandled).not.toHaveBeenCalled();
});
