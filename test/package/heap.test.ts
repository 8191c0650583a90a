/** What a learner's loop leaves on the JavaScript heap: nothing. In a process of its own, whose heap nobody else uses. */
import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";

const MAX_BYTES = 64 * 1024;

describe("the heap", () => {
  let seen: { growth: { [call: string]: number }; fast: boolean[] };

  beforeAll(() => {
    const flags = ["--expose-gc", "--allow-natives-syntax"];
    seen = JSON.parse(execFileSync(process.execPath, [...flags, join(import.meta.dirname, "heap.mjs")], { encoding: "utf8" }));
  }, 60_000);

  test.each([
    ...["staged append", "nested append and createItem", "sample into", "updatePriorities"],
    ...["PFRL's sample into", "PFRL's prioritized sample into and updateErrors"],
  ])("%s allocates nothing in 100,000 calls", (call) => {
    expect(seen.growth[call]).toBeLessThan(MAX_BYTES);
  });

  test("the staged step of every writer keeps its fast form", () => {
    expect(seen.fast).toEqual([true, true, true]);
  });
});
