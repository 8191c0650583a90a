/** Tests the texts of errors: zero-terminated UTF-8 that is not cut inside a character, and numbers as JavaScript prints them. */
import { describe, expect, test } from "vitest";
import { TestRandom } from "../support/random.ts";
import { scaled } from "../support/size.ts";
import { Embed } from "./host.ts";

const TEXT = "leaf a f32\ntable t size 4\nrule t length 1";

/** Returns the error for an invalid text. Decoding it fails unless its bytes are UTF-8. */
function refusalOf(embed: Embed, text: string): string {
  expect(() => embed.create(text)).toThrowError();
  return embed.error;
}

describe("a name in an error", () => {
  const embed = new Embed();

  test("that contains a zero byte is shown completely", () => {
    expect(refusalOf(embed, 'leaf "a\0b" f32 0')).toMatch(/got "0"$/);
    expect(refusalOf(embed, 'leaf a f32\nrole reward "b\0\0c"')).toMatch(/^NOT_FOUND: the role reward must .*got "b\\0\\0c"$/);
  });

  test("that is too long is cut between two characters, and the error continues after it", () => {
    for (let bytes = 100; bytes < 160; bytes++) {
      for (const letter of ["x", "é", "€", "\u{1f600}"]) {
        const name = "y".repeat(bytes % 7) + letter.repeat(bytes);
        const says = refusalOf(embed, `leaf "${name}" f32 1000000000 4`);
        const [, shown = ""] = /^INVALID: line 1: a value of "(.*)" must have at most 1073741823 bytes, got 16000000000$/u.exec(says) ?? [];
        if (shown.endsWith("…")) expect(name.startsWith(shown.slice(0, -1))).toBe(true);
        else expect(shown).toBe(name);
        expect(shown.length).toBeGreaterThan(20);
      }
    }
  });

  test("is cut between two characters if the error lists too many names", () => {
    for (let bytes = 1; bytes < 60; bytes++) {
      const names = Array.from({ length: 90 }, (_, i) => `table ${"x".repeat(bytes % 4)}${"é€\u{1f600}".repeat(1 + (bytes >> 3))}${i} size 1`);
      const says = refusalOf(embed, `leaf a f32\n${names.join("\n")}\nview t items`);
      expect(says).toMatch(/^NOT_FOUND: line 92: the table must .*got "t"\. Tables: "/);
      expect(new TextEncoder().encode(says).length).toBeGreaterThan(1000);
    }
  });
});

test("numbers in an error are printed as JavaScript prints them", () => {
  const random = new TestRandom(11);
  const embed = new Embed().create(TEXT);
  const [at = 0] = embed.give(new Uint8Array(16));
  embed.did(embed.x.replay_append(embed.handle, 0, at, 1, 0, 0));
  const bits = new DataView(new ArrayBuffer(8));
  const edges = [5e-324, 2.2250738585072014e-308, 2 ** -1022, 1e-7, 1e-6, 0.1, 0.3, 1 / 3, 2.9999999, 123456.789, 1e15, 2 ** 53, 2 ** 53 + 2, 2 ** 63];
  edges.push(2 ** 64, 1e20, 1e21, 1.5e21, 1e22, 1e23, 9007199254740993e5, 2 ** 1023, Number.MAX_VALUE, Number.POSITIVE_INFINITY);
  for (let i = 0; i < scaled(20_000) + edges.length; i++) {
    bits.setUint32(0, random.below(2 ** 31));
    bits.setUint32(4, random.below(2 ** 31) * 2 + random.below(2));
    const number = edges[i] ?? (random.below(3) > 0 ? bits.getFloat64(0) : random.below(1e6) / 10 ** random.below(12));
    // The test needs a priority below 0, so `number` must be positive.
    if (!(number > 0)) continue;
    expect(embed.x.replay_item(embed.handle, 0, 0, 0, 1, -number)).toBeLessThan(0);
    expect(embed.error).toMatch(/^INVALID: priority must be a finite number >= 0, /);
    expect(embed.error.split(", got ")[1]).toBe(String(-number));
  }
});
