/** Tests guarantees that hold both for tables in this process and for tables on a real server. `npm run interop` runs the half with a server. */
import { describe, expect, it, vi } from "vitest";
import { f32, fifo, i32, i64, maxHeap, minSize, queueLimiter, text } from "../../src/index.ts";
import {
  createConfig,
  type ItemColumns,
  type Pattern,
  patternFromTransform,
  type ReferenceStep,
  ReverbAddEpisodeObserver,
  ReverbAddTrajectoryObserver,
} from "../../src/tf-agents/index.ts";
import { signatureOf } from "../../src/tf-agents/signature.ts";
import { ourSpec } from "../conformance/step-spec.ts";
import { configOf } from "../conformance/structured/configs.ts";
import { leavesOfCase } from "../conformance/structured/departures.ts";
import { TestRandom } from "../support/random.ts";
import { some } from "../support/size.ts";
import { config, given, pattern, randomStep, SPEC as SHAPES, TABLES } from "../support/structured-random.ts";
import { StructuredTwin, type TwinItem } from "../support/structured-twin.ts";
import { episode, SPEC, step } from "../unit/tf-agents/support.ts";
import { begun, kinds, taken } from "./clients.ts";

const spec = { obs: f32(2), act: i32() };
const tables = [
  { name: "t", maxSize: 1000, sampler: fifo(), maxTimesSampled: 1 },
  { name: "u", maxSize: 1000, sampler: fifo(), maxTimesSampled: 1 },
  { name: "heap", maxSize: 3, sampler: maxHeap(), rateLimiter: minSize(2) },
];

describe.each(kinds)("$name", (kind) => {
  describe.skipIf(kind.missing)("its tables", () => {
    const on = begun(kind, { spec, tables });

    it("insert creates one item per table, without the fields that the step omits", async () => {
      await on.client.insert({ obs: [1, 2], act: 3 }, { t: 1, u: 2 });
      await on.client.insert({ act: 4 }, { t: 1 });
      expect(await taken(on.client, "t")).toEqual([[[3], [[1, 2]]], [[4]]]);
      expect(await taken(on.client, "u")).toEqual([[[3], [[1, 2]]]]);
    });

    it("serverInfo describes all tables", async () => {
      await on.client.insert({ act: 1 }, { heap: 5 });
      const info = await on.client.serverInfo();
      expect(Object.keys(info).sort()).toEqual(["heap", "t", "u"]);
      expect(info.heap).toMatchObject({ name: "heap", maxSize: 3, currentSize: 1, sampler: { kind: "maxHeap" }, rateLimiterInfo: { minSizeToSample: 2 } });
      expect(info.t).toMatchObject({ maxTimesSampled: 1, sampler: { kind: "fifo" }, remover: { kind: "fifo" } });
    });

    it("mutatePriorities updates and deletes items, and reset empties the table", async () => {
      for (const act of [1, 2, 3]) await on.client.insert({ act }, { heap: act });
      const top = async () => {
        for await (const { info, data } of on.client.sample("heap", 1, { emitTimesteps: false })) return { key: info.key, act: data[0]?.data[0] };
        return expect.unreachable();
      };
      const { key, act } = await top();
      expect(act).toBe(3);
      await on.client.mutatePriorities("heap", { updates: [[key, 1.5]] });
      const second = await top();
      expect(second.act).toBe(2);
      await on.client.mutatePriorities("heap", { deletes: [second.key] });
      expect((await top()).act).toBe(3);
      await on.client.reset("heap");
      expect((await on.client.serverInfo()).heap?.currentSize).toBe(0);
    });
  });

  describe.skipIf(kind.missing)("observers", () => {
    const signed = { name: "signed", maxSize: 1000, sampler: fifo(), maxTimesSampled: 1, signature: signatureOf(SPEC) };
    const queue = { name: "queue", maxSize: 10, sampler: fifo(), maxTimesSampled: 1, rateLimiter: queueLimiter(10) };
    const on = begun(kind, { spec: SPEC, tables: [...tables, signed, queue] });

    /** Returns the items of a table, identified by their rewards. */
    const rewards = async (table: string) => (await taken(on.client, table)).map((columns) => (columns as number[][])[4]?.join(" "));

    it("write windows of fixed length and stride to several tables, and none spans two episodes", async () => {
      const observer = new ReverbAddTrajectoryObserver(on.client, { tableName: ["t", "u"], sequenceLength: 3, strideLength: 2, priority: 0.5 });
      for (const one of [...episode(4), ...episode(2, 10)]) await observer(one);
      expect(observer.cachedSteps).toBe(0);
      await observer.flush();
      for await (const { info } of on.client.sample("t", 1, { emitTimesteps: false })) expect(info.priority).toBe(0.5);
      expect([await rewards("t"), await rewards("u")]).toEqual([
        ["2 3 4", "10 11 12"],
        ["0 1 2", "2 3 4", "10 11 12"],
      ]);
      observer.close();
    });

    it("pad and tile the ends of episodes, and reset(false) drops cached steps", async () => {
      const observer = new ReverbAddTrajectoryObserver(on.client, { tableName: "signed", sequenceLength: 3, padEndOfEpisodes: true, tileEndOfEpisodes: true });
      for (const one of episode(2, 5)) await observer(one);
      await observer(step(20));
      await observer.reset(false);
      await observer.flush();
      expect(await rewards("signed")).toEqual(["5 6 7", "6 7 0", "7 0 0"]);
      observer.close();
    });

    it("write whole episodes, and skip longer ones with bypassPartialEpisodes", async () => {
      const warnings: string[] = [];
      const observer = new ReverbAddEpisodeObserver(on.client, {
        tableName: "signed",
        maxSequenceLength: 300,
        bypassPartialEpisodes: true,
        onWarning: (message) => warnings.push(message),
      });
      for (const length of [1, 299, 300, 7]) for (const one of episode(length)) await observer(one);
      observer.updatePriority(3);
      await observer(step(1));
      await observer.reset(true);
      await observer.flush();
      const numbers = (n: number) => Array.from({ length: n + 1 }, (_, i) => i).join(" ");
      expect(warnings).toHaveLength(1);
      expect(await rewards("signed")).toEqual([numbers(1), numbers(299), numbers(7), "1"]);
      observer.close();
    });

    it("keep the order of steps that are not awaited, and flush waits for all of them", async () => {
      const observer = new ReverbAddTrajectoryObserver(on.client, { tableName: "signed", sequenceLength: 2 });
      for (let n = 0; n < 500; n++) observer(step(n));
      await observer.flush();
      expect(await rewards("signed")).toEqual(Array.from({ length: 499 }, (_, n) => `${n} ${n + 1}`));
      observer.close();
    });

    it("keep created items after close, and continue after open", async () => {
      const observer = new ReverbAddTrajectoryObserver(on.client, { tableName: "signed", sequenceLength: 2 });
      for (let n = 0; n < 5; n++) await observer(step(n));
      observer.close();
      expect(() => observer(step(9))).toThrow("this observer was closed");
      observer.open();
      for (let n = 10; n < 12; n++) await observer(step(n));
      await observer.flush();
      observer.close();
      await vi.waitFor(async () => expect((await on.client.serverInfo()).signed?.currentSize).toBe(5), { timeout: 10_000 });
      expect((await rewards("signed")).sort()).toEqual(["0 1", "1 2", "10 11", "2 3", "3 4"]);
    });

    it("wait while too many items are in flight, continue when items are sampled, and reject on close", async () => {
      const observer = new ReverbAddTrajectoryObserver(on.client, { tableName: "queue", sequenceLength: 1 });
      const count = 1500;
      let given = 0;
      const pushed = (async () => {
        for (; given < count; given++) await observer(step(given));
      })();
      // Nothing samples the items: about a thousand are in the queue or on their way.
      await vi.waitFor(() => expect(given).toBeGreaterThan(990), { timeout: 20_000 });
      await new Promise((resolve) => setTimeout(resolve, 200));
      expect(given).toBeLessThan(1100);
      await expect((async () => await observer.flush({ timeoutMs: 50 }))()).rejects.toMatchObject({ code: "TIMEOUT" });
      let next = 0;
      for await (const { data } of on.client.sample("queue", count, { emitTimesteps: false })) expect(data[4]?.data[0]).toBe(next++);
      await pushed;
      await observer.flush();
      expect(next).toBe(count);
      const waiting: unknown[] = [];
      for (let n = 0; n < 1100; n++) {
        const wait = observer(step(n));
        if (wait !== undefined) waiting.push(wait);
      }
      observer.close();
      await expect(waiting.at(-1)).rejects.toMatchObject({ code: "CLOSED" });
      await on.client.reset("queue");
    });

    it("return the signature of their tables nested like the spec", async () => {
      for (const tableName of ["t", "signed"]) {
        const observer = new ReverbAddTrajectoryObserver(on.client, { tableName, sequenceLength: 2 });
        expect(await observer.getTableSignature()).toEqual(signatureOf(SPEC));
        observer.close();
      }
    });

    it("reject an unknown table and a step of another form, and name the cause", async () => {
      const made = async () => {
        const observer = new ReverbAddTrajectoryObserver(on.client, { tableName: "nowhere", sequenceLength: 1 });
        try {
          await observer(step(0));
        } finally {
          observer.close();
        }
      };
      await expect(made()).rejects.toMatchObject({ code: "NOT_FOUND", message: expect.stringContaining("nowhere") });
      const observer = new ReverbAddTrajectoryObserver(on.client, { tableName: "signed", sequenceLength: 1 });
      expect(() => observer({ ...step(0), observation: [1, 2, 3] })).toThrow("observation");
      const { reward: _, ...less } = step(0);
      expect(() => observer(less as never)).toThrow("reward");
      await observer(step(1));
      await observer.flush();
      expect(await rewards("signed")).toEqual(["1"]);
      observer.close();
    });
  });

  describe.skipIf(kind.missing)("writers", () => {
    const deep = { a: i32(), b: f32(2), deep: { text: text({ maxBytes: 20 }), long: i64() } };
    const signed = {
      name: "signed",
      maxSize: 1000,
      sampler: fifo(),
      maxTimesSampled: 1,
      signature: { x: { dtype: "i32", shape: [null] }, y: { dtype: "f32", shape: [2] } },
    } as const;
    const on = begun(kind, { spec: deep, tables: [...tables, signed] });
    const step = (n: number) => ({ a: n, b: [n, n / 4], deep: { text: `n${n}`, long: BigInt(n) } });

    it("a trajectory writer's items contain any available steps: nested, single, strided, reordered or repeated", async () => {
      const writer = on.client.trajectoryWriter({ numKeepAliveRefs: 8 });
      for (let n = 0; n < 8; n++) writer.append(step(n));
      const { a, b, deep } = writer.history;
      await writer.createItem("t", 1, {
        z: [a.at(-1), b.slice(-3)],
        d: { text: deep.text.slice(0, null, 3), long: deep.long.list([7, 0, 0, 6]) },
        back: a.slice(4, 0, -2),
      });
      await writer.createItem("t", 1, a.slice(1, 4));
      await writer.flush();
      const one = [[4, 2], [7n, 0n, 0n, 6n], ["n0", "n3", "n6"], 7, [5, 6, 7].map((n) => [n, n / 4])];
      expect(await taken(on.client, "t")).toEqual([one, [[1, 2, 3]]]);
      writer.close();
    });

    it("a trajectory writer accepts partial steps, omitted fields, and steps before an episode's end", async () => {
      const writer = on.client.trajectoryWriter({ numKeepAliveRefs: 5 });
      writer.append({ a: 1 });
      writer.append({ b: [2, 2] }, { partialStep: true });
      await writer.createItem("t", 1, { b: writer.history.b.slice(-1) });
      writer.append({ a: 2 });
      expect(() => writer.append({ a: 3.5 })).toThrow("a must be");
      expect(writer.episodeSteps).toBe(2);
      await writer.createItem("t", 1, { a: writer.history.a.slice(-2), b: writer.history.b.at(-1) });
      expect(() => writer.history.b.slice(-2)).toThrow(RangeError);
      await writer.endEpisode({ clearBuffers: false });
      writer.append({ a: 3 });
      await writer.createItem("t", 1, writer.history.a.slice(-3));
      await writer.endEpisode({ timeoutMs: 10_000 });
      writer.append({ a: 4 });
      expect(() => writer.history.a.at(-2)).toThrow(RangeError);
      writer.close();
      expect(await taken(on.client, "t")).toEqual([
        [[[2, 2]]],
        [
          [1, 2],
          [2, 2],
        ],
        [[1, 2, 3]],
      ]);
    });

    it("a trajectory writer rejects items that do not match a table's signature, and continues", async () => {
      const writer = on.client.trajectoryWriter({ numKeepAliveRefs: 2 });
      writer.append(step(1));
      const { a, b } = writer.history;
      const make = async (table: string, priority: number, x: ItemColumns, y: ItemColumns) => await writer.createItem(table, priority, { x, y });
      await make("signed", 1, a.slice(-1), b.at(-1));
      await expect(make("signed", 1, a.slice(-1), b.slice(-1))).rejects.toMatchObject({ code: "SPEC_MISMATCH", message: expect.stringContaining("signed") });
      await expect(make("signed", -1, a.slice(-1), b.at(-1))).rejects.toThrow("priority");
      await expect(make("nowhere", 1, a.slice(-1), b.at(-1))).rejects.toMatchObject({ code: "NOT_FOUND" });
      // The promises were awaited, so flush does not report the errors again.
      await writer.flush();
      await make("signed", 1, a.slice(-1), b.at(-1));
      await writer.flush();
      expect(await taken(on.client, "signed")).toEqual([
        [[1], [1, 0.25]],
        [[1], [1, 0.25]],
      ]);
      writer.close();
    });

    it("a legacy writer creates items of its last steps and sequences, with any chunk length", async () => {
      for (const options of [{}, { chunkLength: 1 }, { chunkLength: 3, deltaEncoded: true }]) {
        const writer = on.client.legacyWriter({ maxSequenceLength: 4, ...options });
        for (let n = 0; n < 7; n++) {
          await writer.append({ a: n, b: [n, n / 4] });
          if (n === 0 || n === 5) await writer.createItem("t", n === 0 ? 1 : 4, 1);
        }
        await writer.appendSequence({ a: [7, 8, 9], b: Float32Array.of(7, 7, 8, 8, 9, 9) });
        expect(() => writer.append({ a: 1 })).toThrow("every step or in none");
        expect(() => writer.appendSequence({ a: [1, 2], b: [[1, 2]] })).toThrow(expect.objectContaining({ code: "SPEC_MISMATCH" }));
        expect(() => writer.createItem("t", 5, 1)).toThrow("numTimesteps");
        await writer.createItem("t", 4, 1);
        await writer.flush();
        writer.close();
        const items = [
          [[0], [[0, 0]]],
          [[2, 3, 4, 5], [2, 3, 4, 5].map((n) => [n, n / 4])],
          [
            [6, 7, 8, 9],
            [
              [6, 1.5],
              [7, 7],
              [8, 8],
              [9, 9],
            ],
          ],
        ];
        expect(await taken(on.client, "t")).toEqual(items);
      }
    });

    it("a structured writer rejects invalid configs, steps of another form, and items that do not match the signature", async () => {
      const of = (last: (ref: ReferenceStep<typeof deep>) => Pattern, table: string) => createConfig(patternFromTransform(deep, last), table);
      expect(() => on.client.structuredWriter([])).toThrow(/configs must/);
      const wrong = async () => {
        const writer = on.client.structuredWriter([of((ref) => ({ y: ref.b.slice(-1) }), "signed")]);
        try {
          await writer.append(step(1));
        } finally {
          writer.close();
        }
      };
      await expect(wrong()).rejects.toMatchObject({ code: "SPEC_MISMATCH" });
      const writer = on.client.structuredWriter([of((ref) => ({ x: ref.a.slice(-2), y: ref.b.at(-1) }), "signed")]);
      await writer.append(step(1));
      const { a: _, ...less } = step(2);
      expect(() => writer.append(less)).toThrow("must have a, as in the first step of this writer");
      await writer.append(step(3));
      await writer.flush();
      expect(await taken(on.client, "signed")).toEqual([
        [
          [1, 3],
          [3, 0.75],
        ],
      ]);
      writer.close();
      expect(() => writer.append(step(4))).toThrow("this writer was closed");
    });
  });

  describe.skipIf(kind.missing)("structured writers compared to a naive one", () => {
    const spec = ourSpec(SHAPES);
    const on = begun(kind, { spec, tables: TABLES.map((name) => ({ name, maxSize: 1000, sampler: fifo(), maxTimesSampled: 1 })) });
    const plain = (value: unknown): unknown => (Array.isArray(value) ? value.map(plain) : Math.fround(Number(value)));

    it.each(some(Array.from({ length: 60 }, (_, seed) => [seed] as const)))("random configs and steps, seed %i", async (seed) => {
      const random = new TestRandom(9000 + seed);
      const theirs = Array.from({ length: 1 + random.below(4) }, () => config(random, pattern(random)));
      const writer = on.client.structuredWriter(theirs.map((one) => configOf(one, spec)));
      const twin = new StructuredTwin(leavesOfCase(SHAPES), theirs);
      const expected: TwinItem[] = [];
      const chance = random.pick([1, 0.95, 0.7]);
      for (let i = 0; i < 60; i++) {
        if (random.below(8) === 0) {
          const clearBuffers = random.below(2) === 0;
          expected.push(...twin.ending());
          twin.end(clearBuffers);
          await writer.endEpisode({ clearBuffers });
        } else {
          const partialStep = random.below(3) === 0;
          const values = randomStep(random, partialStep || twin.stepIsOpen ? 0.4 : chance);
          const items = twin.append(values, partialStep);
          if (items === undefined)
            expect(() => writer.append(given(values) as never, { partialStep })).toThrow(expect.objectContaining({ code: "SPEC_MISMATCH" }));
          else await writer.append(given(values) as never, { partialStep });
          expected.push(...(items ?? []));
        }
      }
      await writer.flush();
      writer.close();
      for (const table of TABLES) {
        const items = expected.filter((item) => item.table === table).map(({ columns, priority }) => [Math.fround(priority), columns.map(plain)]);
        const found = await taken(on.client, table, ({ info, data }) => [Math.fround(info.priority), data.map((column) => plain(column.toArray()))]);
        expect(found).toEqual(items);
      }
    });
  });
});
