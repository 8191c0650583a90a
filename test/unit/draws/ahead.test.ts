/** Tests batches that a loop draws in advance: unused batches must not change items, and nothing is drawn in advance if draws have other effects. */
import { afterEach, describe, expect, test, vi } from "vitest";
import { f32, fifo, i32, prioritized, queueLimiter, Replay, sampleToInsertRatio, type Table, type TableOptions, uniform } from "../../../src/index.ts";
import { memory } from "../../../src/storage/index.ts";
import { LocalClient, ReverbReplayBuffer } from "../../../src/tf-agents/index.ts";
import { sampleClientOf } from "../../../src/tf-agents/writers/local-client.ts";

const SPEC = { observation: f32(), action: i32(), reward: f32() };
const ITEMS = 20;

afterEach(() => {
  vi.restoreAllMocks();
});

/** Creates a table with 20 items of two steps, and records the warnings of its Replay. */
function filled(options: Partial<TableOptions> = {}, items = ITEMS) {
  const said: string[] = [];
  const replay = new Replay({ spec: SPEC, tables: { t: { maxSize: 100, sampler: fifo(), ...options } }, seed: 5, logger: (text) => void said.push(text) });
  const writer = replay.writer({ items: [{ table: "t", length: 2 }] });
  const keys: number[] = [];
  for (let x = 0; x <= items; x++) {
    writer.append({ observation: x, action: x, reward: x });
    if (x > 0) keys.push(writer.lastKey("t"));
  }
  return { replay, table: replay.tables.t, keys, said };
}

type Looped = AsyncIterable<unknown>;
const BATCH = { batchSize: 4, prefetch: 2 };
const ELEMENT = { sampleBatchSize: 4, prefetch: 2 };

/** All loops that draw from a table and accept `prefetch`. */
const LOOPS: { readonly [name: string]: (of: ReturnType<typeof filled>, options?: object) => Looped } = {
  "table.dataset": ({ table }, options) => table.dataset({ ...BATCH, ...options }),
  "recycled batches": ({ table }, options) => table.dataset({ ...BATCH, recycle: true, ...options }),
  "without replacement": ({ table }, options) => table.dataset({ ...BATCH, replacement: false, ...options }),
  "transitions.dataset": ({ table }, options) => table.transitions({ gamma: 1 }).dataset({ ...BATCH, ...options }),
  "asDataset of a Replay": ({ replay }, options) =>
    new ReverbReplayBuffer(SPEC, { client: replay, tableName: "t", sequenceLength: 2 }).asDataset({ ...ELEMENT, ...options }),
  "asDataset of windows": ({ replay }, options) =>
    new ReverbReplayBuffer(SPEC, { client: new LocalClient(replay), tableName: "t" }).asDataset({ sampleBatchSize: 4, numSteps: 2, prefetch: 2, ...options }),
};
const NAMES = Object.keys(LOOPS);
const loop = (name: string, of: ReturnType<typeof filled>, options?: object) => (LOOPS[name] as (typeof LOOPS)[string])(of, options);

/** Returns all user-visible state of a table and its items. */
function seen(table: Table, keys: readonly number[]) {
  return { ...table.stats(), items: keys.map((key) => table.explain(key)) };
}

describe.each(NAMES)("%s", (name) => {
  const COUNTED: [string, Partial<TableOptions>][] = [
    ["maxTimesSampled", { maxTimesSampled: 1 }],
    ["maxTimesSampled of more", { maxTimesSampled: 3 }],
    ["sampleToInsertRatio", { rateLimiter: sampleToInsertRatio(2, 1, 100) }],
    ["queueLimiter", { rateLimiter: queueLimiter(50), maxTimesSampled: 1 }],
  ];
  test.each(COUNTED)("draws nothing ahead with %s, and warns once", async (_, options) => {
    const of = filled(options);
    for await (const _ of loop(name, of)) break;
    expect(of.table.stats()).toMatchObject({ samples: 4 });
    const thrown = (async () => {
      for await (const _ of loop(name, of)) throw new Error("enough");
    })();
    await expect(thrown).rejects.toThrow("enough");
    const stop = new AbortController();
    const aborted = (async () => {
      for await (const _ of loop(name, of, { signal: stop.signal })) stop.abort(new Error("stop"));
    })();
    await expect(aborted).rejects.toThrow("stop");
    expect(of.table.stats()).toMatchObject({ samples: 12 });
    expect(of.said.filter((text) => text.includes("prefetch"))).toHaveLength(1);
    expect(of.said[0]).toMatch(/table "t"/);
    expect(of.replay.stats().warnings).toMatchObject({ unusedPrefetch: 3 });
  });

  test("prefetched batches change items only when the loop receives them", async () => {
    const [of, twin] = [filled({ sampler: uniform() }), filled({ sampler: uniform() })];
    const [ahead, plain] = [loop(name, of)[Symbol.asyncIterator](), loop(name, twin, { prefetch: 0 })[Symbol.asyncIterator]()];
    for (let turn = 0; turn < 5; turn++) {
      expect((await ahead.next()).value).toEqual((await plain.next()).value);
      expect(seen(of.table, of.keys)).toEqual(seen(twin.table, twin.keys));
      const saved = Replay.restore([...of.replay.snapshot()]).table("t");
      expect(seen(saved, of.keys)).toEqual(seen(twin.table, twin.keys));
    }
    await ahead.return?.();
    expect(seen(of.table, of.keys)).toEqual(seen(twin.table, twin.keys));
    expect(of.said).toEqual([]);
  });

  test("a loop that breaks, throws or is aborted counts only the batches that it received", async () => {
    const of = filled();
    for await (const _ of loop(name, of)) break;
    const thrown = (async () => {
      for await (const _ of loop(name, of)) throw new Error("enough");
    })();
    await expect(thrown).rejects.toThrow("enough");
    const stop = new AbortController();
    const aborted = (async () => {
      for await (const _ of loop(name, of, { signal: stop.signal })) stop.abort(new Error("stop"));
    })();
    await expect(aborted).rejects.toThrow("stop");
    expect(of.table.stats()).toMatchObject({ size: 20, samples: 12 });
    const { items } = seen(of.table, of.keys);
    expect(items.reduce((sum, { timesSampled = 0 }) => sum + timesSampled, 0)).toBe(12);
  });

  test("draws nothing while the body runs, even during a slow snapshot", async () => {
    const of = filled();
    let turns = 0;
    for await (const _ of loop(name, of, { prefetch: 5 })) {
      const chunks: Uint8Array[] = [];
      for (const chunk of of.replay.snapshot()) {
        chunks.push(chunk as Uint8Array);
        await new Promise((resolve) => setTimeout(resolve));
      }
      expect(Replay.restore(chunks as never).table("t").size).toBe(20);
      if (++turns === 3) break;
    }
  });
});

test("a journal flushed in the body contains only the draws that the loop received", async () => {
  const dir = memory();
  const open = () => Replay.open({ dir, spec: SPEC, tables: { t: { maxSize: 100 } }, durability: "manual" });
  const replay = await open();
  const writer = replay.writer({ items: [{ table: "t", length: 2 }] });
  const keys: number[] = [];
  for (let x = 0; x <= ITEMS; x++) {
    writer.append({ observation: x, action: x, reward: x });
    if (x > 0) keys.push(writer.lastKey("t"));
  }
  let turns = 0;
  for await (const _ of replay.tables.t.dataset({ batchSize: 4, prefetch: 3 })) {
    await replay.flush();
    if (++turns === 2) break;
  }
  const before = seen(replay.tables.t, keys);
  replay.dispose();
  const again = await open();
  expect(seen(again.tables.t, keys)).toEqual(before);
  expect(before).toMatchObject({ samples: 8 });
});

test("a prefetched batch keeps the priorities of its draw, and counts only existing items", async () => {
  const { table } = filled({ sampler: fifo() }, 6);
  const batches = table.dataset({ batchSize: 3, prefetch: 1 })[Symbol.asyncIterator]();
  await batches.next();
  const [key = 0] = (await batches.next()).value?.info.keys ?? [];
  table.updatePriorities([key], [7]);
  const third = (await batches.next()).value;
  expect([...(third?.info.priorities ?? [])]).toEqual([1, 1, 1]);
  expect([...(third?.info.timesSampled ?? [])]).toEqual([7, 8, 9]);
  table.delete([key]);
  const fourth = (await batches.next()).value;
  expect([...(fourth?.steps.observation.data ?? [])]).toEqual([0, 1, 0, 1, 0, 1]);
  expect(table.stats()).toMatchObject({ size: 5, samples: 12, uniqueSamples: 1 });
  expect((await batches.next()).value?.info.keys[0]).not.toBe(key);
});

test("there is no warning about prefetch in loops that ignore it", async () => {
  const of = filled({ maxTimesSampled: 1 });
  for (const _ of of.table.dataset({ batchSize: 1, prefetch: 2 })) break;
  const into = of.table.batch(1, { length: 2 });
  for await (const _ of of.table.dataset({ batchSize: 1, prefetch: 2, into })) break;
  for await (const _ of of.table.dataset({ batchSize: 1 })) break;
  expect(of.said).toEqual([]);
});

test("a deterministic pass counts only the items that the loop receives", async () => {
  const of = filled({ remover: fifo() });
  const buffer = new ReverbReplayBuffer(SPEC, { client: of.replay, tableName: "t", sequenceLength: 2 });
  for await (const _ of buffer.asDataset({ sampleBatchSize: 3, singleDeterministicPass: true })) break;
  expect(of.table.stats()).toMatchObject({ samples: 3, uniqueSamples: 3 });
  for (const _ of buffer.asDataset({ sampleBatchSize: 3, numSteps: 1, singleDeterministicPass: true })) break;
  expect(of.table.stats()).toMatchObject({ samples: 5 });
});

test("a client without a local table draws nothing ahead with maxTimesSampled", async () => {
  const warn = vi.spyOn(console, "warn").mockImplementation(() => {});
  const of = filled({ maxTimesSampled: 1 });
  const { sampler, serverInfo, mutatePriorities, reset } = sampleClientOf(of.replay);
  const inner = sampleClientOf(of.replay);
  const client = {
    sampler: sampler.bind(inner),
    serverInfo: serverInfo.bind(inner),
    mutatePriorities: mutatePriorities.bind(inner),
    reset: reset.bind(inner),
  };
  const buffer = new ReverbReplayBuffer(SPEC, { client, tableName: "t", sequenceLength: 2 });
  for (let i = 0; i < 2; i++) for await (const _ of buffer.asDataset({ sampleBatchSize: 2, prefetch: 3 })) break;
  expect(of.table.size).toBe(16);
  expect(warn).toHaveBeenCalledTimes(1);
});

test("recycled batches that were prefetched are released when the loop ends", async () => {
  const of = filled({ sampler: prioritized() });
  const memory = new Set<ArrayBufferLike>();
  for (let i = 0; i < 4; i++) {
    for await (const batch of of.table.dataset({ batchSize: 4, prefetch: 2, recycle: true })) {
      memory.add(batch.steps.observation.data.buffer);
      break;
    }
  }
  expect(memory.size).toBeLessThanOrEqual(3);
});
