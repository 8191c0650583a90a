/** Tests several real servers with one client: which server receives which items, and how the client continues if a server is killed and restarted. */
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { ReverbClient } from "../../src/reverb/index.ts";
import { i32 } from "../../src/schema/constructors.ts";
import { type Peer, python, startServer } from "./peer.ts";

const spec = { act: i32() };
const SERVERS = 3;
const names = ["first", "free", "heap"];

describe.skipIf(python === undefined)("several servers", () => {
  const peers: Peer[] = [];
  const own: ReverbClient<typeof spec>[] = [];
  const told: string[] = [];
  const logger = { warn: (message: string) => told.push(message), info: (message: string) => told.push(message) };
  let client: ReverbClient<typeof spec>;

  beforeAll(async () => {
    peers.push(...(await Promise.all(Array.from({ length: SERVERS }, () => startServer()))));
    const addresses = peers.map(({ address }) => address);
    own.push(...addresses.map((address) => new ReverbClient(address, { spec })));
    client = new ReverbClient(addresses, { spec, logger });
  }, 120_000);
  beforeEach(async () => {
    for (const table of names) await client.reset(table);
    told.length = 0;
  });
  afterAll(async () => {
    client?.close();
    for (const one of own) one.close();
    await Promise.all(peers.map((peer) => peer.stop()));
  });

  const sizes = async (table: string, of = own) => Promise.all(of.map(async (one) => (await one.serverInfo())[table]?.currentSize ?? -1));
  const kill = async (i: number) => (peers[i] as Peer).stop();
  const restart = async (i: number) => {
    peers[i] = await startServer(Number((peers[i] as Peer).address.split(":")[1]));
  };
  const lines = (rule: string) => told.filter((line) => line.includes(rule));

  it("receive inserts and new writers in turn, and each writer keeps its server", async () => {
    for (let act = 0; act < 30; act++) await client.insert({ act }, { first: 1, free: 1 });
    expect([await sizes("first"), await sizes("free")]).toEqual([Array(SERVERS).fill(10), Array(SERVERS).fill(10)]);
    for (let n = 0; n < SERVERS; n++) {
      const writer = client.trajectoryWriter({ numKeepAliveRefs: 1 });
      for (let act = 0; act < 20; act++) {
        writer.append({ act });
        await writer.createItem("first", 1, { act: writer.history.act.slice(-1) });
      }
      await writer.flush();
      writer.close();
    }
    expect(await sizes("first")).toEqual(Array(SERVERS).fill(30));
    expect((await client.serverInfo()).first).toMatchObject({
      currentSize: 90,
      maxSize: SERVERS * 1_000_000,
      rateLimiterInfo: { insertStats: { completed: 90 } },
    });
    expect([told, client.goneServers]).toEqual([[], []]);
  });

  it("all receive changes by key, and a checkpoint saves each of them", async () => {
    for (let act = 0; act < 9; act++) await client.insert({ act }, { heap: act });
    const keys = new Map<number, bigint>();
    for (let k = 0; keys.size < 9 && k < 500; k++) {
      // Each draw returns the head of the heap on another server.
      for await (const { info } of client.sample("heap", 1, { emitTimesteps: false })) {
        if (info.priority >= 0) keys.set(info.priority, info.key as bigint);
        await client.mutatePriorities("heap", { deletes: [info.key] });
      }
    }
    expect([[...keys.keys()].sort(), await sizes("heap")]).toEqual([[0, 1, 2, 3, 4, 5, 6, 7, 8], Array(SERVERS).fill(0)]);
    const saved = (await client.checkpoint()).split("\n");
    expect(saved.map((line) => line.split(" ")[0])).toEqual(peers.map(({ address }) => address));
    await client.insert({ act: 1 }, { free: 1 });
    await client.reset("free");
    expect(await sizes("free")).toEqual(Array(SERVERS).fill(0));
    await expect(client.reset("nowhere")).rejects.toMatchObject({ code: "NOT_FOUND" });
  });

  it("return samples in turn, each item once", async () => {
    for (const [i, one] of own.entries()) await Promise.all(Array.from({ length: 100 }, (_, k) => one.insert({ act: 1000 * i + k }, { first: 1 })));
    const found: number[] = [];
    for await (const { data } of client.sample("first", 300, { emitTimesteps: false })) {
      found.push(data[0]?.data[0] as number);
      // After this pause, all servers have items available.
      if (found.length === 1) await new Promise((resolve) => setTimeout(resolve, 500));
    }
    expect(found.slice().sort((a, b) => a - b)).toEqual([0, 1, 2].flatMap((i) => Array.from({ length: 100 }, (_, k) => 1000 * i + k)));
    for (let k = 1; k + SERVERS <= 240; k += SERVERS) expect(new Set(found.slice(k, k + SERVERS).map((act) => Math.floor(act / 1000))).size).toBe(SERVERS);
  });

  it("do not delay draws if one is empty, and time out only if all are empty", async () => {
    for (let act = 0; act < 6; act++) {
      await client.insert({ act }, { first: 1 });
      for await (const { data } of client.sample("first", 1, { emitTimesteps: false })) expect(data[0]?.data[0]).toBe(act);
    }
    await (own[1] as ReverbClient<typeof spec>).insert({ act: 7 }, { free: 1 });
    const many = client.sampler("free", { maxSamples: 1000 });
    for (let k = 0; k < 1000; k++) expect((await many.next())?.columns[0]?.column.data[0]).toBe(7);
    expect(await many.next()).toBeUndefined();
    for (const options of [{ maxSamples: 10 }, { maxSamples: 1 }, {}]) {
      const none = client.sampler("first", { ...options, rateLimiterTimeoutMs: 300 });
      await expect(none.next()).rejects.toMatchObject({ code: "TIMEOUT" });
      none.close();
    }
  }, 60_000);

  it("one is killed during writes: another receives its unconfirmed items, and it rejoins after a restart", async () => {
    const writers = Array.from({ length: SERVERS }, () => client.trajectoryWriter({ numKeepAliveRefs: 2 }));
    const write = async (from: number, to: number) => {
      for (let act = from; act < to; act++)
        for (const writer of writers) {
          writer.append({ act });
          await writer.createItem("free", 1, { act: writer.history.act.slice(-1) });
        }
    };
    await write(0, 100);
    await Promise.all(writers.map((writer) => writer.flush()));
    expect(await sizes("free")).toEqual(Array(SERVERS).fill(100));
    await kill(0);
    await write(100, 600);
    await Promise.all(writers.map((writer) => writer.flush({ timeoutMs: 30_000 })));
    for (let act = 0; act < 10; act++) await client.insert({ act }, { free: 1 });
    const left = own.slice(1);
    // The other servers have all items written since then: 500 from each of three writers, and 10 others.
    expect((await sizes("free", left)).reduce((sum, size) => sum + size, 0)).toBe(2 * 100 + 3 * 500 + 10);
    expect((await client.serverInfo()).free?.currentSize).toBe(2 * 100 + 3 * 500 + 10);
    expect(client.goneServers).toEqual([peers[0]?.address]);
    expect(lines("2 of 3 servers")).toEqual([expect.stringContaining(`the Reverb server at ${peers[0]?.address} ended`)]);
    await restart(0);
    await vi.waitFor(
      async () => {
        await client.insert({ act: 1 }, { free: 1 });
        expect((await sizes("free"))[0]).toBeGreaterThan(2);
      },
      { timeout: 20_000, interval: 50 },
    );
    expect(client.goneServers).toEqual([]);
    expect(lines("is back")).toEqual([`reprise: the Reverb server at ${peers[0]?.address} is back`]);
    for (const writer of writers) writer.close();
  }, 120_000);

  it("one is killed during samples: the others continue, and it rejoins after a restart", async () => {
    for (const [i, one] of own.entries()) await one.insert({ act: i }, { free: 1 });
    const sampler = client.sampler("free", { maxInFlightSamplesPerWorker: 20 });
    const draw = async (count: number) => {
      const found = Array<number>(SERVERS + 1).fill(0);
      for (let k = 0; k < count; k++) {
        const act = (await sampler.next())?.columns[0]?.column.data[0] as number;
        found[act] = (found[act] as number) + 1;
      }
      return found;
    };
    // The number of items from each server depends on its speed.
    expect(Math.min(...(await draw(600)).slice(0, SERVERS))).toBeGreaterThan(0);
    await kill(2);
    await draw(200);
    expect((await draw(1000))[2]).toBe(0);
    expect(lines("2 of 3 servers")).toEqual([expect.stringContaining(peers[2]?.address as string)]);
    await restart(2);
    await (own[2] as ReverbClient<typeof spec>).insert({ act: SERVERS }, { free: 1 });
    await vi.waitFor(async () => expect((await draw(50))[SERVERS]).toBeGreaterThan(0), { timeout: 20_000, interval: 100 });
    sampler.close();
  }, 120_000);

  it("are all named in each error if all are killed", async () => {
    const addresses = peers.map(({ address }) => address);
    const hasty = new ReverbClient(addresses, { spec, logger, reconnectTimeoutMs: 200 });
    await hasty.insert({ act: 1 }, { free: 1 });
    const writer = hasty.trajectoryWriter({ numKeepAliveRefs: 1 });
    writer.append({ act: 1 });
    await writer.createItem("free", 1, { act: writer.history.act.slice(-1) });
    await Promise.all(peers.map((_, i) => kill(i)));
    const named = addresses.map((address) => `${address}: `).sort();
    const all = { code: "IO", message: expect.stringMatching(new RegExp(named.join(".*"))) };
    const sampler = hasty.sampler("free");
    for (const call of [
      () => hasty.serverInfo(),
      () => hasty.insert({ act: 1 }, { free: 1 }),
      () => hasty.mutatePriorities("free", { deletes: [1n] }),
      async () => {
        for (;;) await sampler.next();
      },
      async () => {
        writer.append({ act: 2 });
        await writer.createItem("free", 1, { act: writer.history.act.slice(-1) });
        await writer.flush();
      },
    ])
      await expect(call()).rejects.toMatchObject(all);
    expect(lines("No other server is left")).toHaveLength(1);
    hasty.close();
  }, 60_000);
});
