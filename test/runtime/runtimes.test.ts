/** Checks that every installed runtime produces the same bytes and results: Node, Deno, Bun and Chromium. `npm run runtimes` installs missing ones. */
import { spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { WebSocketServer } from "ws";
import { runtimes } from "../../build/runtimes.mjs";
import { f32, i32, Replay } from "../../src/index.ts";
import { root } from "../support/core.ts";
import { whole } from "../support/size.ts";
import { Chromium } from "./browser.ts";

const here = runtimes();
const required = process.env.REPRISE_RUNTIMES === "all";
const digest = readFileSync(join(import.meta.dirname, "digest.txt"), "utf8").trim();
const JOURNAL = "journal: 300 groups, sum 2383523371, same values: true";
const OPENED = "a Replay: sum 304258597";
const MIGRATED = "migrated: 200 items, sum 561666550, same values: true";
const OPENED_AGAIN = "opened again: 200 items, sum 2129041442, same values: true";
const ACTORS = ["actors: left,left, 2000 transitions, in order: true", "killed: true, in order: true, writers: 0", "in one thread: left, 500 steps"];
const SOCKETS = "sockets: left, 1000 steps, in order: true, connections: 2, messages: 12,true";
const REPORT = "2000 transitions, values 0.071 from the truth";

/** Compares lines of datasets-story.mjs with the values that tensorflow_datasets, minari and h5py read. */
function expectDatasets(lines: readonly string[]): void {
  const json = (path: string) => JSON.parse(readFileSync(join(root, "test/data", path), "utf8"));
  const tfds = json("tfds/expected.json");
  const { minari, d4rl } = json("expected_hdf5.json");
  const told = lines.map((line) => JSON.parse(line));
  expect(told.length).toBe(5);
  for (const [i, name] of ["half_cheetah", "cartpole", "cartpole_pixels"].entries()) {
    const { episodes, steps, columns } = tfds[name];
    expect(told[i]).toMatchObject({ format: "tfds", episodes, steps });
    expect(sums(told[i].columns)).toEqual(sums(columns));
  }
  const length = minari.episodes.reduce((sum: number, { length }: { length: number }) => sum + length + 1, 0);
  expect(told[3]).toMatchObject({
    format: "minari",
    episodes: minari.episodes.length,
    steps: length,
    columns: { observation: { dtype: "f32", crc32: 3543136660 } },
  });
  expect(told[4]).toMatchObject({ format: "d4rl", episodes: 16, steps: 4000 });
  const flat = { observation: d4rl.observations, action: d4rl.actions, reward: d4rl.rewards, is_terminal: d4rl.terminals, is_last: d4rl.timeouts };
  expect(sums(told[4].columns)).toMatchObject(sums(flat));
}

const sums = (columns: { [path: string]: { crc32: number } }) => Object.fromEntries(Object.entries(columns).map(([path, { crc32 }]) => [path, crc32]));

/**
 * Defines a group of tests for one runtime: skipped if it is not installed, unless all are required. `npm test` skips all groups, because they start many
 * processes.
 */
const of = (name: keyof typeof here) => describe.runIf(whole && (here[name] !== undefined || required));

/** Returns the measurements of the frame loop. */
const frames = async (page: Page) => (await page.evaluate("measured()")) as { frames: number; replayMs: number; now: number };

/** A program that hangs must exit before its test ends, because vitest cannot stop a test that waits for a process. */
const MS = 50_000;

/** Runs a program, which must succeed without error output. Returns its output. */
function run(name: keyof typeof here, ...args: string[]): string {
  const { status, stdout, stderr, error } = spawnSync(here[name] ?? name, args, { cwd: root, encoding: "utf8", timeout: MS, killSignal: "SIGKILL" });
  expect({ status, stderr, error }, stdout).toEqual({ status: 0, stderr: "", error: undefined });
  return stdout.trim();
}

describe("programs", () => {
  const folder = mkdtempSync(join(tmpdir(), "reprise-runtimes-"));
  const file = (name: string) => join(folder, name);
  afterAll(() => rmSync(folder, { recursive: true }));

  describe.each([
    { name: "node", actorsArgs: [], socketsArgs: [], digestArgs: [], journalArgs: [], datasetsArgs: [], exampleArgs: ["examples/node.js"] },
    {
      name: "deno",
      actorsArgs: ["run", "--allow-read=test/runtime,dist"],
      socketsArgs: ["run", "--allow-net=127.0.0.1"],
      digestArgs: ["run"],
      journalArgs: ["run", `--allow-read=${folder}`, `--allow-write=${folder}`],
      datasetsArgs: ["run", "--allow-read=test/data"],
      exampleArgs: ["run", `--allow-read=${folder}`, `--allow-write=${folder}`, "examples/deno.js"],
    },
    { name: "bun", actorsArgs: [], socketsArgs: [], digestArgs: [], journalArgs: [], datasetsArgs: [], exampleArgs: ["examples/bun.js"] },
  ] as const)("$name", ({ name, actorsArgs, socketsArgs, digestArgs, journalArgs, datasetsArgs, exampleArgs }) => {
    of(name)("is there", () => {
      it.runIf(whole)("computes the stored digests in both builds of the core", () => {
        expect(run(name, ...digestArgs, "dist/digest.mjs")).toBe(digest);
      });

      it("reopens the journal that it wrote", () => {
        const path = file(`${name}-journal`);
        expect(run(name, ...journalArgs, "test/runtime/journal.mjs", path)).toBe(`${JOURNAL}\n${OPENED}\n${MIGRATED}`);
        expect(run("node", "test/runtime/journal.mjs", path, "again")).toBe(`${JOURNAL}\n${OPENED_AGAIN}`);
      });

      it("runs actors in workers that write to a Replay without WebAssembly", () => {
        expect(run(name, ...actorsArgs, "test/runtime/actors.mjs").split("\n")).toEqual(ACTORS);
      });

      it("accepts actors over WebSockets, even after a broken connection", () => {
        expect(run(name, ...socketsArgs, "test/runtime/sockets.mjs")).toBe(SOCKETS);
      });

      it("opens datasets by their paths", () => {
        expectDatasets(run(name, ...datasetsArgs, "test/runtime/datasets.mjs", "test/data").split("\n"));
      });

      it("runs an example that learns from its saved file", () => {
        expect(run(name, ...exampleArgs, file(name))).toBe(REPORT);
        run("node", "examples/node.js", file("node"));
        expect(readFileSync(file(name)).equals(readFileSync(file("node")))).toBe(true);
      });
    });
  });
});

of("chromium")("chromium", () => {
  let browser: Chromium;
  beforeAll(async () => {
    browser = await Chromium.start(here.chromium as string);
  });
  afterAll(() => browser?.stop());

  it("computes the stored digests in both builds of the core", async () => {
    const { lines } = await browser.open("/test/runtime/digest.html", "document.title === 'done'");
    expect(lines.join("\n")).toBe(digest);
  });

  it("keeps a journal in its own files, and locks it for one worker at a time", async () => {
    const { lines } = await browser.open("/test/runtime/journal.html", "document.title === 'done'");
    expect(lines).toEqual([`${JOURNAL}\n${OPENED}\n${MIGRATED}`, "LOCKED while another worker has it", `${JOURNAL}\n${OPENED_AGAIN}`]);
  });

  it("runs actors in workers", async () => {
    const { lines } = await browser.open("/test/runtime/actors.html", "document.title === 'done'");
    expect(lines).toEqual(ACTORS);
  });

  it("runs actors in pages over a WebSocket", async () => {
    const replay = new Replay({ spec: { observation: f32(2), action: i32(), reward: f32() }, tables: { t: { maxSize: 1000 } } });
    const server = new WebSocketServer({ host: "127.0.0.1", port: 0 });
    await once(server, "listening");
    replay.publish(Float32Array.of(1, 0.5));
    const accepted = once(server, "connection").then(([socket]) => replay.acceptWriter(socket, { items: [{ table: "t", length: 1 }] }));
    const { lines } = await browser.open(`/test/runtime/sockets.html#${(server.address() as AddressInfo).port}`, "document.title === 'done'");
    expect([lines, (await (await accepted).closed).how, replay.tables.t.size]).toEqual([["weights: 1,0.5"], "left", 1000]);
    server.close();
  });

  it("opens datasets by URL and as Blobs, and one of them in a worker", async () => {
    const { lines } = await browser.open("/test/runtime/datasets.html", "document.title === 'done'");
    // The browser logs missing files.
    const told = lines.filter((line) => !line.startsWith("Failed to load resource"));
    expectDatasets(told.slice(0, 5));
    expectDatasets(told.slice(5, 10));
    expect(told.slice(10, 11)).toEqual([told[4]]);
    // One column of each filter, read with h5wasm-plugins, has the values of the unfiltered column.
    const { columns } = JSON.parse(told[11] as string) as { readonly columns: { readonly [path: string]: { readonly crc32: number } } };
    const infos = Object.entries(columns).filter(([path]) => path.startsWith("infos/"));
    expect(infos.map(([path, { crc32 }]) => [path, crc32])).toEqual(infos.map(([path]) => [path, columns["infos/plain"]?.crc32]));
    expect(infos.length).toBe(13);
  });

  it("shows the example page", async () => {
    const { page } = await browser.open("/examples/page.html", "document.querySelectorAll('rect').length === 19");
    expect(await page.textContent("#report")).toBe(REPORT);
  });

  // This test measures time, so `npm test` skips it.
  it.runIf(required)("runs a loop of 60 frames per second, with less than 0.2 ms of replay per frame", async () => {
    const { page } = await browser.open("/examples/loop.html", "globalThis.measured?.().frames >= 60");
    const first = await frames(page);
    await page.waitForTimeout(10_000);
    const last = await frames(page);
    expect((1000 * (last.frames - first.frames)) / (last.now - first.now)).toBeGreaterThan(57);
    expect((last.replayMs - first.replayMs) / (last.frames - first.frames)).toBeLessThan(0.2);
  });

  it("allocates nothing in the package during that loop", async () => {
    const { page } = await browser.open("/examples/loop.html", "globalThis.measured?.().frames >= 60");
    const before = await frames(page);
    const ours = await browser.allocated(page, 5000, "/dist/index.js");
    const { frames: after } = await frames(page);
    // The smallest object takes 12 bytes. V8's metadata about the code takes less.
    expect(ours / (after - before.frames)).toBeLessThan(8);
    // This check shows that the measurement detects allocations.
    await page.evaluate("setInterval(() => (globalThis.kept = new Array(100)), 1)");
    expect(await browser.allocated(page, 1000, "")).toBeGreaterThan(10_000);
  });
});
