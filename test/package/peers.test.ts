/** Tests the parts of `npm run bench:peers` that need neither Python nor gcc: our own variants, rejections, thresholds, the chart and the page. */
import { spawnSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { chart } from "../../bench/peers/chart.mjs";
import { judged } from "../../bench/peers/judge.mjs";
import { PROGRAMS } from "../../bench/peers/limits.mjs";
import { filled, KEPT } from "../../bench/peers/page.mjs";
import { refuse } from "../../bench/peers/race.mjs";
import { thresholds } from "../../bench/peers/thresholds.mjs";
import { workloads } from "../../bench/peers/workloads.mjs";
import { root } from "../support/core.ts";
import { whole } from "../support/size.ts";

const folder = join(root, "bench/peers");
const page = readFileSync(join(folder, "README.md"), "utf8");

/** Returns a workload in which our variant takes `ns` nanoseconds, and the other variants have the given results. */
function raced(name: string, ns: number, others: object[]) {
  return { name, unit: "samples/s", each: 32, variants: [{ name: "into", side: "ours", ns, bytes: 1312, memory: 70 }, ...others] };
}

const peer = (name: string, ns: number, more = {}) => ({ name, side: "peer", ns, bytes: 1312, memory: 41, ...more });
const eight = [{ workload: "w", ours: "into", to: "peers", least: 8 }];

describe("a threshold", () => {
  test.each([
    ["is reached if ours is that many times as fast as the best peer", 10, [peer("a", 80), peer("b", 900)], true, "8.00 × a"],
    ["is missed below that", 10, [peer("a", 79), peer("b", 900)], false, "7.90 × a"],
    ["ignores a reference that is not a peer", 10, [peer("NumPy", 20, { apart: "a floor" }), peer("b", 80)], true, "8.00 × b"],
    ["ignores skipped peers", 10, [{ name: "a", side: "peer", skipped: "no Python" }, peer("b", 80)], true, "8.00 × b"],
    ["is missed if no peer was measured", 10, [{ name: "a", side: "peer", skipped: "no Python" }], false, "nothing of peers was measured"],
  ])("%s", (_, ns, others, holds, found) => {
    expect(judged([raced("w", ns, others)], eight)).toMatchObject([{ holds, found }]);
  });

  test("uses the faster malloc of a library that it names", () => {
    const named = [{ workload: "w", ours: "into", to: "flashbax", least: 2 }];
    const others = [peer("flashbax", 40), peer("flashbax, pages kept", 15), peer("cpprb", 1)];
    expect(judged([raced("w", 10, others)], named)).toMatchObject([{ holds: false, found: "1.50 × flashbax, pages kept" }]);
  });

  test("is missed if our variant was skipped, and ignored if its workload did not run", () => {
    const skipped = { ...raced("w", 10, [peer("a", 80)]), variants: [{ name: "into", side: "ours", skipped: "no such option" }, peer("a", 80)] };
    expect(judged([skipped], eight)).toMatchObject([{ holds: false, found: "no such option" }]);
    expect(judged([raced("v", 10, [])], eight)).toEqual([]);
  });

  test("checks percentiles and garbage of a frame", () => {
    const frames = (collections: number) => ({
      name: "frame of a game",
      unit: "µs",
      variants: [
        { name: "into", side: "ours", ns: 9, p999: 70, collections },
        { name: "first build", side: "ours", ns: 12, p999: 70, collections: 0 },
      ],
    });
    const held = thresholds.filter(({ workload, ours }) => workload === "frame of a game" && ours === "into");
    expect(judged([frames(0)], held).map(({ holds }) => holds)).toEqual([true, true]);
    expect(judged([frames(1)], held).map(({ holds }) => holds)).toEqual([true, false]);
  });
});

test("each threshold names existing variants", () => {
  for (const { workload, ours, to } of thresholds) {
    const variants = workloads.find(({ name }) => name === workload)?.variants.map(({ name }) => name);
    expect(variants, workload).toEqual(expect.arrayContaining([ours, ...(to === undefined || to === "peers" ? [] : [to])]));
  }
});

test("a peer is skipped if one of our columns is missing or has another size", () => {
  const side = (name: string, columns: unknown[]) => ({
    one: { name, side: name === "into" ? "ours" : "peer" },
    says: { columns } as { skipped?: string },
    end() {},
  });
  const sides = [
    side("into", [["x", "u8", [32, 1, 4, 84, 84], 0]]),
    side("last", [
      ["x", "u8", [32, 84, 84, 4], 0],
      ["more", "u8", [32], 0],
    ]),
    side("short", [["x", "u8", [31, 4, 84, 84], 0]]),
    side("none", [["y", "u8", [32, 4, 84, 84], 0]]),
  ];
  refuse(sides);
  expect(sides.map(({ says }) => says.skipped)).toEqual([
    undefined,
    undefined,
    "does other work: x is 4×31×84×84, and ours is 4×32×84×84",
    "does other work: x is not there, and ours is 4×32×84×84",
  ]);
});

const fixture = { date: "2026-11-23", machine: "a <machine>", workloads: [raced("w", 10, [peer("a & b", 80), peer("no", 1, { skipped: "no Python" })])] };

test("the chart and the page contain the figures of a run and the skipped variants", () => {
  const svg = chart(fixture);
  expect(svg).toContain("3.2 G samples/s");
  expect(svg).toContain("a &amp; b");
  expect(svg).toContain("a &lt;machine>");
  const widths = [...svg.matchAll(/class="(?:ours|peer)"[^>]* width="([^"]+)"/g)].map(([, width]) => Number(width));
  expect((widths[0] as number) / (widths[1] as number)).toBeCloseTo(8, 1);
  const text = filled(page, fixture);
  expect(text).toContain("| into | 3.2 G samples/s | 8 × | 1312 | 70 |");
  expect(text).toContain("| no | no Python | | | |");
  expect(filled(text, fixture)).toBe(text);
});

test("the page and the chart show the stored run", () => {
  const kept = join(folder, KEPT);
  if (!existsSync(kept)) return expect(page).toContain("Not measured yet.");
  const run = JSON.parse(readFileSync(kept, "utf8"));
  expect(filled(page, run)).toBe(page);
  expect(readFileSync(join(folder, "chart.svg"), "utf8")).toBe(chart(run));
});

test("all files, libraries and programs that the page names exist", () => {
  const files = [...page.matchAll(/`([a-z/]+(?:\.(?:mjs|c|h)|\/))`/g)].map(([, file]) => file as string).filter((file) => !file.startsWith("build/"));
  expect(files.length).toBeGreaterThan(12);
  for (const file of files)
    expect(
      [folder, join(folder, "c")].some((at) => existsSync(join(at, file))),
      file,
    ).toBe(true);
  const libraries = workloads.flatMap(({ variants }) => variants.flatMap(({ task }) => (task && "library" in task ? [`${task.library}.py`] : [])));
  expect(readdirSync(join(folder, "python/libraries"))).toEqual(expect.arrayContaining(libraries));
  for (const program of PROGRAMS) expect(existsSync(join(folder, "c", `${program}.c`))).toBe(true);
});

// A clone of the repository has no recorded screens, so programs that need them are left out.
const programs = new Map(workloads.filter(({ task }) => !("screens" in task)).map((workload) => [workload.task.program, workload]));

test.runIf(whole).each([...programs])("our process for %s responds", (_, { task, variants }) => {
  const ways = variants.flatMap(({ side, task: own, old }) => (side === "ours" && !old ? [own] : []));
  // The program `uniform` runs with all of our variants, the other programs run with only one.
  for (const way of task.program === "uniform" ? ways : ways.slice(0, 1)) {
    const small = JSON.stringify({ ...task, ...way, steps: 2000, batch: 32 });
    const { stdout, stderr } = spawnSync(process.execPath, ["--expose-gc", join(folder, "ours/main.mjs"), small], { input: "3\n", encoding: "utf8" });
    expect(stderr).toBe("");
    const [says, answer] = stdout
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));
    if (says.skipped !== undefined) continue;
    for (const [name, , [rows]] of says.columns) expect(rows, name).toBe(32);
    expect(answer.ns).toBeGreaterThan(0);
  }
});
