import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { isWellFormed, readTexts, textBytes, utf8Bytes, writeText } from "../../../src/schema/text.ts";
import { anyCharacter } from "../../support/any-character.ts";

const text = fc.string({ unit: anyCharacter, maxLength: 12 }).filter(isWellFormed);

describe("texts in rows", () => {
  it("are stored as their length, their bytes and zeros", () => {
    fc.assert(
      fc.property(text, fc.integer({ min: 0, max: 60 }), fc.integer({ min: 0, max: 255 }), (given, maxBytes, before) => {
        const size = textBytes(maxBytes);
        expect(size % 4).toBe(0);
        expect(size - maxBytes).toBeGreaterThanOrEqual(4);
        expect(size - maxBytes).toBeLessThan(8);
        const memory = new Uint8Array(size + 8).fill(before);
        const bytes = new TextEncoder().encode(given);
        const fits = bytes.length <= maxBytes;
        expect(writeText(memory, 4, maxBytes, given)).toBe(fits);
        const wanted = new Uint8Array(size + 8).fill(before, 0, 4).fill(before, size + 4);
        if (fits) {
          wanted[4] = bytes.length;
          wanted.set(bytes, 8);
        }
        expect(memory).toEqual(wanted);
        const read: string[] = [];
        readTexts(memory, 4, maxBytes, read, 1);
        expect(read).toEqual([fits ? given : ""]);
      }),
      { seed: 15 },
    );
  });

  it("are written only if all their bytes fit in maxBytes", () => {
    for (const character of ["a", "é", "€", "𝄞"]) {
      const bytes = utf8Bytes(character);
      for (let maxBytes = 0; maxBytes <= 9; maxBytes++) {
        const memory = new Uint8Array(textBytes(maxBytes));
        expect(writeText(memory, 0, maxBytes, character.repeat(2))).toBe(maxBytes >= 2 * bytes);
        expect(memory.some((byte) => byte !== 0)).toBe(maxBytes >= 2 * bytes);
      }
    }
  });

  it("keep byte order marks and zeros, and are never read beyond the limit", () => {
    const memory = new Uint8Array(2 * textBytes(70_000));
    const long = `\ufeff\0${"x".repeat(69_990)}\0`;
    writeText(memory, 0, 70_000, long);
    writeText(memory, textBytes(70_000), 70_000, "\ufeff");
    const read: string[] = [];
    readTexts(memory, 0, 70_000, read, 2);
    expect(read).toEqual([long, "\ufeff"]);
    memory.fill(255, 0, 4);
    readTexts(memory, 0, 5, read, 1);
    expect(read[0]).toBe("\ufeff\0x");
  });
});

it("isWellFormed returns false for unpaired surrogates and values that are not strings", () => {
  expect(["", "a", "\0", "𝄞", "\ufffd"].every(isWellFormed)).toBe(true);
  for (const value of ["\ud834", "\udd1e", "a\ud834b", "\udd1e\ud834", 5, null, undefined, ["a"], new Uint8Array(1)]) expect(isWellFormed(value)).toBe(false);
});
