/** Checks that dist/third-party.txt lists the owners and licenses of all code in the bundles. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { root } from "../support/core.ts";

const notices = readFileSync(join(root, "dist/third-party.txt"), "utf8").split(`\n${"-".repeat(80)}\n`);

test("each package has the text of its licence", () => {
  expect(notices.length).toBeGreaterThan(5);
  for (const notice of notices) expect(notice).toMatch(/(copyright|licen[cs]e)[\s\S]{500}/i);
});

test.each([
  ["@bufbuild/protobuf", ["Copyright 2008 Google Inc.", "Neither the name of Google Inc.", "Buf Technologies", "www.apache.org/licenses/LICENSE-2.0"]],
  ["jpeg-js", ["Copyright (c) 2014, Eugene Ware", "Copyright 2011 notmasteryet", "www.apache.org/licenses/LICENSE-2.0"]],
  ["moo", ["Tim Radvan", "Redistribution and use in source and binary forms"]],
  ["nearley", ["Kartik Chandra"]],
  ["@foxglove/rosmsg", ["Foxglove Technologies"]],
])("%s includes the notices of third-party files", (name, words) => {
  const notice = notices.find((each) => each.includes(`\n${name} `) || each.trimStart().startsWith(`${name} `)) ?? "";
  for (const word of words) expect(notice).toContain(word);
});

test("the Apache License is included in full, once", () => {
  expect(notices.filter((each) => each.includes("TERMS AND CONDITIONS FOR USE, REPRODUCTION, AND DISTRIBUTION")).length).toBe(1);
});
