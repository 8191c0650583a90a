/** Checks that an invalid text is rejected with its line, the rule and a remedy, and that the instance remains usable. */
import { describe, expect, test } from "vitest";
import { TestRandom } from "../support/random.ts";
import { scaled } from "../support/size.ts";
import { Embed, EmbedError, TEXT } from "./host.ts";

describe("a text", () => {
  test.each<[string, RegExp]>([
    ["", /^INVALID: the text must .*f32/],
    ["leaf", /line 1: the path of the leaf is required$/],
    ["\nleaf a", /line 2: the dtype of the leaf is required/],
    ["leaf a float32", /line 1: the dtype must be bool, .*, got "float32"/],
    ["leaf a f32 0", /line 1: the word must .*got "0"/],
    ["leaf a f32 1.5", /got "1.5"/],
    ["leaf a f32 4 4294967296", /got "4294967296"/],
    ["leaf a f32 1000000 1000000", /a value of "a" must have at most 1073741823 bytes/],
    // The product of the frame size and the number of frames exceeds 2^64, so it would wrap to a small number.
    ["leaf a text 16777708 1073710081 shared s stack 1024", /a value of "a" must have at most 1073741823 bytes/],
    ["leaf a text 16777212 1073741824 shared s stack 1024", /a value of "a" must have at most 1073741823 bytes/],
    ["leaf a text 0", /the maximum size of a text must be an integer from 1/],
    ["leaf a f32 shared", /the name after shared is required/],
    ["leaf a f32 shared s stack 1025", /the number of frames of a stack must be an integer from 1 to 1024 .*, got "1025"/],
    ["leaf a f32 4 stack 2", /got "stack"/],
    ["leaf a f32 shared s\nleaf b f64 shared s", /^SPEC_MISMATCH: a frame of "b" must .*4 bytes.*"s", got 8/],
    ["leaf a u8 300 packed", /line 1: the name after packed is required/],
    ["leaf a u8 300 packed s stack 1025", /the number of frames of a stack must be an integer from 1 to 1024 .*, got "1025"/],
    ["leaf a u8 300 packed s ratio", /the ratio is required/],
    ["leaf a u8 300 packed s ratio 0.5", /the ratio must be a number of at least 1 \(at most 15 digits, .*, got "0.5"/],
    ["leaf a u8 300 packed s ratio 0x7ff0000000000000", /the ratio must be a number of at least 1 /],
    ["leaf a u8 300 packed s of 4", /line 1: the word after the name must be stack or ratio, got "of"/],
    ["leaf a u8 300 shared s ratio 4", /the word after the name must be stack, got "ratio"/],
    ["leaf a u8 300 ratio 4", /got "ratio"/],
    ["leaf a u8 300 packed s shared s", /got "shared"/],
    ["leaf a u8 255 packed s", /^INVALID: line 1: a packed frame of "a" must have 256 to 16777215 bytes, got 255\. Use shared for smaller frames$/],
    ["leaf a text 8 20 packed s", /a packed frame of "a" must have 256 to 16777215 bytes, got 240\./],
    ["leaf a u8 16777216 packed s stack 2", /must have 256 to 16777215 bytes, got 16777216\./],
    ["leaf a u8 300 packed s\nleaf b u8 301 packed s", /^SPEC_MISMATCH: a frame of "b" must .*300.*"s", got 301/],
    [
      "leaf a u8 300 packed s\nleaf b u8 300 packed s ratio 2.5",
      /^SPEC_MISMATCH: "b" must be packed with ratio 4, as for the other leaves shared as "s", got packed with ratio 2\.5$/,
    ],
    ["leaf a u8 300 shared s\nleaf b u8 300 packed s", /^SPEC_MISMATCH: "b" must be unpacked, as for the other leaves shared as "s", got packed with ratio 4$/],
    ["bytes 400000\nleaf a u8 4000000 packed s", /^OUT_OF_MEMORY: /],
    ["leaf a f32\nleaf a f32", /the path "a" must not/],
    ["leaf a.b f32\nleaf a f32", /the path "a.b" must not/],
    ["leaf a.x f32\nlist a", /the path "a.x" must have a number/],
    ["leaf a.1 f32\nlist a", /the list "a" must have a part 0/],
    ["leaf a f32\nlist b", /the list "b" must contain a leaf/],
    ["leaf __proto__.a f32", /no part named __proto__/],
    ['leaf "a f32', /the path of the leaf has no closing quote/],
    ['leaf a f32\nwriter "across', /^INVALID: line 2: the word must .*got a word without a closing quote$/],
    ['leaf a f32\ntable t size "4', /^INVALID: line 2: size has no closing quote$/],
    ['leaf a f32\ntable t size 4\nrule t length 1 priority "3', /^INVALID: line 3: the priority must be max, or .*, got a word without a closing quote$/],
    ['leaf a f32\ntable t size 4\nview t items "cross', /^INVALID: line 3: .*, got a word without a closing quote$/],
    // A backslash before the end of a line escapes nothing.
    ['leaf "a\\\nb" f32', /^INVALID: line 1: the path of the leaf has no closing quote$/],
    ['leaf a f32\nlist "b\\', /^INVALID: line 2: the path of the list has no closing quote$/],
    ["leaf a f32\ntable __proto__ size 1", /^INVALID: line 2: the name of a table must not .*__proto__, got "__proto__"$/],
    ["leaf a f32\nrole pilot a", /the role must be .*, got "pilot"/],
    ["leaf a f32\nrole reward b", /^NOT_FOUND: the role reward must .*got "b"/],
    ["leaf a bool 2\nrole reward a", /^SPEC_MISMATCH: the reward must be a numeric leaf, and must not be text, bool or shared/],
    ["leaf a f32 2\nrole discount a", /^SPEC_MISMATCH: the discount must be one number per step/],
    ["leaf a f32\ntable t", /size is required for the table "t"/],
    ["leaf a f32\ntable 12 size 1", /the name of a table must not .*__proto__, got "12"/],
    ["leaf a f32\ntable t size 0", /size must be an integer from 1 to 67108863 .*, got "0"/],
    ["leaf a f32\ntable t size 1\ntable t size 1", /the name of a table must be unique, got "t"/],
    ["leaf a f32\ntable t size 1 sampler best", /the selector must be fifo, .*, got "best"/],
    ["leaf a f32\ntable t size 1 sampler prioritized", /the exponent after prioritized is required/],
    ["leaf a f32\ntable t size 1 sampler prioritized 0.12345678901234567", /at most 15 digits/],
    ["leaf a f32\ntable t size 1 minDiff 1e23", /minDiff must .*e22.*got "1e23"/],
    ["leaf a f32\ntable t size 1 samplesPerInsert 0", /samplesPerInsert must be a number above 0 \(at most/],
    ["leaf a f32\ntable t size 1 minDiff 2 maxDiff 1", /minDiff must be <= maxDiff \(1\), got 2/],
    ["leaf a f32\nrule t length 1", /^NOT_FOUND: line 2: the table must .*got "t"/],
    ["leaf a f32\ntable t size 1\nrule t", /a rule must have exactly one of length/],
    ["leaf a f32\ntable t size 1\nrule t nStep 1", /^NOT_FOUND: an nStep or sequence rule needs the observation/],
    ["leaf a f32\ntable t size 1\nwriter keep 2\nrule t length 3", /keep must be at least 3/],
    ["leaf a f32\ntable t size 1\nrule t length 1 priority -1", /got "-1"/],
    ["leaf a f32\ntable t size 1\nview t transitions gamma 0.5", /^NOT_FOUND: a view of transitions needs the reward/],
    ["leaf a f32\ntable t size 1\nview t transitions", /gamma is required for a view of transitions/],
    ["leaf a f32\ntable t size 1\nview t items among 0", /^INVALID: line 3: among must be an integer from 1 to 4294967295 .*, got "0"/],
    ["leaf a f32\ntable t size 1\nview t pairs", /items or transitions, got "pairs"/],
    ["leaf a f32\ntable t size 1 sampler prioritized 1\nview t items weights table", /^UNSUPPORTED: weights table needs the sampler prioritizedWithMin/],
    ["leaf a f32\nseed -1", /the seed must .*got "-1"/],
    ["leaf a f32\nseed 18446744073709551616", /got "18446744073709551616"/],
    ["leaf a f32\nseed 1 2", /the line must end here, got "2"/],
    ["leaf a f32\nbytes 4096\ntable t size 1000", /^OUT_OF_MEMORY: /],
    ["leaf a f32\ntable t size 60000000 sampler prioritizedWithMin 1 remover maxHeap\nbytes 1000000", /^OUT_OF_MEMORY: the table "t" takes/],
    ["leaf a f32 2\ntable t size 1\nstored", /line 3: stored is required/],
    ["leaf a f32 2\ntable t size 1\nstored 0", /line 3: stored must be a number above 0 .*, got "0"/],
    ["leaf a f32 2\ntable t size 1\nstored 9000 from t", /the word after the limit must be evict, got "from"/],
    ["leaf a f32 2\nstored 9000 evict t\ntable t size 1", /^NOT_FOUND: line 2: the table must .*got "t"/],
    ["leaf a f32 2\ntable t size 1\nstored 9000 evict t t", /the line must end here, got "t"/],
    // The row has 12 + 12 bytes, its wide value 300, two packed frames 24 + 308, and a shared frame 12 + 304.
    ["leaf a f32 75\nleaf b u8 300 packed b stack 2\nleaf c u8 300 shared c\ntable t size 1\nstored 1303.5", /^INVALID: stored must .*1304.*got 1303\.5$/],
    ["spec a f32", /line 1: the first word must be leaf, .*, got "spec"/],
  ])("%j is rejected", (text, says) => {
    const embed = new Embed();
    expect(() => embed.create(text)).toThrowError(says);
    // The same instance can then create another Replay.
    expect(embed.create(TEXT).stats(0)[0]).toBe(0);
  });

  test("may describe batches of a multiple of 2^64 bytes, but drawing one is rejected", () => {
    const embed = new Embed();
    embed.create("leaf a u8 2097140\ntable t size 1\nrule t length 1\nview t items length 8388608");
    // The only leaf is wide, so it is stored at a multiple of 16.
    const [at = 0] = embed.give(new Uint8Array(2097152 + 64));
    embed.did(embed.x.replay_append(embed.handle, 0, at, 1, 0, 0));
    expect(() => embed.did(embed.x.replay_sample(embed.handle, 0, 2 ** 20, 0))).toThrowError(/^OUT_OF_MEMORY: there is no room for a batch of 1048576/);
    expect(embed.stats(0)[0]).toBe(1);
  });

  test("has at most 4,096 entries of each kind, with leaves in any order", () => {
    const many = (count: number, line: (i: number) => string) => Array.from({ length: count }, (_, i) => line(i)).join("\n");
    const embed = new Embed();
    const leaves = `leaf reward f32\nleaf observation f32\nleaf action f32\ntable t size 1\n`;
    for (const [what, line] of [
      ["leaves", (i: number) => `leaf x${i} f32`],
      ["lists", () => "list a"],
      ["tables", (i: number) => `table t${i} size 1`],
      ["writers", () => "writer"],
      ["rules", () => "rule t length 1"],
      ["views", () => "view t items"],
    ] as const)
      expect(() => embed.create(leaves + many(4097, line))).toThrowError(
        new RegExp(`^INVALID: line \\d+: the number of ${what} must be at most 4096, got more$`),
      );
    const nexts = many(4097, () => "next action").replaceAll("\n", " ");
    expect(() => embed.create(`${leaves}view t transitions gamma 1 ${nexts}`)).toThrowError(
      /^INVALID: line 5: the number of names after next must be at most 4096/,
    );
    embed.create(many(4096, (i) => `leaf x${(i * 1111) % 4096} u8`));
    const names = embed.columns(-1).columns.map(({ name }) => name);
    expect(names).toEqual([...names].sort());
    expect(new Set(names).size).toBe(4096);
  });

  test("is rejected if it is not UTF-8 or lies outside the input", () => {
    const embed = new Embed();
    const [at = 0] = embed.give(new Uint8Array([0x6c, 0xff, 0xc0]));
    for (const [text, bytes] of [
      [at, 3],
      [0, 3],
      [at, 1e9],
      [0xffffffff, 0xffffffff],
    ] as const)
      expect(embed.x.replay_create(text, bytes)).toBe(0);
    expect(embed.error).toMatch(/^INVALID: the text must be 4294967295 bytes inside/);
    expect(new Embed().x.replay_create(64, 4)).toBe(0);
  });

  test("of random words creates a Replay or is rejected", () => {
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
      "packed",
      "ratio",
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
