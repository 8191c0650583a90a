/** What programs may rely on with tables of this process and with those of a real server. The half with a server runs by `npm run interop`. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { f32, fifo, i32, maxHeap, minSize } from "../../src/index.ts";
import { type Clients, kinds, taken } from "./clients.ts";

const spec = { obs: f32(2), act: i32() };
const tables = [
  { name: "t", maxSize: 1000, sampler: fifo(), maxTimesSampled: 1 },
  { name: "u", maxSize: 1000, sampler: fifo(), maxTimesSampled: 1 },
  { name: "heap", maxSize: 3, sampler: maxHeap(), rateLimiter: minSize(2) },
];

describe.each(kinds)("$name", ({ missing, start }) => {
  describe.skipIf(missing)("its tables", () => {
    let clients: Clients<typeof spec>;
    let client: Clients<typeof spec>["client"];

    beforeAll(async () => {
      clients = await start({ spec, tables });
      ({ client } = clients);
    });
    beforeEach(async () => {
      for (const { name } of tables) await client.reset(name);
    });
    afterAll(() => clients?.stop());

    it("insert, then an item a table; fields that a step leaves out are no part of it", async () => {
      await client.insert({ obs: [1, 2], act: 3 }, { t: 1, u: 2 });
      await client.insert({ act: 4 }, { t: 1 });
      expect(await taken(client, "t")).toEqual([[[3], [[1, 2]]], [[4]]]);
      expect(await taken(client, "u")).toEqual([[[3], [[1, 2]]]]);
    });

    it("serverInfo tells of all tables", async () => {
      await client.insert({ act: 1 }, { heap: 5 });
      const info = await client.serverInfo();
      expect(Object.keys(info).sort()).toEqual(["heap", "t", "u"]);
      expect(info.heap).toMatchObject({ name: "heap", maxSize: 3, currentSize: 1, sampler: { kind: "maxHeap" }, rateLimiterInfo: { minSizeToSample: 2 } });
      expect(info.t).toMatchObject({ maxTimesSampled: 1, sampler: { kind: "fifo" }, remover: { kind: "fifo" } });
    });

    it("mutatePriorities and reset", async () => {
      for (const act of [1, 2, 3]) await client.insert({ act }, { heap: act });
      const top = async () => {
        for await (const { info, data } of client.sample("heap", 1, { emitTimesteps: false })) return { key: info.key, act: data[0]?.data[0] };
        return expect.unreachable();
      };
      const { key, act } = await top();
      expect(act).toBe(3);
      await client.mutatePriorities("heap", { updates: [[key, 1.5]] });
      const second = await top();
      expect(second.act).toBe(2);
      await client.mutatePriorities("heap", { deletes: [second.key] });
      expect((await top()).act).toBe(3);
      await client.reset("heap");
      expect((await client.serverInfo()).heap?.currentSize).toBe(0);
    });
  });
});
