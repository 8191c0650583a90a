/** Checks that Node prints an uncaught error with the program's line, followed by only a few readable frames. */
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, expect, test } from "vitest";
import { root } from "../support/core.ts";
import { some } from "../support/size.ts";

const folder = mkdtempSync(join(tmpdir(), "reprise-uncaught-"));
afterAll(() => rmSync(folder, { recursive: true }));

const entry = (file: string) => JSON.stringify(pathToFileURL(join(root, "dist", file)).href);
const PROLOGUE = `import { f32, prioritized, Replay } from ${entry("index.js")};
import { EpisodicReplayBuffer, TFUniformReplayBuffer } from ${entry("agents.js")};
import { EpisodicReplayBuffer as Episodes, ReplayBuffer } from ${entry("pfrl.js")};
const replay = new Replay({ spec: { x: f32(2) }, tables: { t: { maxSize: 4 } } });
const writer = replay.writer({ items: [{ table: "t", length: 1 }] });
const table = replay.table("t");
new EpisodicReplayBuffer({ x: f32() });
const buffer = new ReplayBuffer(4);
const episodes = new Episodes(4);
function learn() {
`;

test.each(
  some(
    [
      ["new Replay({ spec: { x: f32() }, tables: { t: { maxsize: 4 } } });", "TypeError: "],
      ["new Replay({ spec: { x: f32() }, tables: { t: { maxSize: 0 } } });", "RangeError: "],
      ['replay.table("typo");', "ReplayError: "],
      ['replay.writer({ items: [{ table: "typo", length: 1 }] });', "ReplayError: "],
      ["writer.append({ x: [1, 2, 3] });", "ReplayError: "],
      ["writer.append({ y: [1, 2] });", "ReplayError: "],
      ["writer.appendColumns({ x: new Float32Array(3) });", "RangeError: "],
      ['writer.createItem("t", { length: 1, priority: -1 });', "RangeError: "],
      ["table.sample(0);", "RangeError: "],
      ["table.sample(2, { replacment: true });", "TypeError: "],
      ["table.updatePriorities([1], [Number.NaN]);", "RangeError: "],
      ["prioritized(Number.NaN);", "RangeError: "],
      ["new TFUniformReplayBuffer({ x: f32() }, { batchSize: 0 });", "RangeError: "],
      ["new ReplayBuffer(-1);", "RangeError: "],
      ["buffer.sample(-1);", "RangeError: "],
      ["episodes.sample(-1);", "RangeError: "],
    ],
    2,
  ),
)("the error of %s points at its line", (statement, begins) => {
  const file = join(folder, "program.mjs");
  writeFileSync(file, `${PROLOGUE}  ${statement}\n}\nlearn();\n`);
  const { status, stderr } = spawnSync(process.execPath, [file], { encoding: "utf8" });
  expect(status).toBe(1);
  const lines = stderr.trimEnd().split("\n");
  expect(lines.length).toBeLessThan(20);
  // A longer line would be code of a bundle or a frame that nobody can read.
  for (const line of lines) expect(line.length).toBeLessThan(300);
  const number = PROLOGUE.split("\n").length;
  expect(lines.slice(0, 2)).toEqual([`${pathToFileURL(file).href}:${number}`, `  ${statement}`]);
  expect(lines.find((line) => /^\w*Error: /.test(line))).toContain(begins);
  const frames = lines.filter((line) => line.startsWith("    at "));
  expect(frames.slice(0, 2)).toEqual([expect.stringMatching(/^ {4}at learn \(.*program\.mjs:\d+:\d+\)$/), expect.stringMatching(/program\.mjs:\d+:\d+/)]);
});
