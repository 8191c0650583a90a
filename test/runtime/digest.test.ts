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
  it.each<Target>(some(["release", "scalar", "debug"], 1))("of the %s build is the kept one, and so is that of its snapshots", async (target) => {
    expect(await digest(moduleOf(target))).toEqual({ outputs: kept.simd, snapshots: kept["snapshots simd"] });
  });

  it.runIf(whole)("is the kept one where changes are tracked", async () => {
    expect(await tracked(() => digest(moduleOf("release")))).toEqual({ outputs: kept.simd, snapshots: kept["snapshots simd"] });
  });

  it("is one for both builds", () => {
    expect(kept.scalar).toBe(kept.simd);
    expect(kept["snapshots scalar"]).toBe(kept["snapshots simd"]);
  });

  it("of observers and replay buffers is the kept one", async () => {
    expect(await agentsDigest()).toBe(kept.agents);
  });

  it("of PFRL's buffers is the kept one", async () => {
    expect(await pfrlDigest()).toBe(kept.pfrl);
  });

  it.each<Target>(some(["release", "scalar", "debug"], 1))("of draws with goals is the kept one: %s", async (target) => {
    expect(await goalsDigest(moduleOf(target))).toBe(kept.goals);
  });

  it.runIf(whole)("of draws with goals is the kept one where changes are tracked", async () => {
    expect(await tracked(() => goalsDigest(moduleOf("release")))).toBe(kept.goals);
  });

  it.each<Target>(some(["release", "scalar", "debug"], 1))("of sequences is the kept one in the %s build", async (target) => {
    expect(await sequencesDigest(moduleOf(target))).toBe(kept.sequences);
  });

  it("of mixtures is the kept one", async () => {
    expect(await mixturesDigest()).toBe(kept.mixtures);
  });
});

describe("the digest of draws by age", () => {
  it.each<Target>(some(["release", "scalar"], 1))("is the kept one, with the %s build", async (target) => {
    expect(await agesDigest(moduleOf(target))).toBe(kept.ages);
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
