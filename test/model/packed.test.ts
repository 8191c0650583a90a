/** Packed leaves beside the same leaves unpacked: nothing that can be seen tells them apart. */
import { describe, expect, test } from "vitest";
import { fifo, lifo, packed, prioritized, Replay, type Spec, type Table, u8 } from "../../src/index.ts";
import { moduleOf } from "../support/core.ts";
import { Pictures } from "../support/pictures.ts";
import { TestRandom } from "../support/random.ts";
import { bytesOf } from "../support/refused.ts";
import type { AnyReplay } from "../support/scenes.ts";
import { scaled } from "../support/size.ts";
import { PackedCalls, type World, worldOf } from "./packed-worlds.ts";
import { TwinPacked, unpacked } from "./twin-packed.ts";

function replaysOf({ options, writers }: World, modules: readonly (WebAssembly.Module | undefined)[]): AnyReplay[] {
  return modules.map((module, k) => {
    const replay = new Replay({ ...options, spec: k === 0 ? unpacked(options.spec) : options.spec, ...(module && { module }) } as never) as unknown as AnyReplay;
    for (const writer of writers) replay.writer(writer as never);
    return replay;
  });
}

describe("in lock-step, packed and unpacked leaves show the same", () => {
  const seeds = Array.from({ length: scaled(120, 6) }, (_, i) => i + 1);
  test.each(seeds)("in every call, saved and restored, and by both builds, seed %i", (seed) => {
    const random = new TestRandom(seed);
    const world = worldOf(seed, random);
    // Unpacked; packed; packed, by the scalar build, and never interrupted: unless items have columns, whose numbers begin anew where nothing names them.
    const twins = new TwinPacked(replaysOf(world, [undefined, undefined, moduleOf("scalar")]));
    const calls = new PackedCalls(twins, world, random);
    for (let i = 1; i <= 400; i++) {
      calls.act();
      if (i % 8 === 0) twins.compare();
      if (i % 100 !== 0) continue;
      twins.compareAll();
      const bytes = twins.replays.map(bytesOf) as [Buffer, Buffer, Buffer];
      expect(bytes[1].equals(bytes[2]), "SIMD and scalar builds differ").toBe(true);
      for (const k of world.hasColumns ? [0, 1, 2] : [0, 1]) {
        const restored = Replay.restore(bytes[k] as Buffer, { logger: null }) as unknown as AnyReplay;
        expect(bytesOf(restored).equals(bytes[k] as Buffer), "a restored Replay differs").toBe(true);
        twins.put(k, restored);
      }
    }
    twins.drawAll();
    twins.compareAll();
    twins.dispose();
  });
});
