/** Tests processes that are killed while they write, and processes that compete for one directory. */
import { spawn } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { node } from "../../../src/files/node.ts";
import { TestRandom } from "../../support/random.ts";
import { scaled, slow, some } from "../../support/size.ts";
import { again } from "./opened.ts";

const folder = mkdtempSync(join(tmpdir(), "reprise-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const PROGRAM = join(import.meta.dirname, "programs/writer.mjs");

/** Starts a process whose output acknowledges the steps that it writes. */
function writer(dir: string, durability: string) {
  const child = spawn(process.execPath, [PROGRAM, dir, durability], { stdio: ["ignore", "pipe", "inherit"] });
  let said = "";
  child.stdout.on("data", (chunk) => {
    said += chunk;
  });
  const ended = new Promise((resolve) => child.on("close", resolve));

  return {
    child,
    ended,
    acknowledged: () => Number(said.trimEnd().split("\n").at(-1)),
    begun: async () => {
      while (!said.includes("\n")) await new Promise((resolve) => setTimeout(resolve, 5));
    },
  };
}

test.each(some(["manual", "always", "often"], 1))("all acknowledged steps survive SIGKILL (%s)", { timeout: 300_000 }, async (durability) => {
  const dir = join(folder, durability);
  const random = new TestRandom(durability.length);
  let before = 0;
  for (let kill = 0; kill < (slow ? 17 : scaled(2, 1)); kill++) {
    const { child, ended, begun, acknowledged } = writer(dir, durability);
    await begun();
    await new Promise((resolve) => setTimeout(resolve, random.below(150)));
    child.kill("SIGKILL");
    await ended;
    const replay = await again(node(dir));
    const [table] = Object.values(replay.tables);
    const kept = replay.journal.kept as number;
    expect(kept).toBeGreaterThanOrEqual(acknowledged());
    expect(acknowledged()).toBeGreaterThan(before);
    before = kept;
    const batch = table?.sample(table.size, { replacement: false }) as unknown as {
      steps: { n: { data: Int32Array }; twice: { data: Int32Array } };
      count: number;
    };
    const numbers = [...batch.steps.n.data].sort((a, b) => a - b);
    // The kill may occur after a step was stored, but before the journal kept its number.
    const last = numbers.at(-1) as number;
    expect([kept, kept + 1]).toContain(last);
    expect(numbers).toEqual(Array.from({ length: Math.min(300, last) }, (_, i) => last - Math.min(300, last) + 1 + i));
    for (let i = 0; i < batch.count; i++) expect(batch.steps.twice.data[50 * i + 49]).toBe(2 * (batch.steps.n.data[i] as number));
    const bytes = readdirSync(dir).reduce((sum, name) => sum + statSync(join(dir, name)).size, 0);
    expect(bytes).toBeLessThanOrEqual(2 * replay.journal.stats.liveBytes + 3 * 64 * 1024);
    replay.dispose();
  }
});

test("a second process gets LOCKED with the owner's pid, and a second opening closes the first", async () => {
  const dir = join(folder, "two");
  const { child, ended, begun } = writer(dir, "manual");
  await begun();
  await expect(again(node(dir))).rejects.toThrow(expect.objectContaining({ code: "LOCKED", message: expect.stringContaining(String(child.pid)) }));
  child.kill("SIGKILL");
  await ended;
  const first = await again(node(dir));
  const [writes] = first.writers;
  writes?.append({ n: -1, twice: new Int32Array(50) });
  const second = await again(node(dir));
  expect(Object.values(second.tables)[0]?.stats()).toEqual(Object.values(first.tables)[0]?.stats());
  expect(() => writes?.append({ n: -2, twice: new Int32Array(50) })).toThrow(expect.objectContaining({ code: "CLOSED" }));
  await expect(first.flush()).rejects.toThrow(expect.objectContaining({ code: "CLOSED" }));
  second.dispose();
});
