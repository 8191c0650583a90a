/** Checks that messages.txt lists all errors and warnings of the sources. A reader can scan this one file, and a commit shows each message that it changes. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { GOLDEN, messages } from "../../build/messages.mjs";
import { root } from "../support/core.ts";

const found: string = messages(root);

test("messages.txt lists all messages of the sources (npm run messages writes it)", () => {
  expect(found.split("\n")).toEqual(readFileSync(join(root, GOLDEN), "utf8").split("\n"));
});

test("the list contains the messages of all parts of the package, with constants filled in", () => {
  const lines = found.split("\n");
  const has = (folder: string, line: RegExp) => {
    const from = lines.indexOf(`# ${folder}`);
    const end = lines.indexOf("", from);
    expect([line, lines.slice(from, end).some((text) => line.test(text))]).toEqual([line, true]);
  };
  has("src/base", /^TypeError +\$\{subject\} has no option \$\{key\}/);
  has("src/base", /^WARNING .*has a reward or a terminal flag/);
  has("src/replay", /^TypeError +spec .*the leaves of a step/);
  has("src/storage", /^NOT_FOUND +there is no Replay in \$\{name\}/);
  has("src/reverb/tensors", /^CORRUPT .*a tensor has no time dimension/);
  has("src/cli/edit", /^USAGE .*there is no leaf \$\{name\}/);
  has("assembly/embed", /^OUT_OF_MEMORY +there is no memory for the described Replay/);
  has("embed/python/reprise_replay", /^INVALID_DATA +\$\{what\} must be numbers/);
  has("embed/lua", /^INVALID +the step must be a table/);
  expect(lines.filter((line) => line !== "" && !line.startsWith("# ")).length).toBeGreaterThan(1500);
});
