/** Kills, stops and restarts a real server in the middle of calls. `npm run interop` creates the environment; without it, these tests are skipped. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { ReverbClient, type ReverbClientOptions } from "../../src/reverb/index.ts";
import { f32, i32 } from "../../src/schema/constructors.ts";
import { Between } from "../support/between.ts";
import { freeze, type Peer, python, startServer } from "./peer.ts";

const spec = { act: i32(), obs: f32(3) };
const OPEN = { samplesPerInsert: 1, minSize: 1, minDiff: -1e300, maxDiff: 1e300 };
const TABLE = { sampler: { kind: "fifo" }, remover: { kind: "fifo" }, maxSize: 1_000_000, maxTimesSampled: 1, rateLimiter: OPEN };
const TABLES = [
  { ...TABLE, name: "once" },
  { ...TABLE, name: "free", sampler: { kind: "uniform" }, maxTimesSampled: 0 },
  // This table admits one item, and one more for each sample.
  { ...TABLE, name: "shut", rateLimiter: { ...OPEN, maxDiff: 1 } },
];

const later = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

describe.skipIf(python === undefined)("a real server that fails", () => {
  let peer: Peer;
  const open: ReverbClient<typeof spec>[] = [];
  afterEach(async () => {
    for (const one of open.splice(0)) one.close();
    await peer?.stop();
  });

  function client(options: ReverbClientOptions = {}, address = peer.address): ReverbClient<typeof spec> {
    const made = new ReverbClient(address, { ...options, spec });
    open.push(made);
    return made;
  }

  /** Samples all items and returns their `act` values. */
  async function taken(one: ReverbClient<typeof spec>, table = "once"): Promise<number[]> {
    const size = (await one.serverInfo())[table]?.currentSize as number;
    if (size === 0) return [];
    const sampler = one.sampler(table, { maxSamples: size });
    const found: number[] = [];
    for (let item = await sampler.next(); item !== undefined; item = await sampler.next()) {
      const [act, obs] = item.columns;
      found.push(act?.column.data[0] as number);
      // The item is complete: the last of its three steps has the values of the item.
      expect([...((obs as NonNullable<typeof obs>).column.data.slice(-3) as Float32Array)]).toEqual([found.at(-1), 1, 2]);
    }
    sampler.close();
    return found.sort((a, b) => a - b);
  }

  /** A running writer, and the times at which its items were confirmed. */
  interface Run {
    readonly confirmed: Map<number, number>;
    readonly ended: Promise<void>;
  }

  /** Writes items one after the other until `isOver` returns true. */
  function write(one: ReverbClient<typeof spec>, from: number, isOver: () => boolean): Run {
    const confirmed = new Map<number, number>();
    const run = async () => {
      const writer = one.trajectoryWriter({ numKeepAliveRefs: 3 });
      let act = from;
      let first = act;
      const flushed = async () => {
        await writer.flush({ timeoutMs: 40_000 });
        for (; first < act; first++) confirmed.set(first, performance.now());
      };
      while (!isOver()) {
        writer.append({ act, obs: [act, 1, 2] });
        const { obs, act: acts } = writer.history;
        await writer.createItem("once", 1, { act: acts.slice(-1), obs: obs.slice(-Math.min(3, act - from + 1)) });
        act++;
        if (act % 50 !== 0) continue;
        await flushed();
        await later(1);
      }
      await flushed();
      writer.close();
    };
    return { confirmed, ended: run() };
  }

  /** Inserts single steps until `isOver` returns true. */
  function insert(one: ReverbClient<typeof spec>, from: number, isOver: () => boolean): Run {
    const confirmed = new Map<number, number>();
    const run = async () => {
      for (let act = from; !isOver(); act++) {
        await one.insert({ act, obs: [act, 1, 2] }, { once: 1 }, { timeoutMs: 40_000 });
        confirmed.set(act, performance.now());
      }
    };
    return { confirmed, ended: run() };
  }

  /** Waits until each run has `count` items confirmed after the time `since`. */
  async function until(runs: readonly Run[], count: number, since: number): Promise<void> {
    const isThere = ({ confirmed }: Run) => [...confirmed.values()].filter((at) => at > since).length >= count;
    while (!runs.every(isThere)) await Promise.race([later(20), Promise.all(runs.map(({ ended }) => ended))]);
  }

  it("a kill during writes without a checkpoint: unconfirmed items reach the next server once, and clients continue", async () => {
    peer = await startServer(0, TABLES);
    const [a, b] = [client(), client()];
    let isOver = false;
    const over = () => isOver;
    const runs = [write(a, 0, over), write(a, 1_000_000, over), write(b, 2_000_000, over), insert(b, 3_000_000, over), insert(b, 4_000_000, over)];
    await until(runs, 100, 0);
    await peer.stop();
    await later(200);
    const restarted = performance.now();
    peer = await startServer(peer.port, TABLES);
    await until(runs, 200, restarted);
    isOver = true;
    await Promise.all(runs.map(({ ended }) => ended));
    const confirmed = new Map(runs.flatMap((run) => [...run.confirmed]));
    const found = await taken(a);
    expect(new Set(found).size).toBe(found.length);
    const lost = [...confirmed].filter(([act, at]) => at > restarted && !found.includes(act));
    // A flush confirms up to 50 items together. The previous server may have confirmed some of them.
    const single = lost.filter(([act]) => act >= 3_000_000);
    expect(single).toEqual([]);
    for (const from of [0, 1_000_000, 2_000_000]) {
      const here = lost.map(([act]) => act).filter((act) => act >= from && act < from + 1_000_000);
      expect(here.length).toBeLessThan(50);
      const next = found.filter((act) => act >= from && act < from + 1_000_000);
      // Only the oldest items are lost. No item after them is missing.
      if (here.length > 0) expect(Math.max(...here)).toBeLessThan(Math.min(...next));
      expect(next.length).toBeGreaterThan(100);
      expect(next.at(-1)).toBe((next[0] as number) + next.length - 1);
    }
    expect(found.every((act) => confirmed.has(act))).toBe(true);
    expect(confirmed.size).toBeGreaterThan(found.length);
  });

  it("after a checkpoint and a kill, confirmed items are restored, unconfirmed items are resent, and none is duplicated", async () => {
    const checkpoints = mkdtempSync(join(tmpdir(), "reprise-checkpoints-"));
    try {
      peer = await startServer(0, TABLES, checkpoints);
      const [a, b] = [client(), client()];
      let isOver = false;
      const over = () => isOver;
      const runs = [write(a, 0, over), write(b, 1_000_000, over), insert(b, 2_000_000, over)];
      await until(runs, 100, 0);
      const before = performance.now();
      await a.checkpoint();
      await peer.stop();
      const restarted = performance.now();
      peer = await startServer(peer.port, TABLES, checkpoints);
      await until(runs, 100, restarted);
      isOver = true;
      await Promise.all(runs.map(({ ended }) => ended));
      const confirmed = new Map(runs.flatMap((run) => [...run.confirmed]));
      const size = (await a.serverInfo()).once?.currentSize;
      const found = await taken(a);
      expect(found.length).toBe(size);
      expect(new Set(found).size).toBe(found.length);
      const have = new Set(found);
      const early = [...confirmed].filter(([, at]) => at < before).map(([act]) => act);
      expect(early.length).toBeGreaterThan(50);
      expect(early.filter((act) => !have.has(act))).toEqual([]);
      const single = [...confirmed].filter(([act, at]) => at > restarted && act >= 2_000_000).map(([act]) => act);
      expect(single.length).toBeGreaterThan(50);
      expect(single.filter((act) => !have.has(act))).toEqual([]);
    } finally {
      rmSync(checkpoints, { recursive: true, force: true });
    }
  });

  it("a kill during samples: samplers continue with the checkpoint, and a waiting sampler with the next item", async () => {
    const checkpoints = mkdtempSync(join(tmpdir(), "reprise-checkpoints-"));
    try {
      peer = await startServer(0, TABLES, checkpoints);
      const one = client();
      for (let act = 0; act < 20; act++) await one.insert({ act, obs: [act, 1, 2] }, { free: 1 });
      await one.checkpoint();
      await one.insert({ act: 20, obs: [20, 1, 2] }, { once: 1 });
      const sampler = one.sampler("free", { numWorkersPerIterator: 2, maxInFlightSamplesPerWorker: 10 });
      const other = one.sampler("once", { maxInFlightSamplesPerWorker: 2 });
      await other.next();
      const waiting = other.next();
      let killed: Promise<void> | undefined;
      const found = new Set<number>();
      for (let i = 0; i < 3000; i++) {
        const item = await sampler.next();
        found.add(item?.columns[0]?.column.data[0] as number);
        if (i === 1000)
          killed = peer.stop().then(async () => {
            peer = await startServer(peer.port, TABLES, checkpoints);
          });
      }
      await killed;
      expect([...found].sort((a, b) => a - b)).toEqual(Array.from({ length: 20 }, (_, act) => act));
      await one.insert({ act: 21, obs: [21, 1, 2] }, { once: 1 });
      expect((await waiting)?.columns[0]?.column.data[0]).toBe(21);
      sampler.close();
      other.close();
    } finally {
      rmSync(checkpoints, { recursive: true, force: true });
    }
  });

  it("50 clients write 1,000 items each concurrently, and each item is stored once", async () => {
    peer = await startServer(0, TABLES);
    const clients = Array.from({ length: 50 }, () => client());
    await Promise.all(
      clients.map(async (one, c) => {
        const writer = one.trajectoryWriter({ numKeepAliveRefs: 2 });
        for (let i = 0; i < 1000; i++) {
          const act = 1000 * c + i;
          writer.append({ act, obs: [act, 1, 2] });
          await writer.createItem("once", 1, { act: writer.history.act.slice(-1), obs: writer.history.obs.slice(-1) });
        }
        await writer.flush({ timeoutMs: 50_000 });
      }),
    );
    const [one] = clients as [ReverbClient<typeof spec>];
    expect((await one.serverInfo()).once?.currentSize).toBe(50_000);
    expect(await taken(one)).toEqual(Array.from({ length: 50_000 }, (_, act) => act));
  });

  it("if a rate limiter blocks inserts, waits end by timeout or signal, and all items arrive later", async () => {
    peer = await startServer(0, TABLES);
    const one = client({ maxInFlightItems: 30 });
    await one.serverInfo();
    const writer = one.trajectoryWriter({ numKeepAliveRefs: 1 });
    let room: Promise<void> | undefined;
    let act = 0;
    for (; room === undefined || act < 31; act++) {
      if (act > 100) throw new Error("there is always room");
      writer.append({ act, obs: [act, 1, 2] });
      room = writer.createItem("shut", 1, { act: writer.history.act.slice(-1), obs: writer.history.obs.slice(-1) });
      if (room !== undefined) expect(await Promise.race([room, later(act < 31 ? 500 : 100).then(() => "none")])).toBe(act < 30 ? undefined : "none");
      if (act >= 30) break;
    }
    expect(act).toBe(30);
    await expect(writer.flush({ timeoutMs: 100 })).rejects.toMatchObject({ code: "TIMEOUT", message: expect.stringContaining(peer.address) });
    const reason = new Error("enough");
    const aborter = new AbortController();
    setTimeout(() => aborter.abort(reason), 50);
    await expect(writer.flush({ signal: aborter.signal })).rejects.toBe(reason);
    await expect(one.insert({ act: 99, obs: [99, 1, 2] }, { shut: 1 }, { timeoutMs: 100 })).rejects.toMatchObject({ code: "TIMEOUT" });
    const sampler = one.sampler("shut", { maxSamples: 32 });
    const found = [];
    for (let item = await sampler.next(); item !== undefined; item = await sampler.next()) found.push(item.columns[0]?.column.data[0]);
    await writer.flush({ timeoutMs: 10_000 });
    await room;
    expect(found.sort((a, b) => Number(a) - Number(b))).toEqual([...Array.from({ length: 31 }, (_, i) => i), 99]);
  });

  it("a frozen server: a ping detects it, and all inserts complete after it continues", async () => {
    peer = await startServer(0, TABLES);
    const one = client({ keepAliveMs: 300, keepAliveTimeoutMs: 300, connectTimeoutMs: 500 });
    await one.insert({ act: 0, obs: [0, 1, 2] }, { once: 1 });
    await freeze(peer);
    const inserts = Array.from({ length: 20 }, (_, i) => one.insert({ act: i + 1, obs: [i + 1, 1, 2] }, { once: 1 }));
    await expect(one.serverInfo()).rejects.toMatchObject({ code: "IO", message: expect.stringContaining("a ping within 300 ms") });
    await later(1500);
    process.kill(peer.pid, "SIGCONT");
    await Promise.all(inserts);
    expect(await taken(one)).toEqual(Array.from({ length: 21 }, (_, act) => act));
  });

  it("if a server freezes while a limiter blocks calls, a ping detects it, and calls work again later", async () => {
    peer = await startServer(0, TABLES);
    const one = client({ keepAliveMs: 100, keepAliveTimeoutMs: 1000, connectTimeoutMs: 500, reconnectTimeoutMs: 300 });
    const sampled = one.sampler("once").next();
    await later(2000);
    await freeze(peer);
    await expect(sampled).rejects.toMatchObject({ code: "IO" });
    process.kill(peer.pid, "SIGCONT");
    await one.insert({ act: 1, obs: [1, 1, 2] }, { free: 1 }, { timeoutMs: 20_000 });
  });

  it("an outage longer than reconnectTimeoutMs: the writer continues, and every item is stored once", async () => {
    peer = await startServer(0, TABLES);
    const one = client({ keepAliveMs: 100, keepAliveTimeoutMs: 300, connectTimeoutMs: 300, reconnectTimeoutMs: 300 });
    const writer = one.trajectoryWriter({ numKeepAliveRefs: 3 });
    const item = (act: number) => {
      writer.append({ act, obs: [act, 1, 2] });
      return writer.createItem("once", 1, { act: writer.history.act.slice(-1), obs: writer.history.obs.slice(-1) });
    };
    for (let act = 0; act < 100; act++) await item(act);
    await writer.flush();
    await freeze(peer);
    for (let act = 100; act < 200; act++) await item(act);
    await expect(writer.flush()).rejects.toMatchObject({ code: "IO", message: expect.stringContaining("reconnectTimeoutMs") });
    process.kill(peer.pid, "SIGCONT");
    await item(200);
    await writer.flush({ timeoutMs: 20_000 });
    expect(await taken(one)).toEqual(Array.from({ length: 201 }, (_, act) => act));
  });

  it("a long wait: the client keeps its single connection despite frequent pings", async () => {
    peer = await startServer(0, TABLES);
    const between = await Between.start(peer.port, {});
    try {
      const one = client({ keepAliveMs: 10 }, between.address);
      const sampler = one.sampler("once");
      const waiting = sampler.next();
      await later(2000);
      await one.insert({ act: 1, obs: [1, 1, 2] }, { once: 1 });
      expect((await waiting)?.columns[0]?.column.data[0]).toBe(1);
      expect(between.connections).toBe(1);
      one.close();
    } finally {
      await between.stop();
    }
  });
});
