/** Tests snapshots in embed.wasm: a truncated, inconsistent or unsupported snapshot is rejected with a text, and never traps. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { crc32c } from "../../src/base/crc32c.ts";
import * as kinds from "../../src/base/kinds.ts";
import { f32, i32, packed, prioritized, Replay, shared, text, u8 } from "../../src/index.ts";
import { root } from "../support/core.ts";
import { TestRandom } from "../support/random.ts";
import { scaled } from "../support/size.ts";
import { Embed, EmbedError } from "./host.ts";
import { append } from "./operation.ts";

/** Returns a snapshot of a Replay with shared, packed, wide and text leaves, and a limit on stored bytes. @param columns whether items have columns */
function snapshotOf(columns = false): Uint8Array {
  const replay = new Replay({
    spec: { image: shared("frames", u8(4, 4), 3), list: [f32(2), text({ maxBytes: 6 })], screen: packed("screens", u8(15, 20), 2), wide: f32(80) },
    tables: { memory: { maxSize: 12, sampler: prioritized(0.5) }, queue: { maxSize: 3 } },
    transition: { observation: "list" },
    seed: 5,
    maxBytes: 4_000_000,
    storedBytes: { max: 100_000, evictFrom: "memory" },
  });
  const layout = columns ? { columns: { x: { leaf: "wide", at: 0 } } } : {};
  const writer = replay.writer({ items: [{ table: "memory", length: 2, priority: "max", ...layout } as never, { table: "queue", length: 1 }] });
  const random = new TestRandom(7);
  // Screens that produce key frames, patches on them, and occasionally values that cannot be compressed.
  const screen = (k: number) => new Uint8Array(300).map((_, at) => (k % 6 === 5 ? random.below(256) : at === k ? 9 : (at >> 4) + (k >> 4)));
  let before = screen(0);
  for (let i = 0; i < 40; i++) {
    const next = screen(i + 1);
    const frame = (k: number) => new Uint8Array(16).fill((i + k) % 7);
    const image = new Uint8Array([...frame(0), ...frame(1), ...frame(2)]);
    const list = [[i, 2], `text ${i % 3}`.slice(0, 6)];
    writer.append({ image, list, screen: new Uint8Array([...before, ...next]), wide: new Float32Array(80).fill(i) } as never);
    before = next;
    if (i % 9 === 8) writer.endEpisode();
  }
  return new Uint8Array(Buffer.concat([...replay.snapshot()]));
}

const WHOLE = snapshotOf();
const LIMIT = "bytes 4000000";
const MAY_REFUSE = expect.stringMatching(/^(CORRUPT|OUT_OF_MEMORY)$/);
const VIEWS = `${LIMIT}\nview memory items offset uniform weights batch\nview queue items distinct`;

interface Section {
  readonly at: number;
  readonly kind: number;
  readonly bytes: number;
}

function sectionsIn(bytes: Uint8Array): Section[] {
  const view = new DataView(bytes.buffer, bytes.byteOffset);
  const found: Section[] = [];
  for (let at = 8; at < bytes.length; at += 16 + view.getUint32(at + 8, true))
    found.push({ at, kind: view.getUint32(at, true), bytes: view.getUint32(at + 8, true) });
  return found;
}

/** Recomputes and stores the checksum of a section. */
function seal(bytes: Uint8Array, { at, bytes: length }: Section): void {
  const summed = new Uint8Array([...bytes.subarray(at, at + 12), ...bytes.subarray(at + 16, at + 16 + length)]);
  new DataView(bytes.buffer).setUint32(at + 12, crc32c(summed), true);
}

/** Returns why the snapshot is rejected, or undefined if it is accepted. */
function refusal(bytes: Uint8Array, embed = new Embed(), lines = LIMIT): string | undefined {
  try {
    embed.load(bytes, lines);
    return undefined;
  } catch (error) {
    if (!(error instanceof EmbedError)) throw error;
    return error.message;
  }
}

test("a snapshot loads unchanged, with the host's lines after its own", () => {
  const embed = new Embed().load(WHOLE, `${LIMIT}\nview memory items length 2 weights none`);
  expect(embed.stats(0).slice(0, 2)).toEqual([12, 24]);
  expect(embed.did(embed.x.replay_sample(embed.handle, 0, 5, 0.5))).toBe(5);
  expect(Replay.restore(new Embed().load(WHOLE).snapshot()).table("memory").size).toBe(12);
});

test("a snapshot that is cut anywhere, or altered in any byte, is rejected", () => {
  const random = new TestRandom(3);
  const embed = new Embed();
  for (let i = 0; i < scaled(2000); i++) {
    const cut = WHOLE.slice(0, random.below(WHOLE.length));
    expect(refusal(cut, embed), `cut at ${cut.length}`).toMatch(/^CORRUPT: the snapshot is damaged: /);
    const altered = WHOLE.slice();
    const at = 8 + random.below(WHOLE.length - 8);
    altered[at] = (altered[at] as number) ^ (1 << random.below(8));
    expect(refusal(altered, embed), `byte ${at}`).toMatch(/^CORRUPT: /);
  }
  expect(refusal(WHOLE, embed)).toBeUndefined();
});

test("an altered snapshot with correct checksums is either rejected or usable", () => {
  const random = new TestRandom(4);
  let refused = 0;
  const count = scaled(6000, 80);
  for (let i = 0; i < count; i++) {
    const embed = new Embed();
    const bytes = WHOLE.slice();
    const section = random.pick(sectionsIn(bytes));
    for (let k = 1 + random.below(3); k > 0 && section.bytes > 0; k--) {
      const at = section.at + 16 + random.below(section.bytes);
      bytes[at] = random.pick([0, 1, 255, random.below(256), (bytes[at] as number) ^ 1]);
    }
    seal(bytes, section);
    const why = refusal(bytes, embed, VIEWS);
    if (why !== undefined) {
      refused++;
      expect(why).toMatch(/^[A-Z_]+: .{10,}/s);
      continue;
    }
    // An accepted snapshot must be usable.
    for (let k = 0; k < 3; k++) {
      embed.x.replay_sample(embed.handle, k % 2, 4, 0);
      const [at = 0] = embed.give(new Uint8Array(embed.columns(-1).stepBytes));
      embed.x.replay_append(embed.handle, 0, at, 1, 0, 0);
    }
    embed.snapshot();
    expect(embed.x.replay_free(embed.handle)).toBe(0);
  }
  expect(refused).toBeGreaterThan(count / 10);
});

describe("entries of packed frames", () => {
  interface Entry {
    readonly number: number;
    readonly base: number;
    readonly size: number;
    readonly depth: number;
  }
  const entriesIn = (bytes: Uint8Array): Entry[] => {
    const view = new DataView(bytes.buffer, bytes.byteOffset);
    return sectionsIn(bytes)
      .filter(({ kind }) => kind === kinds.ENTRIES)
      .flatMap(({ at: start, bytes: length }) => {
        const found: Entry[] = [];
        for (let at = start + 20; at < start + 16 + length; at += 12 + (view.getUint32(at + 8, true) & 0xffffff)) {
          const word = view.getUint32(at + 8, true);
          found.push({ number: view.getUint32(at, true), base: view.getUint32(at + 4, true), size: word & 0xffffff, depth: word >>> 24 });
        }
        return found;
      });
  };

  test("are keys, patches or raw frames, and round-trip byte for byte", () => {
    const entries = entriesIn(WHOLE);
    expect(entries.some(({ base, size }) => base === 0 && size < 300)).toBe(true);
    expect(entries.some(({ depth, base }) => depth > 1 && base > 0)).toBe(true);
    expect(entries.some(({ size }) => size === 300)).toBe(true);
    for (const build of ["embed", "embed.scalar"] as const) expect(Buffer.compare(new Embed(build).load(WHOLE).snapshot(), WHOLE)).toBe(0);
    const restored = Replay.restore(new Embed().load(WHOLE).snapshot());
    expect(Buffer.compare(Buffer.concat([...restored.snapshot()]), WHOLE)).toBe(0);
  });

  test("that are altered but have correct checksums are accepted or rejected as in TypeScript", () => {
    const random = new TestRandom(8);
    let refused = 0;
    const count = scaled(1000, 40);
    for (let i = 0; i < count; i++) {
      const bytes = WHOLE.slice();
      const section = random.pick(sectionsIn(bytes).filter(({ kind }) => kind === kinds.ENTRIES));
      for (let k = 1 + random.below(3); k > 0; k--) {
        const at = section.at + 16 + random.below(section.bytes);
        bytes[at] = random.pick([0, 1, 255, random.below(256), (bytes[at] as number) ^ (1 << random.below(8))]);
      }
      seal(bytes, section);
      const embed = new Embed();
      const why = refusal(bytes, embed, VIEWS);
      const restore = () => Replay.restore(bytes, { logger: null });
      if (why !== undefined) {
        refused++;
        // An altered number of entries may require more than the 4 MB to which LIMIT restricts the Replay.
        expect(why).toMatch(/^(CORRUPT|OUT_OF_MEMORY): .{10,}/s);
        expect(restore).toThrow(expect.objectContaining({ code: MAY_REFUSE }));
        continue;
      }
      const again = embed.snapshot();
      expect(Buffer.compare(Buffer.concat([...restore().snapshot()]), again)).toBe(0);
      for (let k = 0; k < 4; k++) {
        embed.x.replay_sample(embed.handle, k % 2, 12, 0);
        const [at = 0] = embed.give(new Uint8Array(embed.columns(-1).stepBytes).fill(k));
        embed.x.replay_append(embed.handle, 0, at, 1, 0, 0);
      }
      // A Replay that is loaded from this snapshot has the same snapshot.
      expect(Buffer.compare(new Embed().load(again).snapshot(), again)).toBe(0);
    }
    expect(refused).toBeGreaterThan(count / 4);
    expect(refused).toBeLessThan(count);
  });

  /** Returns WHOLE with additional sections before and after its section of entries. */
  function withSections(before: readonly (readonly [kind: number, payload: Uint32Array])[], behind: typeof before): Uint8Array {
    const sectionOf = ([kind, payload]: (typeof before)[number]): Uint8Array => {
      const section = new Uint8Array(new Uint32Array([kind, 0, payload.byteLength, 0, ...payload]).buffer);
      seal(section, { at: 0, kind, bytes: payload.byteLength });
      return section;
    };
    const parts = sectionsIn(WHOLE).flatMap(({ at, kind, bytes }) => {
      const whole = WHOLE.slice(at, at + 16 + bytes);
      if (kind === kinds.ENTRIES) return [...before.map(sectionOf), whole, ...behind.map(sectionOf)];
      return [kind === kinds.END ? sectionOf([kind, Uint32Array.of(sectionsIn(WHOLE).length - 1 + before.length + behind.length)]) : whole];
    });
    return new Uint8Array(Buffer.concat([WHOLE.subarray(0, 8), ...parts]));
  }

  test("must be in their own sections, only once, and not in freed rows", () => {
    expect(sectionsIn(WHOLE).filter(({ kind }) => kind === kinds.ENTRIES)).toHaveLength(1);
    expect(refusal(withSections([], []))).toBeUndefined();
    const numbers = entriesIn(WHOLE).map(({ number }) => number);
    const [a = 0, b = 0, c = 0] = numbers.filter((number) => !numbers.includes(number - 1) || number % 2 === 0);
    const free = (...runs: readonly number[]) => [kinds.FREE, Uint32Array.of(runs.length, ...runs.flatMap((number) => [number, 1]))] as const;
    const hostile = [
      // Here, rows with entries are also free. The queue of free rows uses the heads of its rows, so it would overwrite the address of an entry there.
      withSections([free(a, b)], [free(900)]),
      withSections([free(a, b, c)], []),
      withSections([], [free(a)]),
      withSections([[kinds.ROWS, Uint32Array.of(1, a, 0, 64)]], []),
      withSections([], [[kinds.ROWS, Uint32Array.of(1, a, 0, 0xffff0000)]]),
      withSections([], [[kinds.ENTRIES, Uint32Array.of(12, 0xffffffff, 0, 0)]]),
      withSections([], [[kinds.ENTRIES, Uint32Array.of(11, a, 0, 0)]]),
      withSections([], [[kinds.ENTRIES, Uint32Array.of(12, a, 0, 0x0fffffff)]]),
      withSections([], [[kinds.ENTRIES, Uint32Array.of(12, a, a, 0x01000000)]]),
    ];
    for (const [i, bytes] of hostile.entries()) {
      expect(refusal(bytes), `snapshot ${i}`).toMatch(/^CORRUPT: the snapshot is damaged/);
      expect(() => Replay.restore(bytes), `snapshot ${i}`).toThrow(expect.objectContaining({ code: "CORRUPT" }));
    }
  });
});

test("snapshots of other versions, and snapshots with columns, are rejected", () => {
  const other = WHOLE.slice();
  other[7] = "2".charCodeAt(0);
  expect(refusal(other)).toMatch(/^UNSUPPORTED: .*REPRISE1/);
  expect(refusal(new TextEncoder().encode("something else"))).toMatch(/^CORRUPT: .*it does not begin with REPRISE1/);
  const [head] = sectionsIn(WHOLE) as [Section];
  const later = WHOLE.slice();
  const at = Buffer.from(later).indexOf("version") + "version".length;
  new DataView(later.buffer).setFloat64(at + 1, 8, true);
  seal(later, head);
  expect(refusal(later)).toMatch(/^UNSUPPORTED: the snapshot must .*version 7, got 8\b/);
  expect(refusal(snapshotOf(true))).toMatch(/^UNSUPPORTED: the snapshot has items with columns/);
});

describe("a snapshot without an open writer", () => {
  const replay = new Replay({ spec: { a: u8() }, tables: { t: { maxSize: 9 } } });
  const writer = replay.writer({ items: [{ table: "t", length: 2 }] });
  for (let i = 0; i < 5; i++) writer.append({ a: i });
  writer.close();
  const bytes = new Uint8Array(Buffer.concat([...replay.snapshot()]));

  test("is loaded with one default writer, which has no rules", () => {
    const embed = new Embed().load(bytes, "view t items");
    expect(embed.stats(0).slice(0, 2)).toEqual([4, 8]);
    const [at = 0] = embed.give(new Uint8Array(embed.columns(-1).stepBytes));
    embed.did(embed.x.replay_append(embed.handle, 0, at, 1, 0, 0));
    // The restored writer has no rules.
    expect(embed.stats(0)[0]).toBe(4);
    expect(embed.did(embed.x.replay_item(embed.handle, 0, 0, 0, 1, 1))).toBe(1);
    const again = Replay.restore(embed.snapshot());
    expect([again.writers.length, again.table("t").size]).toEqual([1, 5]);
  });

  test("accepts writers from the host's lines, as does a snapshot with writers", () => {
    const embed = new Embed().load(bytes, "writer lanes 2\nrule t length 1\nwriter\nrule t length 2");
    const steps = new Uint8Array(4 * embed.columns(-1).stepBytes);
    const [at = 0] = embed.give(steps);
    embed.did(embed.x.replay_append(embed.handle, 0, at, 4, 0, 0));
    embed.did(embed.x.replay_append(embed.handle, 1, at, 4, 0, 0));
    expect(embed.stats(0)[3]).toBe(4 + 4 + 3);
    const more = new Embed().load(embed.snapshot(), "writer\nrule t length 1");
    const [there = 0] = more.give(steps);
    more.did(more.x.replay_append(more.handle, 2, there, 1, 0, 0));
    // The episode of the second writer continues.
    more.did(more.x.replay_append(more.handle, 1, there, 1, 0, 0));
    expect(more.stats(0)[3]).toBe(11 + 1 + 1);
    expect(Replay.restore(more.snapshot()).writers.map(({ options }) => options.lanes)).toEqual([2, 1, 1]);
  });
});

test("a snapshot with another layout of steps, or items with columns, is UNSUPPORTED", () => {
  const [head] = sectionsIn(WHOLE) as [Section];
  for (const [key, value] of [
    ["rowBytes", 48],
    ["kind", 0],
    ["offset", 4],
  ] as const) {
    const other = WHOLE.slice();
    // The last occurrence of the key belongs to the last leaf.
    const at = Buffer.from(other).lastIndexOf(key, head.at + 16 + head.bytes) + key.length;
    const numbers = new DataView(other.buffer);
    expect(numbers.getFloat64(at + 1, true)).not.toBe(value);
    numbers.setFloat64(at + 1, value, true);
    seal(other, head);
    expect(refusal(other), key).toMatch(/^UNSUPPORTED: the steps of the snapshot have the layout of another version/);
  }
  const slots = sectionsIn(WHOLE).find(({ kind }) => kind === kinds.SLOTS) as Section;
  const shown = WHOLE.slice();
  // SLOT: the column layout (assembly/persistence/slot.ts) of the first record.
  new DataView(shown.buffer).setUint32(slots.at + 16 + 4 + 20, 65537, true);
  seal(shown, slots);
  expect(refusal(shown)).toMatch(/^UNSUPPORTED: the snapshot has items with columns/);
});

test("a snapshot that exceeds `bytes` is rejected, and the instance stays usable", () => {
  const embed = new Embed();
  expect(() => embed.load(WHOLE, "bytes 60000")).toThrowError(/^OUT_OF_MEMORY: /);
  expect(() => embed.load(WHOLE, "view nothing items")).toThrowError(/^NOT_FOUND: line 1: the table must .*got "nothing"\. Tables: "memory", "queue"$/);
  expect(embed.load(WHOLE).stats(1)[0]).toBe(3);
});

test("an error counts the host's lines, and names the snapshot if the snapshot caused it", () => {
  expect(refusal(WHOLE, new Embed(), `# more\n\n${LIMIT}\nview memory items\nview nothing items`)).toMatch(/^NOT_FOUND: line 5: the table must be described/);
  expect(refusal(WHOLE, new Embed(), `${LIMIT}\nview memory\nview memory items`)).toMatch(/^INVALID: line 2: the kind of the view \(items or transitions\)/);
  const numbered = new Replay({ spec: f32(2), tables: { 12: { maxSize: 1 } } });
  expect(refusal(new Uint8Array(Buffer.concat([...numbered.snapshot()])))).toMatch(/^INVALID: the snapshot: the name of a table must not .*got "12"$/);
  const half = new Replay({ spec: { "\ud800": f32(2) }, tables: { t: { maxSize: 1 } } });
  expect(refusal(new Uint8Array(Buffer.concat([...half.snapshot()])))).toMatch(/^UNSUPPORTED: the snapshot has a name .*UTF-8/);
});

test("reading chunks after a change, or before the first chunk, is rejected", () => {
  const embed = new Embed().load(WHOLE, "view memory items");
  expect(() => embed.chunk(false)).toThrowError(/^OUT_OF_TURN: first must be 1 to begin a snapshot/);
  expect(new TextDecoder().decode(embed.chunk(true))).toBe("REPRISE1");
  // A rejected call changes nothing, so the snapshot can continue.
  expect(embed.x.replay_append(embed.handle, 0, 0, 1, 0, 0)).toBeLessThan(0);
  expect(embed.x.replay_item(embed.handle, 0, 0, 0, 99, 1)).toBeLessThan(0);
  expect(embed.chunk(false).length).toBeGreaterThan(16);
  embed.did(embed.x.replay_sample(embed.handle, 0, 1, 0));
  expect(() => embed.chunk(false)).toThrowError(/^OUT_OF_TURN: .*because the Replay has changed/);
  expect(embed.snapshot().length).toBeGreaterThan(1000);
  expect(embed.chunk(false)).toHaveLength(0);
});

test("both sides use the same numbers for sections", () => {
  const read = (file: string) => readFileSync(join(root, "assembly", file), "utf8");
  const found = Object.fromEntries(
    [...read("persistence/section.ts").matchAll(/^export const ([A-Z]+): u32 = (\d+);/gm)].map(([, name, value]) => [name, Number(value)]),
  );
  const { HEAD, WRITERS, POOLS, ROWS, FREE, SLOTS, TABLE, STREAMS, END, LAYOUTS, ENTRIES, DRAWN } = kinds;
  expect(found).toEqual({ HEAD, WRITERS, POOLS, ROWS, FREE, SLOTS, TABLE, STREAMS, END, LAYOUTS, ENTRIES, DRAWN });
});

describe("a writer's pending data", () => {
  const spec = { action: i32(), observation: f32(), reward: f32() };
  const make = () => new Replay({ spec, tables: { memory: { maxSize: 90, sampler: prioritized(1) }, windows: { maxSize: 90 } }, seed: 3, logger: null });
  const options = {
    across: true,
    items: [
      { table: "memory", nStep: 4 },
      { table: "windows", length: 3, stride: 5 },
    ],
  } as const;
  const columns = (from: number, n: number) => {
    const ids = Array.from({ length: n }, (_, i) => from + i);
    return { action: ids, observation: ids, reward: ids };
  };
  const rewardsAfter = (replay: ReturnType<typeof make>, size: 10 | 20): string => {
    const { memory, windows } = replay.tables;
    const [a, b] = [
      memory.sample(size, { replacement: false }),
      windows.sample(20, { replacement: false, columns: { first: { leaf: "observation", at: 0 } } }),
    ];
    return JSON.stringify([[...a.info.priorities].sort(), [...b.steps.first.data.subarray(0, b.count)].sort()]);
  };

  test("round-trips through embed.wasm, and both sides continue with it", () => {
    const replay = make();
    const writer = replay.writer(options);
    for (let e = 0; e < 4; e++) {
      writer.appendColumns(columns(10 * e, 3), { priorities: { memory: [10 * e + 2, 10 * e + 3, 10 * e + 4] } });
      if (e < 3) writer.endEpisode({ terminated: true });
    }
    const embed = new Embed().load(new Uint8Array(Buffer.concat([...replay.snapshot()])));
    const again = Replay.restore<typeof spec, "memory" | "windows">(embed.snapshot(), { logger: null });
    const word = (id: number, float: boolean) => new Uint8Array((float ? Float32Array : Int32Array).of(id).buffer);
    const steps = [3, 4, 5].map(
      (i) =>
        new Map([
          ["action", word(30 + i, false)],
          ["observation", word(30 + i, true)],
          ["reward", word(30 + i, true)],
        ]),
    );
    embed.play(append(0, embed.pack(steps), 3));
    for (const one of [writer, again.writers[0] as unknown as typeof writer]) one.appendColumns(columns(33, 3));
    for (const one of [embed.snapshot(), [...again.snapshot()]] as const) {
      const restored = Replay.restore<typeof spec, "memory" | "windows">(one as Uint8Array, { logger: null });
      expect(rewardsAfter(restored as never, 20)).toBe(rewardsAfter(replay, 20));
    }
    // Two items of the last block are still due. The items of the previous block were created now, with their own rewards.
    expect(JSON.parse(rewardsAfter(replay, 20))[0]).toEqual(expect.arrayContaining([32, 33]));
  });

  test("is CORRUPT if it contradicts the writer's options, and never traps", () => {
    const replay = make();
    const writer = replay.writer(options);
    writer.appendColumns(columns(0, 3), { priorities: { memory: [2, 3, 4] } });
    const whole = new Uint8Array(Buffer.concat([...replay.snapshot()]));
    const section = sectionsIn(whole).find(({ kind }) => kind === kinds.WRITERS) as Section;
    // The last number of the section is the part of the reward that is due to the newest step.
    for (const number of [-2, Number.NaN, Number.POSITIVE_INFINITY]) {
      const bytes = whole.slice();
      new DataView(bytes.buffer).setFloat64(section.at + 16 + section.bytes - 8, number, true);
      seal(bytes, section);
      expect(refusal(bytes)).toMatch(/^CORRUPT: /);
      expect(() => Replay.restore(bytes)).toThrow(expect.objectContaining({ code: "CORRUPT" }));
    }
  });
});
