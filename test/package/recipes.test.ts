/** The programs of docs/recipes run as users run them, on a small budget; they learn what there is to learn, and say so. What a recipe is about is shown by breaking it. */
import { spawnSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { root } from "../support/core.ts";

const folder = join(root, "docs", "recipes");
const names = readdirSync(folder).filter((file) => file.endsWith(".js"));

/** What a recipe prints. @param wrong text of the program, and what stands there instead */
function run(name: string, budget: number, wrong?: readonly [right: string, wrong: string]): string {
  const file = join(folder, `${name}.js`);
  const code = readFileSync(file, "utf8");
  if (wrong !== undefined) expect(code).toContain(wrong[0]);
  const program = wrong === undefined ? [file] : ["--input-type=module", "-e", code.replaceAll(...wrong), "recipe"];
  const { status, stdout, stderr } = spawnSync(process.execPath, [...program, String(budget)], { cwd: root, encoding: "utf8" });
  expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
  return stdout;
}

function numberAfter(text: string, out: string): number {
  const [, found] = out.split(text);
  return Number.parseFloat(found as string);
}

test("each recipe is on the page, is a whole program of less than 80 lines, and fits the page's width", () => {
  const page = readFileSync(join(folder, "README.md"), "utf8");
  for (const name of names) {
    expect(page).toContain(`[${name}](${name})`);
    const lines = readFileSync(join(folder, name), "utf8").trimEnd().split("\n");
    expect(lines.length, name).toBeLessThan(80);
    expect(Math.max(...lines.map((line) => line.length)), name).toBeLessThanOrEqual(120);
  }
});

test("DQN bootstraps where an episode was truncated", () => {
  const out = run("dqn", 3000);
  expect(numberAfter("right end: ", out)).toBeCloseTo(10, 0);
  expect(out).toContain("policy: >>>>>>>>");
  expect(numberAfter("right end: ", run("dqn", 3000, ["}, terminated });", "}, terminated: true });"]))).toBeLessThan(8);
});

test("Rainbow's memory finds the way of a blind cliff walk", () => {
  const out = run("rainbow", 8000);
  expect(out).toContain("right actions on the greedy path: 8 of 8");
  expect(out).toContain("beta: 1.00");
  expect(Math.abs(numberAfter("at the start: ", out) - 0.95 ** 7)).toBeLessThan(0.05);
});

test("SAC learns from recorded data before it lives a step, and goes on with live ones", () => {
  const out = run("sac", 60);
  expect(out).toContain("warm start: 200 transitions of 40 episodes");
  expect(Math.abs(numberAfter("episodes, gain ", out) + 0.465)).toBeLessThan(0.05);
  expect(out).toContain("500 transitions, 300 of them live");
  expect(Math.abs(numberAfter("live; gain ", out) + 0.465)).toBeLessThan(0.03);
  // Time ran out in each recorded episode. If that is taken for an end, the gain is another one.
  expect(numberAfter("live; gain ", run("sac", 60, ["is_terminal: false", "is_terminal: is_last"]))).toBeGreaterThan(-0.38);
});

test("R2D2's windows begin with the state that was stored", () => {
  expect(numberAfter("last quarter: ", run("r2d2", 200))).toBe(100);
  const forgets = run("r2d2", 200, ["next(state.data[first], ", "next(0, "]);
  expect(numberAfter("last quarter: ", forgets)).toBeLessThan(80);
});

test("vector environments give the same values in each autoreset mode", () => {
  const lines = run("vector", 60).trimEnd().split("\n");
  expect(lines.map((line) => line.split(":")[0])).toEqual(["nextStep", "sameStep", "disabled"]);
  const truth = Array.from({ length: 7 }, (_, place) => (2 * (1 - 0.5 ** (7 - place))).toFixed(2)).join(" ");
  for (const line of lines) expect(line).toContain(`values ${truth}`);
  // With the next episode's observation in place of the last one seen, the values are wrong.
  const wrong = run("vector", 60, ["next.finalObs", "next.observation"]).trimEnd().split("\n");
  expect(wrong.map((line) => line.includes(`values ${truth}`))).toEqual([true, false, true]);
});
