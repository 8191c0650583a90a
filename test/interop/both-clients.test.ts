/** What programs may rely on with tables of this process and with those of a real server. The half with a server runs by `npm run interop`. */
import { describe, expect, it, vi } from "vitest";
import { ReverbAddEpisodeObserver, ReverbAddTrajectoryObserver } from "../../src/agents/index.ts";
import { signatureOf } from "../../src/agents/signature.ts";
import { f32, fifo, i32, maxHeap, minSize } from "../../src/index.ts";
import { episode, SPEC, step } from "../unit/agents/support.ts";
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

    it("insert, then an item a table; fields that a step leaves out are no part of it", async () => {
      await on.client.insert({ obs: [1, 2], act: 3 }, { t: 1, u: 2 });
      await on.client.insert({ act: 4 }, { t: 1 });
      expect(await taken(on.client, "t")).toEqual([[[3], [[1, 2]]], [[4]]]);
      expect(await taken(on.client, "u")).toEqual([[[3], [[1, 2]]]]);
    });

    it("serverInfo tells of all tables", async () => {
      await on.client.insert({ act: 1 }, { heap: 5 });
      const info = await on.client.serverInfo();
      expect(Object.keys(info).sort()).toEqual(["heap", "t", "u"]);
      expect(info.heap).toMatchObject({ name: "heap", maxSize: 3, currentSize: 1, sampler: { kind: "maxHeap" }, rateLimiterInfo: { minSizeToSample: 2 } });
      expect(info.t).toMatchObject({ maxTimesSampled: 1, sampler: { kind: "fifo" }, remover: { kind: "fifo" } });
    });

    it("mutatePriorities and reset", async () => {
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
    const on = begun(kind, { spec: SPEC, tables: [...tables, signed] });

    /** The items of a table, by their rewards. */
    const rewards = async (table: string) => (await taken(on.client, table)).map((columns) => (columns as number[][])[4]?.join(" "));

    it("windows of fixed length, with a stride, into several tables; none spans two episodes", async () => {
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

    it("the ends of episodes padded, and tiled; reset without writing drops what is cached", async () => {
      const observer = new ReverbAddTrajectoryObserver(on.client, { tableName: "signed", sequenceLength: 3, padEndOfEpisodes: true, tileEndOfEpisodes: true });
      for (const one of episode(2, 5)) await observer(one);
      await observer(step(20));
      await observer.reset(false);
      await observer.flush();
      expect(await rewards("signed")).toEqual(["5 6 7", "6 7 0", "7 0 0"]);
      observer.close();
    });

    it("whole episodes, long ones too; a longer one is an error, or passed over", async () => {
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

    it("does not wait where the caller does not: steps are taken in order, and flush waits for all", async () => {
      const observer = new ReverbAddTrajectoryObserver(on.client, { tableName: "signed", sequenceLength: 2 });
      for (let n = 0; n < 500; n++) observer(step(n));
      await observer.flush();
      expect(await rewards("signed")).toEqual(Array.from({ length: 499 }, (_, n) => `${n} ${n + 1}`));
      observer.close();
    });

    it("items that were made stay when the observer is closed, and it goes on when it is opened", async () => {
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

    it("the signature of the tables is nested as the spec", async () => {
      for (const tableName of ["t", "signed"]) {
        const observer = new ReverbAddTrajectoryObserver(on.client, { tableName, sequenceLength: 2 });
        expect(await observer.getTableSignature()).toEqual(signatureOf(SPEC));
        observer.close();
      }
    });

    it("a table that is not there, another form of step: refused, with the name", async () => {
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
});
