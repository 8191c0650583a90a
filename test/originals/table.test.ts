/** Checks that every test function of the originals has a row in table.md: an existing test of ours, or a reason. */
import { expect, test } from "vitest";
import { faults, kept, rows } from "./count.mjs";

test("table.md maps each function to a test or a reason, and each test has a row", () => {
  expect(rows().length).toBe(Object.values(kept().tests).flat().length);
  expect(faults()).toEqual([]);
});
