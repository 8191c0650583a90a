/** One seed, the same bytes: from every build of the core, and from the bundle as other runtimes run it. */
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { moduleOf, root, type Target } from "../support/core.ts";
import { digest } from "./digest.ts";
import { Sink } from "./sink.ts";

const kept = readFileSync(join(import.meta.dirname, "digest.txt"), "utf8").trim();

describe("the digest", () => {
  it.each<Target>(["release", "scalar", "debug"])("of the %s build is the kept one", async (target) => {
    expect(await digest(moduleOf(target))).toBe(kept);
  });

  it("is what the bundle prints", () => {
    const { status, stdout } = spawnSync(process.execPath, [join(root, "dist", "digest.mjs")], { encoding: "utf8" });
    expect(stdout.trim()).toBe(kept);
    expect(status).toBe(0);
  });
});

describe("what is hashed", () => {
  const of = async (...arrays: ArrayBufferView[]) => {
    const sink = new Sink();
    for (const array of arrays) {
      sink.array(array);
      await sink.drain();
    }
    return sink.digest();
  };

  it("is every byte, also of more than one block", async () => {
    const bytes = new Uint8Array(600_000);
    const plain = await of(bytes);
    for (const at of [0, 262_143, 262_144, 599_999]) {
      const other = bytes.slice();
      other[at] = 1;
      expect(await of(other)).not.toBe(plain);
    }
    expect(await of(bytes.subarray(0, 599_999))).not.toBe(plain);
  });

  it("does not depend on how it was cut", async () => {
    const bytes = Uint8Array.from({ length: 300_000 }, (_, i) => i * 7);
    expect(await of(bytes.subarray(0, 1), bytes.subarray(1, 270_000), bytes.subarray(270_000))).toBe(await of(bytes));
  });

  it("is never NaN, whose bits differ from engine to engine", async () => {
    await expect(of(Float32Array.of(1, Number.NaN))).rejects.toThrow("element 1 of 2 is NaN");
  });
});
