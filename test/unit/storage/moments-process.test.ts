/** Tests readers of a log that another process is writing: every reader must succeed, and return everything that was on the disk before the call. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { openReadOnly } from "../../../src/cli/journal.ts";
import { openReplay } from "../../../src/datasets/rlds/index.ts";
import { node } from "../../../src/files/node.ts";
import { openRecording } from "../../../src/recorder/index.ts";
import { Log } from "../../../src/storage/log/log.ts";
import { scaled } from "../../support/size.ts";

const folder = mkdtempSync(join(tmpdir(), "reprise-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const PROGRAM = join(import.meta.dirname, "programs/grower.mjs");
const STEPS = 15;

/** Returns the number of the newest step. */
type Newest = (dir: string) => Promise<number>;

const inTable: Newest = async (dir) => {
  const replay = await openReadOnly(dir, new AbortController().signal);
  const { inserts } = replay.table("t").stats();
  replay.dispose();
  return inserts;
};

/** Reads all steps, and checks that their numbers are consecutive. */
const inHistory: Newest = async (dir) => {
  const reader = await openReplay<{ observation: { n: number } }>(dir);
  const numbers: number[] = [];
  for await (const { steps } of reader) for (const { observation } of steps) numbers.push(observation.n);
  await reader.close();
  expect(numbers).toEqual(numbers.map((_, i) => i + 1));
  return numbers.length;
};

const inRecording: Newest = async (dir) => {
  const reader = await openRecording<{ observation: number }>(dir);
  let newest = 0;
  for await (const { steps } of reader) for (const { observation } of steps) expect(observation).toBe(++newest);
  await reader.close();
  return newest;
};

const inLog: Newest = async (dir) => {
  const log = Log.open(node(dir), { about: {}, readOnly: true });
  for (const _ of log.replay(() => {}));
  log.close();
  return Number.POSITIVE_INFINITY;
};

test.each<[string, Newest[]]>([
  ["all", [inHistory, inTable]],
  ["capacity", [inTable, inLog]],
  ["recording", [inRecording, inLog]],
])("every reader sees at least all acknowledged steps (%s)", { timeout: 120_000 }, async (what, readers) => {
  const dir = join(folder, what);
  const child = spawn(process.execPath, [PROGRAM, dir, what], { stdio: ["pipe", "pipe", "inherit"] });
  const ended = once(child, "close");
  let said = "";
  child.stdout.on("data", (chunk) => {
    said += chunk;
  });
  const acknowledged = () => Number(said.slice(0, said.lastIndexOf("\n")).split("\n").at(-1));
  const opens = scaled(30, 2);
  try {
    for (let k = 0; k < opens; k++) {
      child.stdin.write("go on\n");
      // The other process keeps writing while its log is read.
      while (acknowledged() <= k * STEPS) {
        expect(child.exitCode).toBe(null);
        await Promise.race([once(child.stdout, "data"), ended]);
      }
      const before = acknowledged();
      const newest = await (readers[k % readers.length] as Newest)(dir);
      expect(newest).toBeGreaterThanOrEqual(before);
    }
  } finally {
    child.stdin.end();
  }
  expect(await ended).toEqual([0, null]);
  expect(await (readers[0] as Newest)(dir)).toBe(opens * STEPS);
});
