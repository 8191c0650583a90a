/**
 * Runs the programs of docs/recipes as users do, on a small budget. Each must report that it learned, and breaking the feature of a recipe must stop it from
 * learning.
 */
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { root } from "../support/core.ts";
import { whole } from "../support/size.ts";

const folder = join(root, "docs", "recipes");
const names = readdirSync(folder).filter((file) => file.endsWith(".js"));

/** Broken recipes are written to files, because a recipe may start itself again in a worker. */
const broken = mkdtempSync(join(tmpdir(), "reprise-recipes-"));
mkdirSync(join(broken, "node_modules"));
symlinkSync(root, join(broken, "node_modules", "reprise"), "junction");
afterAll(() => rmSync(broken, { recursive: true, force: true }));

type Wrong = readonly [right: string, wrong: string];

/** Runs a recipe in a new process. @param wrong a text of its program to replace, and the replacement */
function started(name: string, budget: number, wrong?: Wrong) {
  let file = join(folder, `${name}.js`);
  if (wrong !== undefined) {
    const code = readFileSync(file, "utf8");
    expect(code).toContain(wrong[0]);
    file = join(broken, `${name}.mjs`);
    writeFileSync(file, code.replaceAll(...wrong));
  }
  return spawnSync(process.execPath, [file, String(budget)], { cwd: root, encoding: "utf8" });
}

/** Returns the output of a recipe. */
function run(name: string, budget: number, wrong?: Wrong): string {
  const { status, stdout, stderr } = started(name, budget, wrong);
  expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
  return stdout;
}

function numberAfter(text: string, out: string): number {
  const [, found] = out.split(text);
  return Number.parseFloat(found as string);
}

test("each recipe is listed on the page, has fewer than 80 lines, and fits the width", () => {
  const page = readFileSync(join(folder, "README.md"), "utf8");
  for (const name of names) {
    expect(page).toContain(`[${name}](${name})`);
    const lines = readFileSync(join(folder, name), "utf8").trimEnd().split("\n");
    expect(lines.length, name).toBeLessThan(80);
    expect(Math.max(...lines.map((line) => line.length)), name).toBeLessThanOrEqual(120);
  }
});

test("DQN bootstraps if an episode was truncated", () => {
  const out = run("dqn", 3000);
  expect(numberAfter("right end: ", out)).toBeCloseTo(10, 0);
  expect(out).toContain("policy: >>>>>>>>");
  expect(numberAfter("right end: ", run("dqn", 3000, ["}, terminated });", "}, terminated: true });"]))).toBeLessThan(8);
});

test.runIf(whole)("Rainbow finds the path of a blind cliff walk", () => {
  const out = run("rainbow", 8000);
  expect(out).toContain("right actions on the greedy path: 8 of 8");
  expect(out).toContain("beta: 1.00");
  expect(Math.abs(numberAfter("at the start: ", out) - 0.95 ** 7)).toBeLessThan(0.05);
});

test.runIf(whole)("SAC learns from recorded data before its first live step, and continues with live data", () => {
  const out = run("sac", 60);
  expect(out).toContain("warm start: 200 transitions of 40 episodes");
  expect(Math.abs(numberAfter("episodes, gain ", out) + 0.465)).toBeLessThan(0.05);
  expect(out).toContain("500 transitions, 300 of them live");
  expect(Math.abs(numberAfter("live; gain ", out) + 0.465)).toBeLessThan(0.03);
  // Each recorded episode was truncated by its time limit. Treating that as termination changes the gain.
  expect(numberAfter("live; gain ", run("sac", 60, ["is_terminal: false", "is_terminal: is_last"]))).toBeGreaterThan(-0.38);
});

test.runIf(whole)("RLPD opens a lock with half of each batch from recorded episodes", () => {
  const out = run("rlpd", 100);
  expect(out).toContain("warm start: 184 recorded transitions; 64 of 64 rows are recorded");
  expect(out).toContain("live: 32 of 64 rows are recorded");
  expect(numberAfter("last half: ", out)).toBeGreaterThan(90);
  // Recorded episodes that never reach the goal do not help.
  expect(numberAfter("last half: ", run("rlpd", 100, ["random() < 0.1", "random() < 1"]))).toBe(0);
});

test.runIf(whole)("epochs return each step equally often across a restart, and the clone imitates the player", () => {
  const out = run("epochs", 100);
  expect(out).toContain("stopped after 40 batches of epoch 0");
  expect(out).toContain("after 6 epochs each step was seen 6 times");
  expect(Math.abs(numberAfter("the clone: ", out) + 0.8)).toBeLessThan(0.05);
  expect(numberAfter("the clone ends at ", out)).toBeLessThan(0.01);
  // Without the state, the second half has six whole epochs.
  expect(run("epochs", 100, [", state: JSON.parse(kept.state)", ""])).toContain("more or less often");
});

test.runIf(whole)("hindsight learns goals that no episode reached", () => {
  expect(numberAfter("goals before, ", run("her", 200))).toBeGreaterThan(0.75);
  expect(numberAfter("goals before, ", run("her", 200, ["share: 0.8", "share: 0"]))).toBeLessThan(0.3);
});

test.runIf(whole)("R2D2 starts its sequences with the stored state", () => {
  expect(numberAfter("last quarter: ", run("r2d2", 200))).toBe(100);
  // Many episodes are shorter than a window, because the minimum is 2 steps.
  expect(numberAfter("last quarter: ", run("r2d2", 200, ["12 + Math.floor(random() * 8)", "1 + Math.floor(random() * 12)"]))).toBeGreaterThan(95);
  const forgets = run("r2d2", 200, ["next(state.data[i], ", "next(0, "]);
  expect(numberAfter("last quarter: ", forgets)).toBeLessThan(80);
});

test.runIf(whole)("Dreamer's chunks span episodes, and isFirst marks where an episode begins", () => {
  const out = run("dreamer", 400);
  expect(numberAfter("loss: ", out)).toBeLessThan(1e-3);
  expect(numberAfter("weight of the reward: ", out)).toBeCloseTo(6, 1);
  expect(numberAfter("loss: ", run("dreamer", 400, ["if (isFirst.data[at]) before = 0;", ""]))).toBeGreaterThan(0.01);
});

test.runIf(whole)("vector environments learn the same values in each autoreset mode", () => {
  const lines = run("vector", 60).trimEnd().split("\n");
  expect(lines.map((line) => line.split(":")[0])).toEqual(["nextStep", "sameStep", "disabled"]);
  const truth = Array.from({ length: 7 }, (_, place) => (2 * (1 - 0.5 ** (7 - place))).toFixed(2)).join(" ");
  for (const line of lines) expect(line).toContain(`values ${truth}`);
  // If the observation of the next episode replaces the final observation, the values are wrong.
  const wrong = run("vector", 60, ["next.finalObs", "next.observation"]).trimEnd().split("\n");
  expect(wrong.map((line) => line.includes(`values ${truth}`))).toEqual([true, false, true]);
});

test.runIf(whole)("a recording continues after interrupted sessions, and the clone plays like its player", () => {
  const out = run("record", 40);
  expect(out).toContain("recorded: 40 episodes, and 2 that were cut");
  expect(numberAfter("reached its goal in ", out)).toBe(100);
  const nothing = run("record", 40, ["await recorder.endEpisode(", "await recorder.discardEpisode("]);
  expect(nothing).toContain("recorded: 0 episodes, and 2 that were cut; 2 steps");
  expect(numberAfter("reached its goal in ", nothing)).toBeLessThan(80);
});

test.runIf(whole)("actors in workers append while the learner draws, and no transition is lost", () => {
  const out = run("actors", 1000);
  expect(out).toContain("actors: left, left, left; 1000 + 1000 + 1000 steps, 3000 transitions");
  expect(Math.abs(numberAfter("at the start: ", out) - 0.9 ** 4)).toBeLessThan(0.02);
  // There are eight draws per transition, in batches of 32. The rate limiter holds back 600 to 2,600 of them.
  const batches = numberAfter("transitions\n", out);
  expect(batches).toBeGreaterThanOrEqual((3000 * 8 - 2600) / 32 - 1);
  expect(batches).toBeLessThanOrEqual((3000 * 8 - 600) / 32);
  // An actor that does not wait is rejected, and an actor that leaves silently is removed.
  const hasty = started("actors", 1000, ["await writer.append(", "writer.append("]);
  expect([hasty.status, hasty.stdout]).toEqual([1, ""]);
  expect(hasty.stderr).toContain("RATE_LIMITED");
  expect(run("actors", 100, ["await writer.close();", ""])).toContain("actors: gone, gone, gone; 100 + 100 + 100 steps, 300 transitions");
});
