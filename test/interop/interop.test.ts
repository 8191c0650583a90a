/** Compares our client on a real server with the Python client. `npm run interop` creates the environment; without it, these tests are skipped. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { ReverbClient } from "../../src/reverb/index.ts";
import { f32, i32, text } from "../../src/schema/constructors.ts";
import type { DrawnItem } from "../../src/tf-agents/sampling/sample.ts";
import { type Peer, python, runPython, startServer } from "./peer.ts";

const spec = { obs: f32(3), act: i32(), name: text({ maxBytes: 20 }) };
const signed = { obs: f32(3), act: i32() };
// biome-ignore lint/suspicious/noExplicitAny: histories by any name
type AnyHistory = any;

describe.skipIf(python === undefined)("a real server", () => {
  let peer: Peer;
  let client: ReverbClient<typeof spec>;

  beforeAll(async () => {
    peer = await startServer();
    client = new ReverbClient(peer.address, { spec });
  });
  beforeEach(async () => {
    for (const table of ["free", "first", "signed", "prioritized", "heap", "queue"]) await client.reset(table);
  });
  afterAll(async () => {
    client?.close();
    await peer?.stop();
  });

  async function drawn(table: string, count: number, options = {}): Promise<DrawnItem[]> {
    const sampler = client.sampler(table, { maxSamples: count, ...options });
    const items: DrawnItem[] = [];
    for (let item = await sampler.next(); item !== undefined; item = await sampler.next()) items.push(item);
    sampler.close();
    return items;
  }

  it("describes its tables", async () => {
    const info = await client.serverInfo({ timeout: 10 });
    expect(info.signed).toMatchObject({ maxSize: 1000, signature: { act: { dtype: "i32", shape: [null] }, obs: { dtype: "f32", shape: [null, 3] } } });
    expect(info.prioritized?.sampler).toEqual({ kind: "prioritized", exponent: 0.8 });
    expect([info.heap?.sampler.kind, info.first?.sampler.kind, info.first?.maxTimesSampled, info.free?.sampler.kind]).toEqual([
      "maxHeap",
      "fifo",
      1,
      "uniform",
    ]);
    expect(info.queue?.rateLimiterInfo).toMatchObject({ samplesPerInsert: 1, minDiff: 0, maxDiff: 10, minSizeToSample: 1 });
  });

  it("stores an inserted step in two tables, and returns it", async () => {
    await client.insert({ obs: [1, 2, 3], act: 7, name: "hé" }, { free: 1, heap: 2 });
    for await (const [step] of client.sample("heap", 1)) {
      expect(step?.info).toMatchObject({ priority: 2, tableSize: 1, timesSampled: 1, probability: 1, key: expect.any(BigInt) });
      expect(step?.data.map((column: { toArray(): unknown; data: unknown }) => column.data)).toEqual([Int32Array.of(7), ["hé"], Float32Array.of(1, 2, 3)]);
    }
    expect((await client.serverInfo()).free?.currentSize).toBe(1);
  });

  it("the client rejects an unknown table, a wrong signature and a negative priority before sending", async () => {
    await expect(client.insert({ act: 1 }, { nowhere: 1 })).rejects.toMatchObject({ code: "NOT_FOUND", message: expect.stringContaining(peer.address) });
    await expect(client.insert({ act: 1 }, { signed: 1 })).rejects.toMatchObject({ code: "SPEC_MISMATCH" });
    await expect(client.insert({ act: 1 }, { prioritized: -1 })).rejects.toThrow(/priorities\.prioritized must .*got -1/);
    await expect(client.mutatePriorities("prioritized", { updates: [[1n, Number.NaN]] })).rejects.toThrow(RangeError);
    // The table is still usable.
    await client.insert({ act: 1 }, { prioritized: 1 }, { timeoutMs: 10_000 });
  });

  it("the client passes on server messages: an unknown table, a checkpoint's path, a limiter's timeout", async () => {
    await expect(client.reset("nowhere")).rejects.toMatchObject({
      code: "NOT_FOUND",
      message: expect.stringContaining("Priority table nowhere was not found"),
    });
    expect(await client.checkpoint()).toMatch(/\d{4}-\d\d-\d\dT/);
    const sampler = client.sampler("free", { rateLimiterTimeoutMs: 100 });
    await expect(sampler.next()).rejects.toMatchObject({
      code: "TIMEOUT",
      message: expect.stringMatching(`table free .*${peer.address} .*100 ms$`),
    });
    sampler.close();
  });

  it("changes priorities by key, and deletes items by key", async () => {
    for (const act of [1, 2, 3]) await client.insert({ act }, { heap: act });
    const [top] = await drawn("heap", 1, { maxInFlightSamplesPerWorker: 1 });
    expect(top?.info.priority).toBe(3);
    await client.mutatePriorities("heap", { updates: [[top?.info.key as bigint, 1.5]] });
    const [second] = await drawn("heap", 1);
    expect(second?.info.priority).toBe(2);
    await client.mutatePriorities("heap", { deletes: [second?.info.key as bigint] });
    expect((await drawn("heap", 1))[0]?.info).toMatchObject({ priority: 1.5, key: top?.info.key });
  });

  it("returns strided, squeezed and single columns unchanged to Python and to our client", async () => {
    for (const read of ["ours", "python"]) {
      await client.reset("first");
      const writer = client.trajectoryWriter({ numKeepAliveRefs: 10 });
      for (let i = 0; i < 10; i++) {
        writer.append({ obs: [i, i + 0.25, 100 - i], act: i, name: `n${i}` });
        const { obs, act } = writer.history as AnyHistory;
        if (i >= 7) await writer.createItem("first", i, { a: act.at(-1), b: obs.slice(-8, null, 2), c: act.list([i, i - 3, i - 2]) });
      }
      await writer.flush();
      writer.close();
      const meant = [7, 8, 9].map((i) => [i, [0, 2, 4, 6].map((k) => i - 7 + k).map((k) => [k, k + 0.25, 100 - k]), [i, i - 3, i - 2]]);
      const found =
        read === "python"
          ? JSON.parse(runPython(peer.address, "first", 3, "read")).map(({ data }: { data: unknown }) => data)
          : (await drawn("first", 3)).map(({ columns }) => columns.map(({ column }) => column.toArray()));
      expect(found).toEqual(meant);
    }
  });

  it("returns the items that Python wrote", async () => {
    runPython(peer.address, "first", 20, "write");
    const items = await drawn("first", 20, { maxInFlightSamplesPerWorker: 3 });
    items.forEach(({ info, columns: [a, o] }, k) => {
      const i = k + 4;
      expect(info.priority).toBe(i);
      expect(a).toMatchObject({ isSqueezed: true, dtype: "i32", column: { shape: [], data: Int32Array.of(i) } });
      expect(o?.column.toArray()).toEqual([i - 2, i - 1, i].map((t) => [t, t + 0.5, 0 - t]));
    });
    expect(items.length).toBe(20);
  });

  it("confirms and stores 10,000 items of one writer, each once and in order", async () => {
    const count = 10_000;
    const writer = client.trajectoryWriter({ numKeepAliveRefs: 2 });
    for (let i = 0; i <= count; i++) {
      writer.append({ obs: [i, 1, 2], act: i, name: "x" });
      const { obs, act } = writer.history as AnyHistory;
      if (i > 0) await writer.createItem("first", i, { act: act.slice(-2), obs: obs.slice(-2) });
    }
    await writer.flush();
    writer.close();
    expect((await client.serverInfo()).first?.currentSize).toBe(count);
    const items = await drawn("first", count);
    expect(items.every(({ info, columns }, k) => info.priority === k + 1 && columns[0]?.column.data[1] === k + 1 && columns[1]?.column.data[3] === k + 1)).toBe(
      true,
    );
    expect(items.length).toBe(count);
  });

  it("makes flush wait while a queue is full, time out, and continue when items are sampled", async () => {
    const writer = client.trajectoryWriter({ numKeepAliveRefs: 1 });
    for (let i = 0; i < 15; i++) {
      writer.append({ act: i });
      await writer.createItem("queue", 1, { act: (writer.history as AnyHistory).act.slice(-1) });
    }
    await expect(writer.flush({ timeoutMs: 300 })).rejects.toMatchObject({ code: "TIMEOUT" });
    const items = await drawn("queue", 15);
    await writer.flush();
    writer.close();
    expect(items.map(({ columns }) => columns[0]?.column.data[0])).toEqual(Array.from({ length: 15 }, (_, i) => i));
  });

  it("receives unconfirmed items again with their chunks after a kill and a restart", async () => {
    let own = await startServer();
    const other = new ReverbClient(own.address, { spec: signed });
    const writer = other.trajectoryWriter({ numKeepAliveRefs: 3 });
    const step = async (i: number) => {
      writer.append({ obs: [i, i, i], act: i });
      const { obs, act } = writer.history as AnyHistory;
      await writer.createItem("signed", 1 + i, { act: act.slice(-1), obs: obs.slice(-1) });
    };
    await step(0);
    await writer.flush();
    await own.stop();
    for (let i = 1; i < 5; i++) await step(i);
    own = await startServer(Number(own.address.split(":")[1]));
    await writer.flush({ timeoutMs: 30_000 });
    expect((await other.serverInfo()).signed?.currentSize).toBe(4);
    await own.stop();
    await other.insert({ obs: [1, 1, 1], act: 1 }, { signed: 1 }, { timeoutMs: 300 }).then(
      () => expect.unreachable(),
      (error) => expect(error.code).toBe("TIMEOUT"),
    );
    other.close();
  });
});
