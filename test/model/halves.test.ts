/** Compares half floats with f32, using numbers that both represent exactly: only the bytes in memory and on disk may differ. */
import { describe, expect, test } from "vitest";
import { openReplay } from "../../src/datasets/rlds/index.ts";
import { type MemoryDirectory, memory } from "../../src/files/memory.ts";
import { bf16, f16, f32, i32, packed, Replay, type Spec, shared, type Table, u8 } from "../../src/index.ts";
import { isHalf } from "../../src/schema/half.ts";
import type { RowLeaf } from "../../src/schema/leaf.ts";
import { map } from "../../src/schema/nest.ts";
import { expectAlike } from "../support/alike.ts";
import { moduleOf } from "../support/core.ts";
import { broken } from "../support/health.ts";
import { Pictures } from "../support/pictures.ts";
import { TestRandom } from "../support/random.ts";
import { bytesOf } from "../support/refused.ts";
import type { AnyReplay } from "../support/scenes.ts";
import { scaled } from "../support/size.ts";
import { PackedCalls, type World, worldOf } from "./packed-worlds.ts";
import { TwinPacked } from "./twin-packed.ts";

/** Returns the same spec with f32 instead of half floats. */
function widened(spec: Spec): Spec {
  return map(spec, (leaf) => (isHalf((leaf as RowLeaf).dtype) ? { ...(leaf as RowLeaf), dtype: "f32" } : leaf)) as Spec;
}

/** Twins whose first Replay uses f32 instead of half floats. */
class TwinHalves extends TwinPacked {
  protected override checkSpecs(): void {
    const texts = this.replays.map(({ options }) => JSON.stringify(options.spec));
    expect(texts[0]).not.toMatch(/f16/);
    for (const text of texts.slice(1)) expect(text).toMatch(/f16/);
  }

  override compareAll(): void {
    this.compare();
    for (const replay of this.replays) expect(broken(replay)).toEqual([]);
  }
}

/** Sizes around the thresholds of the code (stored in a column from 256 bytes, copied directly in a batch from 1,024 bytes), and odd sizes. */
const SHAPES = [[], [1], [3], [8], [64], [127], [128], [129], [255], [256], [17, 19], [600]] as const;
const FRAMES = [[5], [8], [31], [128], [254], [256], [16, 33], [20, 20, 3]] as const;

function specOf(random: TestRandom, seed: number): Spec {
  const half = (shape: readonly number[]): ReturnType<typeof f16> => random.pick([f16, bf16] as unknown as [typeof f16])(...shape) as never;
  const plain = () => half(SHAPES[(seed + random.below(3)) % SHAPES.length] as readonly number[]);
  const frame = half(FRAMES[(seed + random.below(2)) % FRAMES.length] as readonly number[]);
  const isPacked = frame.shape.reduce((a, b) => a * b) >= 128 && random.below(2) === 0;
  const stack = 1 + random.below(4);
  const framed = () => (isPacked ? packed("f", frame, stack) : shared("f", frame, stack));
  return {
    x: i32(),
    action: i32(),
    reward: half([]),
    ...(random.below(2) === 0 && { discount: half([]) }),
    observation: random.below(2) === 0 ? framed() : plain(),
    ...(random.below(2) === 0 && { nextObserved: framed() }),
    ...(random.below(2) === 0 && { other: plain() }),
    ...(random.below(2) === 0 && { third: plain() }),
    ...(random.below(3) === 0 && { bytes: u8(random.pick([3, 1100])) }),
    ...(random.below(3) === 0 && { wide: f32(300) }),
  };
}

function replaysOf({ options, writers }: World, modules: readonly (WebAssembly.Module | undefined)[]): AnyReplay[] {
  return modules.map((module, k) => {
    const spec = k === 0 ? widened(options.spec) : options.spec;
    const replay = new Replay({ ...options, spec, ...(module && { module }) } as never) as unknown as AnyReplay;
    for (const writer of writers) replay.writer(writer as never);
    return replay;
  });
}

describe("half floats and f32 in lock-step", () => {
  const seeds = Array.from({ length: scaled(60, 1) }, (_, i) => i + 1);
  test.each(seeds)("return equal results in all calls, after restores and in both builds, seed %i", (seed) => {
    const random = new TestRandom(seed);
    const world = worldOf(seed, random, specOf);
    const twins = new TwinHalves(replaysOf(world, [undefined, undefined, moduleOf("scalar")]));
    const calls = new PackedCalls(twins, world, random);
    for (let i = 1; i <= 300; i++) {
      calls.act();
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

async function episodesOf(dir: MemoryDirectory): Promise<unknown[]> {
  const reader = await openReplay(dir.files());
  const found: unknown[] = [];
  for await (const { steps, beginning, end } of reader) found.push([beginning, end, [...steps]]);
  await reader.close();
  return found;
}

describe("half floats and f32 in journals", () => {
  const seeds = Array.from({ length: scaled(20, 1) }, (_, i) => i + 1);
  test.each(seeds)("are equal when reopened after a kill and when read back, seed %i", async (seed) => {
    const random = new TestRandom(seed);
    const world = worldOf(2 * seed + 1, random, specOf);
    const { spec, ...rest } = world.options;
    const dirs = [memory(), memory()];
    const open = async (k: number) => {
      const options = { durability: "manual", segmentBytes: 65_536, retain: "all", ...rest, spec: k === 0 ? widened(spec) : spec, dir: dirs[k] };
      return (await Replay.open(options as never)) as unknown as AnyReplay & { flush(): Promise<void> };
    };
    const replays = await Promise.all([open(0), open(1)]);
    for (const replay of replays) for (const writer of world.writers) replay.writer(writer as never);
    const twins = new TwinHalves(replays);
    const calls = new PackedCalls(twins, world, random);
    for (let session = 0; session < 2; session++) {
      for (let i = 1; i <= 120; i++) calls.act();
      for (const [k, replay] of (twins.replays as typeof replays).entries()) {
        await replay.flush();
        dirs[k] = (dirs[k] as MemoryDirectory).crash();
        twins.put(k, await open(k));
      }
      twins.compareAll();
    }
    twins.drawAll();
    twins.dispose();
    expectAlike(await episodesOf(dirs[1] as MemoryDirectory), await episodesOf(dirs[0] as MemoryDirectory));
  });
});

describe("half-float values widened by one call", () => {
  const kinds: [string, (shape: readonly [number, number]) => RowLeaf][] = [
    ["of a wide leaf", (shape) => f16(...shape)],
    ["of shared frames", (shape) => shared("screens", f16(...shape), 2)],
    ["of packed frames", (shape) => packed("screens", bf16(...shape), 2)],
  ];
  test.each(kinds)("%s equal f32 values, for many items and for an item longer than the window", (_, leaf) => {
    const spec = { observation: leaf([84, 84]), reward: f16() } as unknown as Spec;
    const tables = { t: { maxSize: 40 } };
    const twins = new TwinHalves([widened(spec), spec].map((one) => new Replay({ spec: one, tables, seed: 3 }) as unknown as AnyReplay));
    for (const replay of twins.replays) replay.writer({ keep: 24 });
    const pictures = new Pictures(84 * 84, 84, new TestRandom(5));
    const stack = ((spec as unknown as { observation: { stack?: number } }).observation.stack ?? 1) as number;
    let frames: Uint8Array[] = [];
    for (let t = 0; t < 30; t++) {
      frames = t % 25 === 0 ? Array.from({ length: stack }, () => pictures.next()) : [...frames, pictures.next()].slice(1);
      const observation = Float32Array.from(frames.flatMap((frame) => [...frame]));
      twins.all((replay, k) => {
        const writer = twins.writer(0, replay);
        writer.append({ observation, reward: t } as never);
        for (const length of [3, 20]) if (writer.length >= length && t % (2 * length) < length) void writer.createItem("t", { length });
        return k < 0;
      });
    }
    for (const options of [
      {},
      { length: 20 },
      { columns: { state: { leaf: "observation", from: 0, to: -1 }, next: { leaf: "observation", from: 1 }, reward: { leaf: "reward" } } },
      { columns: { odd: { leaf: "observation", steps: [2, 0, 0, -1] } } },
    ]) {
      twins.all((replay) => (replay.table("t") as Table).sample(9, options as never));
      for (let again = 0; again < 2; again++) twins.into("t", 9, { length: 3, ...options });
    }
    twins.compareAll();
    twins.dispose();
  });
});
