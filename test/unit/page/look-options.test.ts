/** Tests the reading options of the room Look, and its example. */
import { describe, expect, it } from "vitest";
import { exampleLines } from "../../../page/look/model/example.ts";
import { inWordsOfTheForm, readingOptions } from "../../../page/look/model/reading-options.ts";
import { openRlds } from "../../../src/datasets/rlds/index.ts";

const EMPTY = { without: "", only: "", rename: "", null: "", salvage: false };

describe("reading options", () => {
  it("match those of the command line", () => {
    expect(readingOptions(EMPTY)).toEqual({});
    expect(
      readingOptions({ without: "a, b/c", only: "d", rename: "state=observation.state", null: "x=0 y=true z=none w=9007199254740993", salvage: true }),
    ).toEqual({
      without: ["a", "b/c"],
      only: ["d"],
      rename: { state: "observation.state" },
      null: { x: 0, y: true, z: "none", w: 9007199254740993n },
      salvage: true,
    });
    expect(() => readingOptions({ ...EMPTY, rename: "state" })).toThrow(/^Rename must contain pairs such as state=observation\.state, got "state"$/);
  });

  it("appear with the names of the form in errors of readers", () => {
    expect(inWordsOfTheForm('column x is bad. Pass without: ["x"] to leave this column out, or null: { "x": … } to replace nulls (a.parquet)')).toBe(
      "column x is bad. Enter “Leave out: x” to leave this column out, or “Nulls: x=…” to replace nulls (a.parquet)",
    );
  });
});

it("the example contains episodes of several lengths, each with a final observation", async () => {
  const reader = await openRlds(new Blob([exampleLines()]));
  const lengths: number[] = [];
  for await (const { steps, final_step } of reader) {
    lengths.push(steps.length);
    expect(final_step).toBe("observation");
  }
  expect(lengths.length).toBe(30);
  expect(new Set(lengths).size).toBeGreaterThan(5);
  expect(Math.max(...lengths)).toBeGreaterThan(100);
});
