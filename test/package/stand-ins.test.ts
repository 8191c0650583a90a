/** Checks that each test file that `npm test` leaves to whole runs has a stand-in in quick runs, and that the stand-in is not left out itself. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { root } from "../support/core.ts";

const standIns = JSON.parse(readFileSync(join(root, "test/stand-ins.json"), "utf8")) as { readonly [left: string]: string };

test("each left-out file and each stand-in exists", () => {
  const files = [...Object.keys(standIns), ...Object.values(standIns)];
  expect(files.filter((file) => !/\.test\.ts$/.test(file) || !existsSync(join(root, "test", file)))).toEqual([]);
});

test("no stand-in is left out itself", () => {
  expect(Object.values(standIns).filter((file) => file in standIns)).toEqual([]);
});

test("stand-ins are sorted by the left-out files", () => {
  expect(Object.keys(standIns)).toEqual(Object.keys(standIns).sort());
});
