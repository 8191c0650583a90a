/** Tests build/direction.mjs: the repository must pass, and for a copy with a violation it must report the place, the rule and the remedy. */
import { spawnSync } from "node:child_process";
import { appendFileSync, cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { root } from "../support/core.ts";
import { whole } from "../support/size.ts";

function direction(tree: string): { status: number | null; faults: string[]; summary: string } {
  const { status, stdout, stderr } = spawnSync(process.execPath, [join(root, "build", "direction.mjs"), tree], { encoding: "utf8" });
  return { status, faults: stderr.split("\n").filter((line) => line !== ""), summary: stdout.trim() };
}

let tree = "";

beforeAll(() => {
  tree = mkdtempSync(join(tmpdir(), "reprise-direction-"));
  for (const folder of ["assembly", "src"]) cpSync(join(root, folder), join(tree, folder), { recursive: true });
});

afterAll(() => rmSync(tree, { recursive: true }));

/** Adds lines at the end of a file. Returns the number of the first added line. */
function add(file: string, lines: string): number {
  const at = readFileSync(join(tree, file), "utf8").split("\n").length;
  appendFileSync(join(tree, file), `${lines}\n`);
  return at;
}

describe("the dependency direction", () => {
  // `npm run check` also checks this.
  test.runIf(whole)("holds in the repository", () => {
    const { status, faults, summary } = direction(root);
    expect(faults).toEqual([]);
    expect(status).toBe(0);
    expect(summary).toMatch(/^direction: \d\d+ files, 0 wrong$/);
  });

  test.runIf(whole)("is not violated by comments, strings, or members named like a runtime's globals", () => {
    add("src/schema/spec.ts", `// process.exit()\nexport const text = "window" + \`document\`; export const of = (x: { window: number }) => x.window;`);
    add("src/schema/layout.ts", "export function rowsOf(window: number): number {\n  return window + 1;\n}");
    expect(direction(tree).faults).toEqual([]);
  });

  test.runIf(whole)("is reported with the place, rule and remedy of each violation", () => {
    const up = add("assembly/memory/ring.ts", `import { Pool } from "../rows/pool";`);
    const host = add("assembly/memory/bytes.ts", `@external("env", "now")\ndeclare function now(): f64;`);
    const tests = add("src/schema/layout.ts", `import { root } from "../../test/support/core.ts";`);
    const names = add("src/schema/spec.ts", "export const where = process.cwd();\nexport const page = globalThis.document;");
    const node = add("src/base/wait.ts", `export type { Stats } from "node:fs";`);
    const same = add("src/schema/rate-limiter.ts", `export type { Files } from "../files/directory.ts";`);
    const round = add("src/base/error.ts", `export const limiters = () => import("../schema/rate-limiter.ts");`);
    const word = add("src/schema/dtype.ts", "export function told(): void {}");
    const gone = add("src/schema/columns.ts", `import type { Gone } from "./gone.ts";`);
    const raw = add(
      "src/replay/plan.ts",
      "export const raw = (engine: any) => [engine.core.u8, engine.core.x, engine.calls.stream_length(0)];\nexport const { f64 } = ({} as any).core;",
    );
    mkdirSync(join(tree, "src/placeless"));
    writeFileSync(join(tree, "src/placeless/one.ts"), "export const one = 1;\n");
    rmSync(join(tree, "assembly", "selectors", "heap.ts"));
    rmSync(join(tree, "src/adapters"), { recursive: true });
    const heap =
      readFileSync(join(tree, "assembly/selectors/selector.ts"), "utf8")
        .split("\n")
        .findIndex((line) => line.includes('from "./heap"')) + 1;
    const { status, faults, summary } = direction(tree);
    const wanted = [
      `assembly/memory/ring.ts:${up}: imports assembly/rows/pool.ts, which is not below it`,
      `assembly/memory/bytes.ts:${host}: @external asks the host`,
      `assembly/memory/bytes.ts:${host + 1}: declare asks the host`,
      `src/schema/layout.ts:${tests}: imports test/support/core.ts: src knows nothing outside src; move`,
      `src/schema/spec.ts:${names}: names process, which only some runtimes have: take it as an option`,
      `src/schema/spec.ts:${names + 1}: names document, which only some runtimes have`,
      `src/base/wait.ts:${node}: imports node:fs: the engine depends on nothing`,
      `src/schema/rate-limiter.ts:${same}: imports src/files/directory.ts, which is not below it`,
      `src/base/error.ts:${round}: imports src/schema/rate-limiter.ts, which is not below it`,
      `src/replay/plan.ts:${raw}: looks at the core's memory, or its exports, by u8: only src/memory/ and src/batch/ do`,
      `src/replay/plan.ts:${raw}: looks at the core's memory, or its exports, by x: only src/memory/ and src/batch/ do`,
      `src/replay/plan.ts:${raw}: calls the core's stream_length: only src/memory/ and src/batch/ do; call a facade there`,
      `src/replay/plan.ts:${raw + 1}: looks at the core's memory, or its exports, by f64: only src/memory/ and src/batch/ do`,
      `src/schema/dtype.ts:${word}: declares told: take a noun or a verb of the field`,
      `src/schema/columns.ts:${gone}: imports src/schema/gone.ts, which is not there: correct the path`,
      "src/placeless/one.ts:1: its folder has no layer: give it one in build/layers.mjs",
      "build/layers.mjs: names src/adapters/, which is not there: take it out",
      `assembly/selectors/selector.ts:${heap}: imports assembly/selectors/heap.ts, which is not there`,
      "imports itself, by src/base/error.ts → src/schema/rate-limiter.ts → src/base/error.ts: move what they share",
    ];
    for (const want of wanted) expect(faults.filter((fault) => fault.includes(want))).toEqual([expect.any(String)]);
    expect(faults.length).toBe(wanted.length);
    expect(status).toBe(1);
    expect(summary).toContain(`${wanted.length} wrong`);
  });
});
