/** One digest of 10,000 operations: what the public TypeScript API gives, and what every host of embed.wasm prints. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { type Build, embedModule } from "./host.ts";
import { crc32, play } from "./player.mjs";
import { record } from "./recorded.ts";

const kept = readFileSync(join(import.meta.dirname, "digest.txt"), "utf8").trim();
const recorded = record();

test("TypeScript gives the kept digest", () => {
  expect(`digest ${recorded.digest}`).toBe(kept);
});

test.each<Build>(["embed", "embed.scalar"])("%s.wasm gives the kept digest, out of the file alone", (build) => {
  expect(`digest ${play(embedModule(build), recorded.file)}`).toBe(kept);
});

test("it is of 10,000 operations, most of which give something", () => {
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
