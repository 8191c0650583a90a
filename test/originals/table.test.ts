/** Checks that every test function of the originals has a row in table.md: an existing test of ours, or a reason. */
import { expect, test } from "vitest";
import { faults, kept, rows } from "./count.mjs";

test("table.md has one row for each function, with a test that is there or a reason, and each test here has a row", () => {
  expect(rows().length).toBe(Object.values(kept().tests).flat().length);
  expect(faults()).toEqual([]);
});
