/**
 * Checks the digest of 10,000 operations, and the digest of 1,500 operations with packed leaves. Every host of embed.wasm must print the same digests as the
 * public TypeScript API.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { whole } from "../support/size.ts";
import { type Build, embedModule } from "./host.ts";
import { crc32, play } from "./player.mjs";
import { type Recording, record } from "./recorded.ts";

/** Plays all operations and compares their digest. A quick run plays only the first operations, including at least one that opens a snapshot. */
describe.each<[Recording, string, number, quick: number, string]>([
  ["operations", "digest.txt", 10_000, 2500, "digest 37ae265d"],
  ["packed", "packed-digest.txt", 1500, 600, "digest 2d5627a0"],
])("%s", (name, file, all, quick, quickDigest) => {
  const kept = whole ? readFileSync(join(import.meta.dirname, file), "utf8").trim() : quickDigest;
  const recorded = record(name, whole ? all : quick);

  test("TypeScript produces the recorded digest", () => {
    expect(`digest ${recorded.digest}`).toBe(kept);
  });

  test.each<Build>(["embed", "embed.scalar"])("%s.wasm produces the recorded digest from the file only", (build) => {
    expect(`digest ${play(embedModule(build), recorded.file)}`).toBe(kept);
  });

  test.runIf(whole)("the recording has the expected number of operations, with enough batches and rejections", () => {
    expect(recorded.operations).toBe(all);
    expect(recorded.refused).toBeGreaterThan(all / 10);
    expect(recorded.refused).toBeLessThan(all / 4);
    expect(recorded.batches).toBeGreaterThan(all / 5);
  });
});

test("crc32 equals the CRC-32 of zlib", () => {
  const text = new TextEncoder().encode("123456789");
  expect(crc32(text)).toBe(0xcbf43926);
  expect(crc32(text.subarray(4), crc32(text.subarray(0, 4)))).toBe(0xcbf43926);
});
