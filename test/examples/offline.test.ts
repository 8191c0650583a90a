/** Tests behavior cloning from the half-cheetah data: the loss falls to the noise of the recorded policy, and does so again in a second run. */
import { spawnSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { root } from "../support/core.ts";
import { whole } from "../support/size.ts";

const folder = join(root, "examples/offline");
const start = (...args: string[]) => spawnSync(process.execPath, [join(folder, "main.js"), ...args], { encoding: "utf8" });
const result = (...args: string[]) => {
  const { status, stdout, stderr } = start("--json", ...args);
  expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
  return JSON.parse(stdout) as { readonly before: number; readonly after: number; readonly floor: number; readonly validation: number };
};

describe("examples/offline", () => {
  it("has at most 150 lines, and imports only public names of the package", () => {
    const files = readdirSync(folder).map((file) => readFileSync(join(folder, file), "utf8"));
    expect(files.reduce((sum, text) => sum + text.split("\n").length - 1, 0)).toBeLessThanOrEqual(150);
    const imported = files.flatMap((text) => [...text.matchAll(/from "([^"]+)"/g)].map((match) => match[1] as string));
    expect([...new Set(imported)].sort()).toEqual(["../random.js", "./policy.js", "commander", "node:url", "reprise", "reprise/agents", "reprise/rlds"]);
  });

  it.runIf(whole)("learns the recorded policy down to its noise, measured on unseen episodes", () => {
    const { before, after, floor, validation } = result("--seed", "5");
    expect(validation).toBe(2000);
    expect(before).toBeGreaterThan(0.5);
    // Actions that were not clipped have unpredictable noise of 0.1, so the loss cannot fall much lower.
    expect(floor).toBeGreaterThan(0.004);
    expect(floor).toBeLessThan(0.005);
    expect(after).toBeLessThan(1.1 * floor);
    expect(after).toBeGreaterThan(0.8 * floor);
  });

  it.runIf(whole)("learns only from updates, with the same result for the same seed", () => {
    const none = result("--updates", "0");
    expect(none.after).toBe(none.before);
    const some = result("--updates", "100");
    expect(some.after).toBeLessThan(0.2 * none.before);
    expect(result("--updates", "100")).toEqual(some);
    expect(result("--updates", "100", "--seed", "2").after).not.toBe(some.after);
  });

  it.runIf(whole)("reports its progress", () => {
    const { status, stdout } = start("--updates", "501");
    expect(status).toBe(0);
    expect(stdout).toMatch(
      /^training: 8032 steps of half_cheetah, 8000 of them with an action\nvalidation: 2008 .*\nupdate 0: error 0\.\d+\nupdate 500: error 0\.00\d+\nerror of 2000 unseen actions/,
    );
  });

  it("rejects a seed that is not a number, and a path without a dataset", () => {
    expect(start("--seed", "x").stderr).toMatch(/--seed and --updates take whole numbers/);
    expect(start("nowhere").stderr).toMatch(/NOT_FOUND|there is no such file or folder/);
  });
});
