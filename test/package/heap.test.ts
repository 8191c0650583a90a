/** Checks that a learner's loop allocates nothing on the JavaScript heap. It runs in a separate process, so that nothing else uses the heap. */
import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { scaled } from "../support/size.ts";

const CALLS = scaled(100_000, 10_000);
/** The maximum growth of the heap in bytes over all CALLS calls. It is smaller than one object per call would be. */
const MAX_BYTES = 64 * 1024;

describe("the heap", () => {
  let seen: { growth: { [call: string]: number }; isFreed: boolean; isForgotten: boolean; fast: boolean[] };

  beforeAll(() => {
    // V8 compiles on this thread. On a busy machine, a compiler thread would finish so late that the test would measure the interpreter, which boxes numbers.
    const flags = ["--expose-gc", "--allow-natives-syntax", "--no-concurrent-recompilation"];
    seen = JSON.parse(execFileSync(process.execPath, [...flags, join(import.meta.dirname, "heap.mjs"), String(CALLS)], { encoding: "utf8" }));
  }, 60_000);

  test.each([
    ...["staged append", "nested append and createItem", "sample into", "transitions into", "sequences into, and their priorities", "updatePriorities"],
    ...["mixture into", "mixture's updatePriorities"],
    ...["PFRL's sample into", "PFRL's prioritized sample into and updateErrors"],
  ])("%s allocates nothing per call", (call) => {
    expect(seen.growth[call]).toBeLessThan(MAX_BYTES);
  });

  test("a batch keeps its arrays but no Replay alive, and a Replay keeps no unreachable batch", () => {
    expect([seen.isFreed, seen.isForgotten]).toEqual([true, true]);
  });

  test("the staged step of every writer keeps its fast form", () => {
    expect(seen.fast).toEqual([true, true, true]);
  });
});
