/** Compares packed leaves with the same leaves unpacked: no difference may be visible. */
import { describe, expect, test } from "vitest";
import { openReplay } from "../../src/datasets/rlds/index.ts";
import { type MemoryDirectory, memory } from "../../src/files/memory.ts";
import { type OpenOptions, packed, Replay, type Table, type TableOptions, u8 } from "../../src/index.ts";
import { expectAlike } from "../support/alike.ts";
import { moduleOf } from "../support/core.ts";
import { Pictures } from "../support/pictures.ts";
import { TestRandom } from "../support/random.ts";
import { bytesOf } from "../support/refused.ts";
import type { AnyReplay } from "../support/scenes.ts";
import { scaled, slow, whole } from "../support/size.ts";
import { seen } from "../unit/storage/seen.ts";
import { PackedCalls, type World, worldOf } from "./packed-worlds.ts";
import { TwinPacked, unpacked } from "./twin-packed.ts";

/** Returns the sections of a snapshot, except the order in which freed rows are reused, which a journal does not keep. */
const keptOf = (replay: AnyReplay) => seen(replay).toString("latin1");

async function episodesOf(dir: MemoryDirectory): Promise<unknown[]> {
  const reader = await openReplay(dir.files());
  const found: unknown[] = [];
  for await (const { steps, beginning, end } of reader) found.push([beginning, end, [...steps]]);
  await reader.close();
  return found;
}

function replaysOf({ options, writers }: World, modules: readonly (WebAssembly.Module | undefined)[]): AnyReplay[] {
  return modules.map((module, k) => {
    const replay = new Replay({
      ...options,
      spec: k === 0 ? unpacked(options.spec) : options.spec,
      ...(module && { module }),
    } as never) as unknown as AnyReplay;
    for (const writer of writers) replay.writer(writer as never);
    return replay;
  });
}

describe("packed and unpacked leaves in lock-step", () => {
  const seeds = Array.from({ length: scaled(slow ? 60 : 30, 1) }, (_, i) => i + 1);
  test.each(seeds)("return equal results in all calls, after restores and in both builds, seed %i", (seed) => {
    const random = new TestRandom(seed);
    const world = worldOf(seed, random);
    // One Replay is unpacked, one is packed, and one is packed, uses the scalar build and is never interrupted. The last is omitted if items have columns,
    // because the numbers of unused columns are assigned again after an interruption.
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

describe("packed and unpacked leaves in journals", () => {
  const ways: readonly Partial<OpenOptions>[] = [
    { segmentBytes: 8192 },
    { segmentBytes: 65_536, retain: "all" },
    { segmentBytes: 16_384, durability: "always" },
  ];
  const seeds = Array.from({ length: scaled(slow ? 60 : 30, 1) }, (_, i) => i + 1);
  test.each(seeds)("are equal after reopening, after a kill and when read back, seed %i", async (seed) => {
    const random = new TestRandom(seed);
    // Odd seeds create items without columns, because the numbers of columns depend on what a journal has released.
    const world = worldOf(2 * seed + 1, random);
    const way = ways[seed % ways.length] as Partial<OpenOptions>;
    const { spec, ...rest } = world.options;
    const dirs = [memory(), memory()];
    const open = async (k: number) =>
      (await Replay.open({
        durability: "manual",
        ...rest,
        ...way,
        spec: k === 0 ? unpacked(spec) : spec,
        dir: dirs[k] as MemoryDirectory,
      } as never)) as unknown as AnyReplay & {
        flush(): Promise<void>;
      };
    const replays = await Promise.all([open(0), open(1)]);
    for (const replay of replays) for (const writer of world.writers) replay.writer(writer as never);
    const twins = new TwinPacked(replays);
    const calls = new PackedCalls(twins, world, random);
    for (let session = 0; session < 3; session++) {
      for (let i = 1; i <= 150; i++) {
        calls.act();
        if (random.below(12) === 0) for (const replay of twins.replays) await (replay as (typeof replays)[number]).flush();
        if (i % 50 === 0) twins.compareAll();
      }
      const isKilled = session === 1;
      for (const [k, replay] of (twins.replays as typeof replays).entries()) {
        await replay.flush();
        const before = keptOf(replay);
        if (isKilled) dirs[k] = (dirs[k] as MemoryDirectory).crash();
        else replay.dispose();
        const again = await open(k);
        expect(keptOf(again) === before, "reopened, it is another one").toBe(true);
        twins.put(k, again);
      }
      twins.compareAll();
    }
    twins.drawAll();
    twins.dispose();
    if (way.retain === "all") expectAlike(await episodesOf(dirs[1] as MemoryDirectory), await episodesOf(dirs[0] as MemoryDirectory));
  });
});

describe.runIf(whole)("frames unpacked by one call", () => {
  /** A stack of 4 takes 28 KiB: an item of 20 steps exceeds the window, and an item of 3 steps takes a sixth of it. */
  const spec = { observation: packed("screens", u8(84, 84), 4), reward: u8() };
  test.each([
    ["of more items than the window holds", 3, 24],
    ["of an item that is longer than the limit", 20, 5],
  ])("%s equal unpacked leaves", (_, length, n) => {
    const tables: { readonly [name: string]: TableOptions } = { t: { maxSize: 40 } };
    const twins = new TwinPacked([unpacked(spec), spec].map((one) => new Replay({ spec: one, tables, seed: 3 }) as unknown as AnyReplay));
    for (const replay of twins.replays) replay.writer({ keep: 24 });
    const pictures = new Pictures(84 * 84, 84, new TestRandom(length));
    let frames: Uint8Array[] = [];
    for (let t = 0; t < 60; t++) {
      frames = t % 25 === 0 ? Array.from({ length: 4 }, () => pictures.next()) : [...frames.slice(1), pictures.next()];
      const observation = new Uint8Array(frames.flatMap((frame) => [...frame]));
      twins.all((replay, k) => {
        const writer = twins.writer(0, replay);
        writer.append({ observation, reward: t } as never);
        if (writer.length >= length) void writer.createItem("t", { length });
        return k < 0;
      });
    }
    for (const options of [
      {},
      { columns: { state: { leaf: "observation", from: 0, to: -1 }, next: { leaf: "observation", from: 1 } } },
      { columns: { odd: { leaf: "observation", steps: [2, 0, 0, -1] } } },
    ]) {
      twins.all((replay) => (replay.table("t") as Table).sample(n, options as never));
      for (let again = 0; again < 2; again++) twins.into("t", n, { length, ...options });
    }
    twins.compareAll();
    twins.dispose();
  });
});
