/** Checks that a request succeeds if it fits in memory, however large it is, and that other requests are rejected without changes. */
import { describe, expect, test } from "vitest";
import { TestRandom } from "../support/random.ts";
import { Embed } from "./host.ts";

const SMALL = `
leaf observation u8 9
leaf reward f32
table memory size 40
rule memory length 2`;

describe("input", () => {
  const steps = (embed: Embed, n: number) => new Uint8Array(n * embed.columns(-1).stepBytes).fill(7);

  test("that is rejected leaves the previous input unchanged, with or without a Replay", () => {
    const embed = new Embed();
    const bytes = new TextEncoder().encode(SMALL);
    const [text = 0] = embed.give(bytes);
    expect(embed.x.replay_input(2 ** 32 - 1)).toBe(0);
    expect(embed.error).toMatch(/^OUT_OF_MEMORY: there is no room for 4294967295 bytes of input/);
    embed.handle = embed.x.replay_create(text, bytes.length);
    expect(embed.handle).toBe(1);
    const [at = 0] = embed.give(steps(embed, 30));
    expect(embed.x.replay_input(2 ** 32 - 1)).toBe(0);
    expect(embed.u8.subarray(at, at + 480).every((byte) => byte === 7)).toBe(true);
    expect(embed.x.replay_append(embed.handle, 0, at, 30, 0, 0)).toBe(0);
  });

  test("that grows takes only as much as it needs if there is no room for more", () => {
    const embed = new Embed().create(`${SMALL}\nbytes 40000000`);
    expect(embed.x.replay_input(14_000_000)).toBeGreaterThan(0);
    const at = embed.x.replay_input(20_000_000);
    expect(at).toBeGreaterThan(0);
    expect(embed.x.replay_input(24_000_000)).toBe(0);
    expect(embed.x.replay_input(20_000_000)).toBe(at);
  });
});

describe("an instance whose Replay was freed", () => {
  function used(text: string): Embed {
    const embed = new Embed().create(text);
    const [at = 0] = embed.give(new Uint8Array(4096 * embed.columns(-1).stepBytes).fill(255));
    embed.did(embed.x.replay_append(embed.handle, 0, at, 4096, 0, 0));
    expect(embed.x.replay_free(embed.handle)).toBe(0);
    return embed;
  }

  test("creates the same snapshot as a new instance", () => {
    const [first, again] = [new Embed(), used("leaf a u8 2000\ntable t size 4000\nrule t length 1")].map((embed) => {
      embed.create(SMALL);
      const [at = 0] = embed.give(new Uint8Array(20 * embed.columns(-1).stepBytes));
      embed.did(embed.x.replay_append(embed.handle, 0, at, 20, 0, 0));
      return embed.snapshot();
    }) as [Uint8Array, Uint8Array];
    expect(Buffer.compare(first, again)).toBe(0);
  });

  test("clears only the memory that the freed Replay had used", () => {
    const embed = used("leaf a u8 2000\ntable t size 4000\nrule t length 1").create(SMALL);
    const last = embed.u8.length - 1;
    expect(last).toBeGreaterThan(8_000_000);
    expect(embed.u8[last - 2_000_000]).toBe(0);
    embed.u8[last] = 9;
    expect(embed.x.replay_free(embed.handle)).toBe(0);
    embed.create(SMALL);
    expect(embed.u8[last]).toBe(9);
  });
});

describe("a batch", () => {
  test("that is rejected leaves the previous batch unchanged", () => {
    const embed = new Embed().create(`${SMALL}\nview memory items length 2\nbytes 20000000`);
    const [at = 0] = embed.give(new Uint8Array(8 * embed.columns(-1).stepBytes).fill(3));
    embed.did(embed.x.replay_append(embed.handle, 0, at, 8, 0, 0));
    embed.did(embed.x.replay_sample(embed.handle, 0, 5, 0));
    const { columns } = embed.columns(0);
    expect(() => embed.did(embed.x.replay_sample(embed.handle, 0, 2_000_000, 0))).toThrowError(/^OUT_OF_MEMORY: there is no room for a batch of 2000000/);
    expect(embed.columns(0).columns).toEqual(columns);
    const { at: from } = columns[0] as { at: number };
    expect(embed.u8.subarray(from, from + 5 * 18).every((byte) => byte === 3)).toBe(true);
  });

  test("of long transitions reads two steps per item, and needs room only for those", () => {
    const embed = new Embed().create(`
leaf observation u8 4096
leaf action i32
leaf reward f32
table memory size 2000
rule memory nStep 1000
view memory transitions gamma 0.99`);
    const { columns, stepBytes } = embed.columns(-1);
    const observation = columns.find(({ name }) => name === "observation") as { readonly at: number };
    const steps = new Uint8Array(1003 * stepBytes);
    for (let i = 0; i < 1003; i++) steps.fill(i, i * stepBytes + observation.at, i * stepBytes + observation.at + 4096);
    const ends = new Uint8Array(1002);
    ends[1001] = 2;
    const [at = 0, endsAt = 0] = embed.give(steps, ends);
    embed.did(embed.x.replay_append(embed.handle, 0, at, 1002, endsAt, at + 1002 * stepBytes));
    // The batch takes 17 MB. All steps of all items would take 17 GB.
    expect(embed.did(embed.x.replay_sample(embed.handle, 0, 2048, 0))).toBe(2048);
    const batch = embed.columns(0).columns;
    const [seen = 0, next = 0, count = 0] = ["observation", "nextObservation", "steps"].map((name) => batch.find((column) => column.name === name)?.at);
    for (let i = 0; i < 2048; i++) {
      const [from = 0, to] = [embed.u8[seen + 4096 * i + 4095], embed.u8[next + 4096 * i + 4095]];
      expect(to).toBe((from + embed.view.getUint32(count + 4 * i, true)) % 256);
    }
  });
});

describe("steps of packed frames", () => {
  const random = new TestRandom(12);
  /** Returns a packed step whose screen shows random noise, or a picture that compresses well. */
  const step = (embed: Embed, noise: boolean, t: number): Uint8Array => {
    const screen = new Uint8Array(1200).map((_, at) => (noise ? random.below(256) : at === t % 1200 ? 9 : at >> 6));
    return embed.pack([new Map([["screen", screen]])]);
  };
  const append = (embed: Embed, bytes: Uint8Array): number => {
    const [at = 0] = embed.give(bytes);
    return embed.did(embed.x.replay_append(embed.handle, 0, at, 1, 0, 0));
  };
  const made = (lines: string) => new Embed().create(`leaf screen u8 30 40 packed screens\ntable memory size 5000\nrule memory length 1\n${lines}`);

  test("are rejected if memory is full, and change nothing", () => {
    const embed = made("bytes 1000000");
    let [size, whole] = [0, embed.snapshot()];
    expect(() => {
      for (;;) {
        append(embed, step(embed, true, size));
        size++;
        if (size > 250) whole = embed.snapshot();
      }
    }).toThrowError(/^OUT_OF_MEMORY: the limit bytes is reached/);
    expect(size).toBeGreaterThan(250);
    expect(Buffer.compare(embed.snapshot(), whole)).toBe(0);
    expect(embed.stats(0)[0]).toBe(size);
  });

  test("are evicted beyond the limit `stored`, which counts their compressed bytes", () => {
    const sizes = [true, false].map((noise) => {
      const embed = made("stored 200000 evict memory");
      for (let t = 0; t < 2000; t++) append(embed, step(embed, noise, t));
      return embed.stats(0)[0] as number;
    });
    // The row of a step takes 12 + 4 bytes, the row of a frame 12, and the frame's entry 12 + 8 + 1,200.
    expect(sizes[0]).toBe(Math.floor(200_000 / 1248));
    expect(sizes[1]).toBeGreaterThan(6 * (sizes[0] as number));
  });

  test("are rejected beyond `stored` if no table may evict", () => {
    const embed = made("stored 200000");
    let size = 0;
    expect(() => {
      for (;;) {
        append(embed, step(embed, true, size));
        size++;
      }
    }).toThrowError(/^OUT_OF_MEMORY: the limit stored \(200000 bytes\) is reached/);
    expect([size, embed.stats(0)[0]]).toEqual([Math.floor(200_000 / 1248), size]);
  });
});
