/** Compares the draws of datasets and buffers between tables in this process and on a real server. `npm run interop` runs the half with a server. */
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { f32, fifo, i32, maxHeap, prioritized, queueLimiter, uniform } from "../../src/index.ts";
import { type Client, type ReplaySample, ReverbReplayBuffer, TimestepDataset, TrajectoryDataset } from "../../src/tf-agents/index.ts";
import { type Clients, kinds } from "./clients.ts";

const spec = { act: i32(), obs: f32(2) };
const ITEM = { act: { dtype: "i32", shape: [null] }, obs: { dtype: "f32", shape: [null, 2] } } as const;
const STEP = { act: { dtype: "i32", shape: [] }, obs: { dtype: "f32", shape: [2] } } as const;
const once = { maxSize: 1000, sampler: fifo(), maxTimesSampled: 1 };
const tables = [
  { name: "once", ...once, signature: ITEM },
  { name: "bare", ...once },
  // A real server sends the next item to a stream that was closed while it waited.
  { name: "left", ...once, signature: ITEM },
  { name: "late", ...once, signature: ITEM },
  { name: "uniform", maxSize: 1000, sampler: uniform(), signature: ITEM },
  { name: "prioritized", maxSize: 1000, sampler: prioritized(1), signature: ITEM },
  { name: "heap", maxSize: 1000, sampler: maxHeap() },
  { name: "queue", maxSize: 3, sampler: fifo(), maxTimesSampled: 1, rateLimiter: queueLimiter(3), signature: ITEM },
];
/** A timeout after which no more items are expected. */
const soon = { rateLimiterTimeoutMs: 100 };

async function all<E>(from: AsyncIterable<E>, most = Number.POSITIVE_INFINITY): Promise<E[]> {
  const found: E[] = [];
  for await (const element of from) if (found.push(element) === most) break;
  return found;
}
const settled = () => new Promise((resolve) => setTimeout(resolve, 100));
const acts = (samples: readonly ReplaySample[]) => samples.map(({ data }) => data.act.toArray());

describe.each(kinds)("$name", ({ name, missing, start }) => {
  describe.skipIf(missing)("draws", () => {
    let clients: Clients<typeof spec>;
    let client: Client<typeof spec>;
    const isServer = name === "ReverbClient";

    beforeAll(async () => {
      clients = await start({ spec, tables });
      ({ client } = clients);
    });
    beforeEach(async () => {
      for (const table of tables) await client.reset(table.name);
    });
    afterAll(() => clients?.stop());

    /** Creates an item of each length. The items share no steps, and `act` counts all steps, starting at `from`. */
    async function filled(table: string, lengths: readonly number[], from = 0): Promise<void> {
      const writer = client.trajectoryWriter({ numKeepAliveRefs: 10 });
      let act = from;
      for (const length of lengths) {
        for (let i = 0; i < length; i++) await writer.append({ act, obs: [act++, 0.5] });
        const { act: a, obs } = writer.history;
        await writer.createItem(table, length, { act: a.slice(-length), obs: obs.slice(-length) });
      }
      await writer.flush();
      writer.close();
    }

    describe("of datasets", () => {
      it("return whole items nested like the spec until the rate limiter blocks, and can be iterated again", async () => {
        await filled("once", [2, 3]);
        const dataset = new TrajectoryDataset(client, "once", { spec: ITEM, ...soon });
        const samples = await all(dataset);
        expect(acts(samples)).toEqual([
          [0, 1],
          [2, 3, 4],
        ]);
        expect(samples[1]?.data.obs).toMatchObject({ shape: [3, 2], data: Float32Array.of(2, 0.5, 3, 0.5, 4, 0.5) });
        expect(samples.map(({ info: { key, ...info } }) => [typeof key, info])).toEqual(
          [2, 1].map((tableSize, i) => [isServer ? "bigint" : "number", { probability: 1, tableSize, priority: 2 + i, timesSampled: 1 }]),
        );
        expect(dataset.elementSpec.info.key.dtype).toBe(isServer ? "u64" : "f64");
        await filled("once", [1], 9);
        expect(acts(await all(dataset))).toEqual([[9]]);
        expect(acts(await all(dataset))).toEqual([]);
      });

      it("use the table's signature", async () => {
        await filled("once", [2]);
        const dataset = await TrajectoryDataset.fromTableSignature(client, "once", soon);
        expect(dataset.elementSpec.data).toEqual(ITEM);
        expect(acts(await all(dataset))).toEqual([[0, 1]]);
        const nowhere = async () => TrajectoryDataset.fromTableSignature(client, "nowhere");
        await expect(nowhere()).rejects.toMatchObject({ code: "NOT_FOUND" });
        const bare = async () => TimestepDataset.fromTableSignature(client, "bare");
        await expect(bare()).rejects.toThrow(/^table .*signature/);
      });

      it("return items step by step", async () => {
        await filled("bare", [2, 1, 2]);
        const steps = await all(new TimestepDataset(client, "bare", { spec: STEP, maxSamples: 2 }));
        expect(acts(steps)).toEqual([0, 1, 2]);
        expect(steps.map(({ info }) => info.priority)).toEqual([2, 2, 1]);
        expect(new Set(steps.map(({ info }) => info.key)).size).toBe(2);
      });

      it("return batches with keys of their dtype, and the last batch is shorter or dropped", async () => {
        await filled("once", [2, 2, 2]);
        const dataset = new TrajectoryDataset(client, "once", { spec: ITEM, ...soon });
        const [first, last] = await all(dataset.batch(2));
        expect(first?.info.key.data).toBeInstanceOf(isServer ? BigUint64Array : Float64Array);
        expect([first?.data.obs.shape, last?.data.obs.shape]).toEqual([
          [2, 2, 2],
          [1, 2, 2],
        ]);
        await filled("once", [1, 1, 1]);
        expect((await all(dataset.batch(2, { dropRemainder: true }))).map(({ data }) => data.act.toArray())).toEqual([[[0], [1]]]);
      });

      it("reject a spec that differs from the signature or the items", async () => {
        await filled("once", [2]);
        const wrong = { ...ITEM, act: { dtype: "i64", shape: [null] } } as const;
        await expect(all(new TrajectoryDataset(client, "once", { spec: wrong, ...soon }))).rejects.toMatchObject({ code: "SPEC_MISMATCH" });
        expect((await client.serverInfo()).once?.currentSize).toBe(1);
        await filled("bare", [2]);
        await expect(all(new TrajectoryDataset(client, "bare", { spec: wrong, ...soon }))).rejects.toThrow(/^column 0 of table bare must .*i64/);
        await expect(all(new TrajectoryDataset(client, "nowhere", { spec: ITEM }))).rejects.toMatchObject({ code: "NOT_FOUND" });
      });

      it("return each item once from several renewed streams", async () => {
        await filled("once", new Array(200).fill(1));
        const options = { spec: ITEM, numWorkersPerIterator: 3, maxInFlightSamplesPerWorker: 7, maxSamplesPerStream: 20, maxSamples: 200 };
        const found = acts(await all(new TrajectoryDataset(client, "once", options))).flat();
        expect(found.sort((a, b) => a - b)).toEqual(Array.from({ length: 200 }, (_, i) => i));
        expect((await client.serverInfo()).once?.currentSize).toBe(0);
      });

      it("end with a signal or when the loop ends, and later items stay in the table", async () => {
        const stop = new AbortController();
        const dataset = new TrajectoryDataset(client, "left", { spec: ITEM, signal: stop.signal });
        const waits = dataset[Symbol.asyncIterator]().next();
        setTimeout(() => stop.abort(new Error("enough")), 50);
        await expect(waits).rejects.toThrow("enough");
        const other = new TrajectoryDataset(client, "left", { spec: ITEM }).stream().getReader();
        const read = other.read();
        await new Promise((resolve) => setTimeout(resolve, 50));
        await other.cancel();
        await read;
        // The server learns a moment later that the stream was closed. Until then, a real server sends the next items to both streams.
        const size = async () => (await client.serverInfo()).left?.currentSize as number;
        let before = 0;
        await vi.waitFor(
          async () => {
            before = await size();
            await filled("left", [1, 1]);
            await settled();
            expect(await size()).toBe(before + 2);
          },
          { timeout: 20_000 },
        );
        await filled("left", [1, 1, 1, 1, 1]);
        await settled();
        expect(await size()).toBe(before + 7);
      });

      it("continue while a writer waits for a full queue", async () => {
        const written = filled("queue", new Array(40).fill(1));
        const found = await all(new TrajectoryDataset(client, "queue", { spec: ITEM, maxSamples: 40 }));
        await written;
        expect(acts(found).flat()).toEqual(Array.from({ length: 40 }, (_, i) => i));
      });
    });

    describe("of a buffer", () => {
      const bufferOf = (tableName: string, options: { readonly sequenceLength?: number } = {}) =>
        new ReverbReplayBuffer(spec, { client, tableName, ...soon, ...options });
      const rows = (elements: readonly (readonly [{ readonly act: { toArray(): unknown } }, unknown])[]) => elements.map(([{ act }]) => act.toArray());

      it("capacity, numFrames and clear use the table and can be awaited", async () => {
        await filled("uniform", [2, 2, 2]);
        const buffer = bufferOf("uniform");
        expect([await buffer.capacity, await buffer.numFrames(), (await buffer.getTableInfo()).sampler.kind]).toEqual([1000, 3, "uniform"]);
        await buffer.clear();
        expect(await buffer.numFrames()).toBe(0);
      });

      it("random batches contain the info of each step", async () => {
        await filled("uniform", new Array(30).fill(2));
        const seen = new Set<number>();
        for (const [{ act, obs }, { ids, probabilities, tableSizes }] of await all(
          bufferOf("uniform", { sequenceLength: 2 }).asDataset({ sampleBatchSize: 4 }),
          50,
        )) {
          expect([act.shape, obs.shape, ids.shape, ids.data instanceof BigUint64Array]).toEqual([[4, 2], [4, 2, 2], [4, 2], isServer]);
          for (let i = 0; i < 8; i += 2) {
            expect([act.data[i + 1], obs.data[2 * i], ids.data[i + 1]]).toEqual([(act.data[i] as number) + 1, act.data[i], ids.data[i]]);
            seen.add(act.data[i] as number);
          }
          expect([...probabilities.data, ...tableSizes.data].map((x) => Math.round(x * 1e9) / 1e9)).toEqual([
            ...new Array(8).fill(0.033333333),
            ...new Array(8).fill(30),
          ]);
        }
        expect([...seen].every((first) => first % 2 === 0)).toBe(true);
        expect(seen.size).toBeGreaterThan(25);
      });

      it("windows are drawn from longer items, and from items of different lengths", async () => {
        await filled("uniform", [4, 6, 5, 1]);
        const windows = new Set<number>();
        for (const [{ act }] of await all(bufferOf("uniform").asDataset({ sampleBatchSize: 3, numSteps: 2 }), 40)) {
          expect(act.shape).toEqual([3, 2]);
          for (let i = 0; i < 6; i += 2) {
            expect(act.data[i + 1]).toBe((act.data[i] as number) + 1);
            windows.add(act.data[i] as number);
          }
        }
        expect([...windows].sort((a, b) => a - b)).toEqual([0, 2, 4, 6, 8, 10, 12]);
      });

      it("a pass over a table with maxTimesSampled 1 returns each item once, in order, and ends", async () => {
        await filled("once", [4, 4, 4]);
        expect(rows(await all(bufferOf("once", { sequenceLength: 4 }).asDataset({ numSteps: 2, singleDeterministicPass: true })))).toEqual([
          [0, 1],
          [2, 3],
          [4, 5],
          [6, 7],
          [8, 9],
          [10, 11],
        ]);
        expect(rows(await all(bufferOf("once").asDataset({ singleDeterministicPass: true })))).toEqual([]);
        await filled("once", [1, 1, 1]);
        expect(rows(await all(bufferOf("once").asDataset({ sampleBatchSize: 2, singleDeterministicPass: true })))).toEqual([[[0], [1]]]);
      });

      it("a pass over a table with random draws is rejected", async () => {
        const pass = async () => all(bufferOf("uniform").asDataset({ singleDeterministicPass: true }));
        await expect(pass()).rejects.toThrow(/^singleDeterministicPass must be omitted/);
      });

      it("updatePriorities by id changes later draws", async () => {
        await filled("prioritized", [1, 1, 1, 1]);
        const buffer = bufferOf("prioritized");
        const ids = new Map<number, number | bigint>();
        for await (const [{ act }, info] of buffer.asDataset({ sampleBatchSize: 8 })) {
          act.data.forEach((n: number, i: number) => void ids.set(n, info.ids.data[i] as number | bigint));
          if (ids.size === 4) break;
        }
        const keys = [0, 1, 2, 3].map((n) => ids.get(n) as number | bigint);
        const found = await buffer.updatePriorities([...keys, keys[2] as number | bigint] as never, [0, 0, 9, 0, 5]);
        expect(found).toBe(isServer ? undefined : 5);
        for (const [{ act }, { priorities }] of await all(buffer.asDataset({ sampleBatchSize: 8 }), 1))
          expect([[...act.data], [...priorities.data]]).toEqual([new Array(8).fill(2), new Array(8).fill(5)]);
        const wrong = async () => buffer.updatePriorities(keys as never, [1, 1, -1, 1]);
        await expect(wrong()).rejects.toThrow(RangeError);
        const few = async () => buffer.updatePriorities(keys as never, [1]);
        await expect(few()).rejects.toThrow(RangeError);
      });

      it("an iterator waits for items, ends after the timeout, and keeps the items already drawn", async () => {
        const elements = bufferOf("late").asDataset({ sampleBatchSize: 3, timeoutMs: 300 })[Symbol.asyncIterator]();
        const first = elements.next();
        await filled("late", [1, 1, 1, 1, 1]);
        expect((await first).value?.[0].act.toArray()).toEqual([[0], [1], [2]]);
        expect((await elements.next()).done).toBe(true);
        expect(await bufferOf("late").numFrames()).toBe(0);
        await filled("late", [1], 5);
        expect((await elements.next()).value?.[0].act.toArray()).toEqual([[3], [4], [5]]);
        await elements.return?.();
      });

      it("prefetched elements keep their order, and a signal ends them", async () => {
        await filled("once", new Array(12).fill(1));
        expect(rows(await all(bufferOf("once").asDataset({ sampleBatchSize: 4, prefetch: 3 })))).toEqual([
          [[0], [1], [2], [3]],
          [[4], [5], [6], [7]],
          [[8], [9], [10], [11]],
        ]);
        await expect(all(bufferOf("left").asDataset({ signal: AbortSignal.timeout(20), timeoutMs: 5000 }))).rejects.toMatchObject({ name: "TimeoutError" });
      });

      it("items of another length, or with other columns, are rejected", async () => {
        await filled("once", [3]);
        await expect(all(bufferOf("once", { sequenceLength: 2 }).asDataset())).rejects.toThrow(
          /^an item of table once must be sequenceLength \(2\) steps long, got 3$/,
        );
        await client.insert({ act: 1 }, { bare: 1 });
        await expect(all(bufferOf("bare").asDataset())).rejects.toThrow(/^an item of table bare must .*2 columns/);
      });

      it("asDataset throws TOO_FEW if no item is long enough", async () => {
        await filled("uniform", [1, 1]);
        await expect(all(bufferOf("uniform").asDataset({ numSteps: 2 }))).rejects.toMatchObject({ code: "TOO_FEW" });
      });

      it("an unknown table rejects, and a server rejects synchronous loops and passes over reusable items", async () => {
        const nowhere = async () => all(bufferOf("nowhere").asDataset());
        await expect(nowhere()).rejects.toMatchObject({ code: "NOT_FOUND" });
        await filled("heap", [1, 1]);
        const loop = () => [...bufferOf("heap").asDataset({ singleDeterministicPass: true })].length;
        const pass = all(bufferOf("heap").asDataset({ singleDeterministicPass: true }));
        if (isServer) {
          expect(loop).toThrow(/table heap.*for await$/);
          await expect(pass).rejects.toMatchObject({ code: "UNSUPPORTED", message: expect.stringContaining("maxTimesSampled = 1") });
        } else expect([loop(), (await pass).length]).toEqual([2, 2]);
      });
    });
  });
});
