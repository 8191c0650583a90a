/** One digest of 10,000 operations: what the public TypeScript API gives, and what every host of embed.wasm prints. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { scaled, whole } from "../support/size.ts";
import { type Build, embedModule } from "./host.ts";
import { crc32, play } from "./player.mjs";
import { record } from "./recorded.ts";

/** Of the first 2,500, among which is a snapshot that is opened again. */
const QUICK = "digest 37ae265d";

const kept = whole ? readFileSync(join(import.meta.dirname, "digest.txt"), "utf8").trim() : QUICK;
const recorded = record(scaled(10_000, 2500));

test("TypeScript gives the kept digest", () => {
  expect(`digest ${recorded.digest}`).toBe(kept);
});

test.each<Build>(["embed", "embed.scalar"])("%s.wasm gives the kept digest, out of the file alone", (build) => {
  expect(`digest ${play(embedModule(build), recorded.file)}`).toBe(kept);
});

test.runIf(whole)("it is of 10,000 operations, most of which give something", () => {
  expect(recorded.operations).toBe(10_000);
  expect(recorded.refused).toBeGreaterThan(1_000);
  expect(recorded.refused).toBeLessThan(2_500);
  expect(recorded.batches).toBeGreaterThan(2_000);
});

test("it is a CRC-32 as zlib has it", () => {
  const text = new TextEncoder().encode("123456789");
  expect(crc32(text)).toBe(0xcbf43926);
  expect(crc32(text.subarray(4), crc32(text.subarray(0, 4)))).toBe(0xcbf43926);
});
