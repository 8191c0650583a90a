/** Checks that a seed produces the same bytes in every build of the core. runtimes.test.ts covers the other runtimes. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { moduleOf, type Target, tracked } from "../support/core.ts";
import { some, whole } from "../support/size.ts";
import { agentsDigest } from "./agents.ts";
import { agesDigest } from "./ages.ts";
import { digest } from "./digest.ts";
import { goalsDigest } from "./goals.ts";
import { mixturesDigest } from "./mixtures.ts";
import { pfrlDigest } from "./pfrl.ts";
import { sequencesDigest } from "./sequences.ts";
import { Sink } from "./sink.ts";

/** The lines of digest.txt by the text before the hash. */
const kept = Object.fromEntries(
  readFileSync(join(import.meta.dirname, "digest.txt"), "utf8")
    .trim()
    .split("\n")
    .map((line) => [line.slice(0, -65), line.slice(-64)]),
);

describe("the digest", () => {
  it.each<Target>(some(["release", "scalar", "debug"], 1))("equals the stored digest for the %s build and its snapshots", async (target) => {
    expect(await digest(moduleOf(target))).toEqual({ outputs: kept.simd, snapshots: kept["snapshots simd"] });
  });

  it.runIf(whole)("equals the stored digest if changes are tracked", async () => {
    expect(await tracked(() => digest(moduleOf("release")))).toEqual({ outputs: kept.simd, snapshots: kept["snapshots simd"] });
  });

  it("is the same for the SIMD and scalar builds", () => {
    expect(kept.scalar).toBe(kept.simd);
    expect(kept["snapshots scalar"]).toBe(kept["snapshots simd"]);
  });

  it("equals the stored digest for observers and replay buffers", async () => {
    expect(await agentsDigest()).toBe(kept.agents);
  });

  it("equals the stored digest for PFRL buffers", async () => {
    expect(await pfrlDigest()).toBe(kept.pfrl);
  });

  it.each<Target>(some(["release", "scalar", "debug"], 1))("equals the stored digest for draws with goals: %s", async (target) => {
    expect(await goalsDigest(moduleOf(target))).toBe(kept.goals);
  });

  it.runIf(whole)("equals the stored digest for draws with goals if changes are tracked", async () => {
    expect(await tracked(() => goalsDigest(moduleOf("release")))).toBe(kept.goals);
  });

  it.each<Target>(some(["release", "scalar", "debug"], 1))("equals the stored digest for sequences in the %s build", async (target) => {
    expect(await sequencesDigest(moduleOf(target))).toBe(kept.sequences);
  });

  it("equals the stored digest for mixtures", async () => {
    expect(await mixturesDigest()).toBe(kept.mixtures);
  });
});

describe("the digest of draws by age", () => {
  it.each<Target>(some(["release", "scalar"], 1))("equals the stored digest in the %s build", async (target) => {
    expect(await agesDigest(moduleOf(target))).toBe(kept.ages);
  });
});

describe("the hash", () => {
  const of = async (...arrays: ArrayBufferView[]) => {
    const sink = new Sink();
    for (const array of arrays) {
      sink.array(array);
      await sink.drain();
    }
    return sink.digest();
  };

  it("includes every byte of all blocks", async () => {
    const bytes = new Uint8Array(600_000);
    const plain = await of(bytes);
    for (const at of [0, 262_143, 262_144, 599_999]) {
      const other = bytes.slice();
      other[at] = 1;
      expect(await of(other)).not.toBe(plain);
    }
    expect(await of(bytes.subarray(0, 599_999))).not.toBe(plain);
  });

  it("does not depend on how the data is split", async () => {
    const bytes = Uint8Array.from({ length: 300_000 }, (_, i) => i * 7);
    expect(await of(bytes.subarray(0, 1), bytes.subarray(1, 270_000), bytes.subarray(270_000))).toBe(await of(bytes));
  });

  it("rejects NaN, whose bits differ between engines", async () => {
    await expect(of(Float32Array.of(1, Number.NaN))).rejects.toThrow("element 1 of 2 is NaN");
  });
});
