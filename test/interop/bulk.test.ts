/** Compares many items by value: the Python client reads the items that we write, and vice versa. */
import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ReverbClient } from "../../src/reverb/index.ts";
import { slow } from "../support/size.ts";
import { differenceOf, episodes, imageStep, PYTHONS, SPECS, step, type Wanted, windowStep } from "./bulk-values.ts";
import { type DeclaredServer, DeclaredServers } from "./declared.ts";
import { python } from "./peer.ts";

/** The numbers of items per test that TypeScript and Python write. With REPRISE_SLOW, each number is five times as large. */
const COUNT = slow ? 100_000 : 20_000;
const PYTHONS_COUNT = slow ? 30_000 : 6_000;
/** Each table returns every item once, in the order of insertion. */
const TABLES = ["steps", "windows", "images", "python"];
/** The time limit of a test in milliseconds. A machine with two processors needs a tenth of this time. */
const LIMIT_MS = 900_000;

// biome-ignore lint/suspicious/noExplicitAny: histories by any name
type AnyHistory = any;

describe.skipIf(python === undefined)("items compared by value with the Python client", () => {
  let servers: DeclaredServers;
  let server: DeclaredServer;

  beforeAll(async () => {
    servers = new DeclaredServers();
    server = await servers.start(TABLES.map((name) => ({ name, max_size: COUNT, max_times_sampled: 1 })));
  });
  afterAll(() => servers?.end());

  /** Runs bulk.py and returns its results. */
  async function bulk(table: string, shape: string, count: number, mode: "read" | "write"): Promise<unknown> {
    const args = [join(import.meta.dirname, "bulk.py"), server.address, table, shape, String(count), mode];
    const { stdout } = await promisify(execFile)(python as string, args);
    return JSON.parse(stdout);
  }

  const all = (columns: number) => ({ items: COUNT, columns: COUNT * columns, differences: 0, first: null });

  it(`insert writes ${COUNT} steps, two hundred of them in flight`, { timeout: LIMIT_MS }, async () => {
    const client = new ReverbClient(server.address, { spec: SPECS.steps });
    const waiting: Promise<void>[] = [];
    for (let i = 0; i < COUNT; i++) {
      if (waiting.length === 200) await waiting.shift();
      waiting.push(client.insert(step(i), { steps: 1 + (i % 5) }));
    }
    await Promise.all(waiting);
    expect(await bulk("steps", "steps", COUNT, "read")).toEqual(all(5));
    client.close();
  });

  it(`a trajectory writer writes ${COUNT} windows of episodes: overlapping, strided, squeezed and reordered`, { timeout: LIMIT_MS }, async () => {
    await using client = new ReverbClient(server.address, { spec: SPECS.windows });
    const writer = client.trajectoryWriter({ numKeepAliveRefs: 5 });
    let left = COUNT;
    for (const [first, end] of episodes()) {
      for (let s = first; s < end && left > 0; s++) {
        writer.append(windowStep(s));
        if (s < first + 4) continue;
        const { act, obs, value } = writer.history as AnyHistory;
        await writer.createItem("windows", s, { a: act.slice(-5, null, 2), b: obs.at(-1), c: obs.slice(-5), d: value.list([-1, -5]) });
        left--;
      }
      writer.endEpisode();
      if (left === 0) break;
    }
    await writer.flush();
    expect(await bulk("windows", "windows", COUNT, "read")).toEqual(all(4));
  });

  it(`a trajectory writer writes ${COUNT} images with their names`, { timeout: LIMIT_MS }, async () => {
    await using client = new ReverbClient(server.address, { spec: SPECS.images });
    const writer = client.trajectoryWriter({ numKeepAliveRefs: 2 });
    for (let i = 0; i < COUNT; i++) {
      writer.append(imageStep(i));
      const { img, name } = writer.history as AnyHistory;
      await writer.createItem("images", i, { img: img.at(-1), name: name.slice(i === 0 ? -1 : -2) });
    }
    await writer.flush();
    expect(await bulk("images", "images", COUNT, "read")).toEqual(all(2));
  });

  const written = [
    ["windows", "TrajectoryWriter, one column squeezed"],
    ["types", "TrajectoryWriter, every dtype"],
    ["legacy", "Writer with deltas, every dtype"],
  ] as const;
  it.each(written)(`Python writes %s: ${PYTHONS_COUNT} items of its %s`, { timeout: LIMIT_MS }, async (shape) => {
    const count = PYTHONS_COUNT;
    const client = new ReverbClient(server.address);
    const writing = bulk("python", shape, count, "write");
    const sampler = client.sampler("python", { maxSamples: count });
    const wanted = (PYTHONS[shape] as (typeof PYTHONS)[string])();
    const differences: string[] = [];
    let items = 0;
    for (let item = await sampler.next(); item !== undefined; item = await sampler.next(), items++) {
      const [priority, columns] = wanted.next().value as readonly [number, readonly Wanted[]];
      if (differences.length > 0) continue;
      if (item.info.priority !== priority || item.columns.length !== columns.length)
        differences.push(`item ${items}: priority ${item.info.priority}, not ${priority}; ${item.columns.length} columns, not ${columns.length}`);
      for (const [c, want] of columns.entries()) {
        const { dtype, column } = item.columns[c] ?? {};
        const found = differenceOf(want, column && { dtype: dtype as string, shape: column.shape, data: column.data });
        if (found !== undefined) differences.push(`item ${items}, column ${c}: ${found}`);
      }
    }
    expect({ items, differences, written: await writing }).toEqual({ items: count, differences: [], written: { items: count } });
    client.close();
  });
});
