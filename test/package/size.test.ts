import { readFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { expect, test } from "vitest";
import { root } from "../support/core.ts";

test("the core is at most 32 KiB", () => {
  expect(readFileSync(join(root, "dist/core.wasm")).length).toBeLessThanOrEqual(32_768);
});

test("the main entry, the core inlined, is at most 25 KiB compressed", () => {
  expect(gzipSync(readFileSync(join(root, "dist/index.js")), { level: 9 }).length).toBeLessThanOrEqual(25_600);
});
