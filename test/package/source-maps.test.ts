/** Checks the published files against their source maps: which line of the sources each line comes from. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { decode } from "@jridgewell/sourcemap-codec";
import { expect, test } from "vitest";
import { loadedWith } from "../../build/sizes.mjs";
import { root } from "../support/core.ts";

const dist = join(root, "dist");
/** The files that programs start with, and all files with a source map. */
const FIRST = [...new Set(["index.js", "record.js", "remote.js", "agents.js"].flatMap((entry) => loadedWith(dist, entry)))];
const FILES = ["", "chunks/"]
  .flatMap((folder) => readdirSync(join(dist, folder)).map((name) => folder + name))
  .filter((file) => existsSync(join(dist, `${file}.map`)));

test.each(FIRST)("%s has no documentation comments, and only ASCII characters", (file) => {
  const text = readFileSync(join(dist, file), "utf8");
  expect(text.split("\n").filter((line) => /^\s*\/\*\*/.test(line))).toEqual([]);
  expect(text.match(/\P{ASCII}/u)?.[0]).toBe(undefined);
});

test("source maps lead from methods to their sources", () => {
  let found = 0;
  for (const file of FILES) {
    const { sourcesContent, mappings } = JSON.parse(readFileSync(join(dist, `${file}.map`), "utf8"));
    const sources = sourcesContent.map((source: string) => source.split("\n"));
    const map = decode(mappings);
    for (const [i, line] of readFileSync(join(dist, file), "utf8").split("\n").entries()) {
      // The map of a constructor that the bundler added leads to its class.
      const name = /^ {2}(?:static |async |get |set )*(?!constructor)(#?\w+)\([^)]*\) \{$/.exec(line)?.[1];
      const segment = map[i]?.find(([column]) => column >= 2);
      if (name === undefined || segment === undefined || segment.length === 1) continue;
      expect([file, line, sources[segment[1]][segment[2]]]).toEqual([file, line, expect.stringContaining(name)]);
      found += 1;
    }
  }
  expect(found).toBeGreaterThan(1000);
});
