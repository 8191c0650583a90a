/** The same bytes and the same answers in every runtime that is installed: Node, Deno, Bun and Chromium. `npm run runtimes` installs those that are missing. */
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { runtimes } from "../../build/runtimes.mjs";
import { root } from "../support/core.ts";
import { Chromium } from "./browser.ts";

const here = runtimes();
const required = process.env.REPRISE_RUNTIMES === "all";
const digest = readFileSync(join(import.meta.dirname, "digest.txt"), "utf8").trim();
const JOURNAL = "journal: 300 groups, sum 2383523371, same values: true";
const REPORT = "2000 transitions, values 0.071 from the truth";

/** A group of tests of one runtime: left out where it is not installed, unless all are required. */
const of = (name: keyof typeof here) => describe.skipIf(here[name] === undefined && !required);

/** What the frame loop measured of itself. */
const frames = async (page: Page) => (await page.evaluate("measured()")) as { frames: number; replayMs: number; now: number };

/** What a program prints. */
function run(name: keyof typeof here, ...args: string[]): string {
  const { status, stdout, stderr, error } = spawnSync(here[name] ?? name, args, { cwd: root, encoding: "utf8" });
  expect({ status, stderr, error }).toEqual({ status: 0, stderr: "", error: undefined });
  return stdout.trim();
}

describe("programs", () => {
  const folder = mkdtempSync(join(tmpdir(), "reprise-runtimes-"));
  const file = (name: string) => join(folder, name);
  afterAll(() => rmSync(folder, { recursive: true }));

  describe.each([
    { name: "node", digestArgs: [], journalArgs: [], exampleArgs: ["examples/node.js"] },
    {
      name: "deno",
      digestArgs: ["run"],
      journalArgs: ["run", `--allow-read=${folder}`, `--allow-write=${folder}`],
      exampleArgs: ["run", `--allow-read=${folder}`, `--allow-write=${folder}`, "examples/deno.js"],
    },
    { name: "bun", digestArgs: [], journalArgs: [], exampleArgs: ["examples/bun.js"] },
  ] as const)("$name", ({ name, digestArgs, journalArgs, exampleArgs }) => {
    of(name)("is there", () => {
      it("and gives the digest, from both builds of the core", () => {
        expect(run(name, ...digestArgs, "dist/digest.mjs")).toBe(digest);
      });

      it("and a journal that it wrote is there when it is opened again", () => {
        const path = file(`${name}-journal`);
        expect(run(name, ...journalArgs, "test/runtime/journal.mjs", path)).toBe(JOURNAL);
        expect(run("node", "test/runtime/journal.mjs", path, "again")).toBe(JOURNAL);
      });

      it("and its example learns from the file that it saved", () => {
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

  it("gives the digest, from both builds of the core", async () => {
    const { lines } = await browser.open("/test/runtime/digest.html", "document.title === 'done'");
    expect(lines.join("\n")).toBe(digest);
  });

  it("has a journal in its own files, that one worker at a time may open, and that outlives it", async () => {
    const { lines } = await browser.open("/test/runtime/journal.html", "document.title === 'done'");
    expect(lines).toEqual([JOURNAL, "LOCKED while another worker has it", JOURNAL]);
  });

  it("shows the example page", async () => {
    const { page } = await browser.open("/examples/page.html", "document.querySelectorAll('rect').length === 19");
    expect(await page.textContent("#report")).toBe(REPORT);
  });

  // It measures time: not in `npm test`.
  it.runIf(required)("runs a frame loop of 60 a second, with replay below 0.2 ms a frame, for 10 s", async () => {
    const { page } = await browser.open("/examples/loop.html", "globalThis.measured?.().frames >= 60");
    const first = await frames(page);
    await page.waitForTimeout(10_000);
    const last = await frames(page);
    expect((1000 * (last.frames - first.frames)) / (last.now - first.now)).toBeGreaterThan(57);
    expect((last.replayMs - first.replayMs) / (last.frames - first.frames)).toBeLessThan(0.2);
  });

  it("collects no garbage of ours in that loop", async () => {
    const { page } = await browser.open("/examples/loop.html", "globalThis.measured?.().frames >= 60");
    const before = await frames(page);
    const ours = await browser.allocated(page, 5000, "/dist/index.js");
    const { frames: after } = await frames(page);
    // The smallest object takes 12 bytes; what V8 writes down about the code itself comes to less.
    expect(ours / (after - before.frames)).toBeLessThan(8);
    // The same measurement does see what is allocated.
    await page.evaluate("setInterval(() => (globalThis.kept = new Array(100)), 1)");
    expect(await browser.allocated(page, 1000, "")).toBeGreaterThan(10_000);
  });
});
