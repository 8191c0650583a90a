/** What a host can get wrong is a text, never a trap, and leaves everything as it was. */
import { beforeEach, describe, expect, test } from "vitest";
import { TestRandom } from "../support/random.ts";
import { scaled } from "../support/size.ts";
import { type Build, Embed, EmbedError, embedModule, textBytes } from "./host.ts";

const TEXT = `
leaf observation f32 4
leaf action i32
leaf reward f32
leaf done bool
leaf task text 5
table memory size 10 sampler prioritized 0.6
writer lanes 1
rule memory nStep 2
writer lanes 2 autoreset nextStep
view memory transitions gamma 0.9 weights batch
view memory items length 2
seed 7`;

const BUILDS: readonly Build[] = ["embed", "embed.scalar"];

test.each(BUILDS)("%s imports nothing, and exports what the page says", (build) => {
  const module = embedModule(build);
  expect(WebAssembly.Module.imports(module)).toEqual([]);
  expect(WebAssembly.Module.exports(module).map(({ name }) => name)).toEqual(
    expect.arrayContaining(["ABI_VERSION", "memory", "replay_create", "replay_error"]),
  );
  expect(WebAssembly.Module.exports(module).length).toBeLessThan(18);
});

describe("a text", () => {
  test.each<[string, RegExp]>([
    ["", /^INVALID: the text must have a leaf, such as: leaf observation f32 4$/],
    ["leaf", /line 1: the path of the leaf must be given, and the line ends/],
    ["\nleaf a", /line 2: the dtype of the leaf must be given/],
    ["leaf a float32", /line 1: the word must be a dtype: bool, .*, got "float32"/],
    ["leaf a f32 0", /line 1: the word must be a size from 1 up, or shared, got "0"/],
    ["leaf a f32 1.5", /got "1.5"/],
    ["leaf a f32 4 4294967296", /got "4294967296"/],
    ["leaf a f32 1000000 1000000", /bytes of "a" must be an integer up to 1073741823/],
    // Products that are small again behind 2^64.
    ["leaf a text 16777708 1073710081 shared s stack 1024", /bytes of "a" must be an integer up to 1073741823/],
    ["leaf a text 16777212 1073741824 shared s stack 1024", /bytes of "a" must be an integer up to 1073741823/],
    ["leaf a text 0", /the most bytes of a text must be an integer from 1/],
    ["leaf a f32 shared", /the name behind shared must be given/],
    ["leaf a f32 shared s stack 1025", /the frames of a stack must be an integer from 1 up to 1024 .*, got "1025"/],
    ["leaf a f32 4 stack 2", /got "stack"/],
    ["leaf a f32 shared s\nleaf b f64 shared s", /^SPEC_MISMATCH: a frame of "b" must be of 4 bytes, like the other leaves shared as "s", got 8/],
    ["leaf a f32\nleaf a f32", /the path "a" must not be that of another leaf/],
    ["leaf a.b f32\nleaf a f32", /the path "a.b" must not be that of another leaf, or below one/],
    ["leaf a.x f32\nlist a", /the path "a.x" must have a number/],
    ["leaf a.1 f32\nlist a", /the list "a" must have a part 0/],
    ["leaf a f32\nlist b", /the list "b" must have a leaf below it/],
    ["leaf __proto__.a f32", /no part __proto__/],
    ['leaf "a f32', /got a quote without an end/],
    ["leaf a f32\nrole pilot a", /the word must be a role: .*, got "pilot"/],
    ["leaf a f32\nrole reward b", /^NOT_FOUND: the role reward must be the path of a leaf, got "b"/],
    ["leaf a f32 2\nrole reward a", /^SPEC_MISMATCH: the reward must be one number a step/],
    ["leaf a f32\ntable t", /the table "t" must have a size/],
    ["leaf a f32\ntable 12 size 1", /the name of a table must be no whole number, and not empty, got "12"/],
    ["leaf a f32\ntable t size 0", /size must be an integer from 1 up to 67108863 .*, got "0"/],
    ["leaf a f32\ntable t size 1\ntable t size 1", /a table must have a name of its own, got "t"/],
    ["leaf a f32\ntable t size 1 sampler best", /a selector: fifo, .*, got "best"/],
    ["leaf a f32\ntable t size 1 sampler prioritized", /the exponent behind prioritized must be given/],
    ["leaf a f32\ntable t size 1 sampler prioritized 0.12345678901234567", /of at most 15 digits/],
    ["leaf a f32\ntable t size 1 minDiff 2 maxDiff 1", /minDiff must be <= maxDiff \(1\), got 2/],
    ["leaf a f32\nrule t length 1", /^NOT_FOUND: line 2: the table must be one of the lines before: got "t"/],
    ["leaf a f32\ntable t size 1\nrule t", /a rule must have length/],
    ["leaf a f32\ntable t size 1\nrule t nStep 1", /^NOT_FOUND: a rule of nStep needs the observation/],
    ["leaf a f32\ntable t size 1\nwriter keep 2\nrule t length 3", /keep must be at least 3/],
    ["leaf a f32\ntable t size 1\nrule t length 1 priority -1", /got "-1"/],
    ["leaf a f32\ntable t size 1\nview t transitions gamma 0.5", /^NOT_FOUND: a view of transitions needs the reward/],
    ["leaf a f32\ntable t size 1\nview t transitions", /must say gamma/],
    ["leaf a f32\ntable t size 1\nview t pairs", /items or transitions, got "pairs"/],
    ["leaf a f32\ntable t size 1 sampler prioritized 1\nview t items weights table", /^UNSUPPORTED: weights table needs the sampler prioritizedWithMin/],
    ["leaf a f32\nseed -1", /the seed must be a whole number below 2\^64, got "-1"/],
    ["leaf a f32\nseed 18446744073709551616", /got "18446744073709551616"/],
    ["leaf a f32\nseed 1 2", /the line must be at its end, got "2"/],
    ["leaf a f32\nbytes 4096\ntable t size 1000", /^OUT_OF_MEMORY: /],
    ["leaf a f32\ntable t size 60000000 sampler prioritizedWithMin 1 remover maxHeap\nbytes 1000000", /^OUT_OF_MEMORY: bytes must have room for the table "t"/],
    ["spec a f32", /line 1: a line must be one that begins with leaf, .*, got "spec"/],
  ])("%j is refused", (text, says) => {
    const embed = new Embed();
    expect(() => embed.create(text)).toThrowError(says);
    // And then another one is made in the same instance, at once.
    expect(embed.create(TEXT).stats(0)[0]).toBe(0);
  });

  test("whose batches would come to a multiple of 2^64 bytes has them refused", () => {
    const embed = new Embed();
    embed.create("leaf a u8 2097140\ntable t size 1\nrule t length 1\nview t items length 8388608");
    // The one leaf is wide: it stands at a multiple of 16.
    const [at = 0] = embed.give(new Uint8Array(2097152 + 64));
    embed.did(embed.x.replay_append(embed.handle, 0, at, 1, 0, 0));
    expect(() => embed.did(embed.x.replay_sample(embed.handle, 0, 2 ** 20, 0))).toThrowError(/^OUT_OF_MEMORY: there is no room for a batch of 1048576/);
    expect(embed.stats(0)[0]).toBe(1);
  });

  test("that is no UTF-8, or not in the input, is refused", () => {
    const embed = new Embed();
    const [at = 0] = embed.give(new Uint8Array([0x6c, 0xff, 0xc0]));
    for (const [text, bytes] of [
      [at, 3],
      [0, 3],
      [at, 1e9],
      [0xffffffff, 0xffffffff],
    ] as const)
      expect(embed.x.replay_create(text, bytes)).toBe(0);
    expect(embed.error).toMatch(/^INVALID: the text must be 4294967295 bytes within/);
    expect(new Embed().x.replay_create(64, 4)).toBe(0);
  });

  test("of random words makes a Replay or is refused", () => {
    const words = [
      ...TEXT.split(/\s+/),
      "leaf",
      "table",
      "rule",
      "view",
      "list",
      "role",
      "-1",
      "0x3ff0000000000000",
      '"',
      "\\",
      "1e400",
      "99999999999999999999",
      "next",
      "shared",
    ];
    const random = new TestRandom(5);
    const embed = new Embed();
    let refused = 0;
    for (let i = 0; i < scaled(20_000); i++) {
      const lines = TEXT.split("\n");
      for (let k = random.below(3); k >= 0; k--) {
        const line = (lines[random.below(lines.length)] as string).split(" ");
        line[random.below(line.length)] = random.pick(words);
        lines[random.below(lines.length)] = line.join(random.pick([" ", " ", "\n", "\t", "."]));
      }
      try {
        embed.create(lines.join("\n"));
        expect(embed.x.replay_free(embed.handle)).toBe(0);
      } catch (error) {
        if (!(error instanceof EmbedError)) throw error;
        expect(error.message).toMatch(/^[A-Z_]+: .{10,}/s);
        refused++;
      }
    }
    expect(refused).toBeGreaterThan(scaled(20_000) / 10);
  });
});

describe("a call", () => {
  let embed: Embed;
  let step: Uint8Array;
  const value = (name: string, bytes: number): Uint8Array => (name === "task" ? textBytes("go", 5) : new Uint8Array(bytes));

  beforeEach(() => {
    embed = new Embed().create(TEXT);
    const { columns } = embed.columns(-1);
    step = embed.pack([new Map(columns.map(({ name, bytes }) => [name, value(name, bytes)]))]);
    const [at = 0] = embed.give(step);
    for (let i = 0; i < 5; i++) embed.did(embed.x.replay_append(embed.handle, 0, at, 1, 0, 0));
  });

  /** All that is counted, but for the bytes in use: a region may have grown. */
  function state(): string {
    return embed.stats(0).slice(0, 12).join();
  }

  test.each<[string, (x: Embed["x"], handle: number, at: number) => number, RegExp]>([
    ["append to no writer", (x, h, at) => x.replay_append(h, 2, at, 1, 0, 0), /^NOT_FOUND: writer must be a number up to 1, .*, got 2/],
    ["append of nothing", (x, h, at) => x.replay_append(h, 0, at, 0, 0, 0), /n must be an integer from 1/],
    ["append of half the lanes", (x, h, at) => x.replay_append(h, 1, at, 1, 0, 0), /so many for each of 2 lanes, got 1/],
    ["append from null", (x, h) => x.replay_append(h, 0, 0, 1, 0, 0), /^INVALID: steps must be 48 bytes within the /],
    ["append from behind the input", (x, h, at) => x.replay_append(h, 0, at + 4096 * 64, 1, 0, 0), /steps must be 48 bytes/],
    ["append of more than there is", (x, h, at) => x.replay_append(h, 0, at, 1_000_000, 0, 0), /steps must be 48000000 bytes/],
    ["append with ends nowhere", (x, h, at) => x.replay_append(h, 0, at, 1, 12, 0), /ends must be 1 bytes/],
    ["append with an end of 9", (x, h, at) => x.replay_append(h, 0, at, 1, at + 16, 0), /ends\[0\] must be an integer from 0 up to 3, got 9/],
    ["append that is truncated without a final step", (x, h, at) => x.replay_append(h, 0, at, 1, at + 17, 0), /a final step must be given/],
    ["append with finals nowhere", (x, h, at) => x.replay_append(h, 0, at, 1, at + 17, 8), /finals must be 48 bytes/],
    ["append with finals where they come as steps", (x, h, at) => x.replay_append(h, 1, at, 2, at + 17, at), /with autoreset nextStep/],
    ["append of a flag of 2", (x, h, at) => x.replay_append(h, 0, at + 64, 1, 0, 0), /^INVALID_DATA: step\[0\]: "done"\[0\] must be bool, 0 or 1, got 2/],
    ["append of a text that is too long", (x, h, at) => x.replay_append(h, 0, at + 128, 1, 0, 0), /"task"\[0\] must have at most 5 bytes, got 6/],
    ["append of a text that is none", (x, h, at) => x.replay_append(h, 0, at + 192, 1, 0, 0), /"task"\[0\] must be UTF-8/],
    ["append of a text with more behind it", (x, h, at) => x.replay_append(h, 0, at + 256, 1, 0, 0), /must have zeros behind its text/],
    ["append of a reward that is infinite", (x, h, at) => x.replay_append(h, 0, at + 320, 1, 0, 0), /^INVALID_DATA: "reward" must be finite.*, got Infinity/],
    ["end without saying how", (x, h) => x.replay_end(h, 0, 0, 1, 0), /must end truncated \(2\) or terminated \(3\)/],
    ["end in another way", (x, h) => x.replay_end(h, 0, 0, 4, 0), /how must be 1 .*, got 4/],
    ["end of no lane", (x, h, at) => x.replay_end(h, 0, 1, 3, at), /lane must be an integer up to 0, got 1/],
    ["end with a final step nowhere", (x, h) => x.replay_end(h, 0, 0, 3, 4), /final must be 48 bytes/],
    ["end without a final step where it is truncated", (x, h) => x.replay_end(h, 0, 0, 2, 0), /a final step must be given/],
    ["end where no episode is open", (x, h) => x.replay_end(h, 1, 1, 3, 0), /^OUT_OF_TURN: the episode of lane 1 cannot end here/],
    ["item of no table", (x, h) => x.replay_item(h, 0, 0, 1, 1, 1), /^NOT_FOUND: table must be the number of a line/],
    ["item that is too long", (x, h) => x.replay_item(h, 0, 0, 0, 6, 1), /length must be at most 5, the steps at hand/],
    ["item of nothing", (x, h) => x.replay_item(h, 0, 0, 0, 0, 1), /length must be an integer from 1/],
    ["item with a priority below 0", (x, h) => x.replay_item(h, 0, 0, 0, 1, -1), /priority must be a finite number >= 0, .*, got -1/],
    ["item with no number as priority", (x, h) => x.replay_item(h, 0, 0, 0, 1, Number.NaN), /got NaN/],
    ["sample of no view", (x, h) => x.replay_sample(h, 2, 1, 0), /^NOT_FOUND: view must be the number of a line/],
    ["sample of nothing", (x, h) => x.replay_sample(h, 0, 0, 0), /n must be an integer from 1/],
    ["sample with no number as beta", (x, h) => x.replay_sample(h, 0, 1, Number.NaN), /beta must be a finite number, got NaN/],
    ["update from null", (x, h, at) => x.replay_update(h, 0, 0, at, 1), /keys must be 8 bytes/],
    ["update to null", (x, h, at) => x.replay_update(h, 0, at, 0, 1), /priorities must be 8 bytes/],
    ["update of more than there is", (x, h, at) => x.replay_update(h, 0, at, at, 1e7), /keys must be 80000000 bytes/],
    ["update to a priority below 0", (x, h, at) => x.replay_update(h, 0, at + 384, at + 384, 1), /priorities\[0\] must be a finite number >= 0/],
    ["delete from null", (x, h) => x.replay_delete(h, 0, 0, 1), /keys must be 8 bytes/],
    [
      "use of another handle",
      (x, h, at) => x.replay_append(h + 1, 0, at, 1, 0, 0),
      /^CLOSED: handle must be that of the Replay in this instance, got 2, and the open one is 1/,
    ],
  ])("%s is refused, and nothing changed", (_, call, says) => {
    const runs = Array.from({ length: 6 }, () => step.slice());
    const { columns } = embed.columns(-1);
    const offset = (name: string) => columns.find((column) => column.name === name)?.at as number;
    const [, flag, long, none, more, reward] = runs as [Uint8Array, Uint8Array, Uint8Array, Uint8Array, Uint8Array, Uint8Array];
    const input = new Uint8Array(512);
    flag[offset("done")] = 2;
    long[offset("task")] = 6;
    none[offset("task") + 4] = 0xff;
    more[offset("task") + 7] = 1;
    new DataView(reward.buffer).setFloat32(offset("reward"), Number.POSITIVE_INFINITY, true);
    runs.forEach((run, i) => {
      input.set(run, 64 * i);
    });
    new DataView(input.buffer).setFloat64(384, -1, true);
    // What stands there in a step is read as ends, too.
    input.set([9, 2, 2], 16);
    const [at = 0] = embed.give(input);
    const before = state();
    expect(call(embed.x, embed.handle, at)).toBeLessThan(0);
    expect(embed.error).toMatch(says);
    expect(state()).toBe(before);
  });

  test("after free is refused, and so is a second Replay before it", () => {
    const { x, handle } = embed;
    expect(() => embed.create(TEXT)).toThrowError(/^OUT_OF_TURN: this instance has a Replay \(handle 1\): free it first/);
    embed.handle = handle;
    expect(() => embed.load(new Uint8Array(8))).toThrowError(/^OUT_OF_TURN: this instance has a Replay \(handle 1\): free it first/);
    embed.handle = handle;
    expect(x.replay_free(handle)).toBe(0);
    const calls = [
      () => x.replay_append(handle, 0, 0, 1, 0, 0),
      () => x.replay_end(handle, 0, 0, 1, 0),
      () => x.replay_item(handle, 0, 0, 0, 1, 1),
      () => x.replay_sample(handle, 0, 1, 0),
      () => x.replay_update(handle, 0, 0, 0, 1),
      () => x.replay_delete(handle, 0, 0, 1),
      () => x.replay_free(handle),
    ];
    for (const call of calls) {
      expect(call()).toBeLessThan(0);
      expect(embed.error).toMatch(/^CLOSED: handle .* got 1: it was freed, create another/);
    }
    expect(x.replay_columns(handle, -1)).toBe(0);
    expect(x.replay_stats(handle, 0)).toBe(0);
    expect(x.replay_save(handle, 1)).toBe(0);
    embed.create(TEXT);
    expect(embed.handle).toBe(handle + 1);
    expect(x.replay_free(handle)).toBeLessThan(0);
    expect(embed.stats(0)[0]).toBe(0);
  });

  test("for columns of a view that was not drawn last is refused", () => {
    expect(() => embed.columns(0)).toThrowError(/^OUT_OF_TURN: view must be the one that was drawn last/);
    embed.did(embed.x.replay_sample(embed.handle, 1, 3, 0));
    expect(embed.columns(1).entries).toBe(3);
    expect(() => embed.columns(0)).toThrowError(/OUT_OF_TURN/);
    expect(() => embed.columns(7)).toThrowError(/NOT_FOUND/);
  });

  test("with random numbers never traps", () => {
    const random = new TestRandom(9);
    const { x } = embed;
    const number = () => random.pick([0, 1, 2, 3, 4, -1, 48, 4096, 0x5000, 2 ** 31, 2 ** 32 - 1, random.below(2 ** 20), x.replay_input(16)]);
    const handle = () => (random.below(10) === 0 ? number() : embed.handle);
    for (let i = 0; i < scaled(20_000); i++) {
      const calls = [
        () => x.replay_append(handle(), number(), number(), number(), number(), number()),
        () => x.replay_end(handle(), number(), number(), number(), number()),
        () => x.replay_item(handle(), number(), number(), number(), number(), random.pick([1, -1, Number.NaN, Infinity])),
        () => x.replay_sample(handle(), number(), random.pick([1, 7, 0, 2 ** 24, 2 ** 32 - 1]), random.pick([0, 1, Number.NaN])),
        () => x.replay_update(handle(), number(), number(), number(), number()),
        () => x.replay_delete(handle(), number(), number(), number()),
      ];
      const code = random.pick(calls)();
      if (code < 0) expect(embed.error).toMatch(/^[A-Z_]+: .{10,}/);
      x.replay_columns(handle(), number());
      x.replay_stats(handle(), number());
    }
    expect(embed.stats(0)).toHaveLength(13);
  });

  test("for more input than a memory has is refused, and what was there goes on", () => {
    expect(embed.x.replay_input(2 ** 32 - 1)).toBe(0);
    expect(embed.error).toMatch(/^OUT_OF_MEMORY: there is no room for 4294967295 bytes of input/);
    const [at = 0] = embed.give(step);
    expect(embed.x.replay_append(embed.handle, 0, at, 1, 0, 0)).toBe(0);
  });
});
