/** Compares folded CRC-32C with its bit-by-bit definition. */
import { describe, expect, it } from "vitest";
import { SectionMemory } from "../../../src/memory/section-memory.ts";
import { TestRandom } from "../../support/random.ts";

const memory = new SectionMemory();
memory.reserve(200_000);
const { base, u8, x } = memory;

const table = Uint32Array.from({ length: 256 }, (_, byte) => {
  let c = byte;
  for (let bit = 0; bit < 8; bit++) c = (c >>> 1) ^ (c & 1 ? 0x82f63b78 : 0);
  return c;
});

function crc32c(crc: number, bytes: Uint8Array): number {
  let c = ~crc;
  for (const byte of bytes) c = (table[(c ^ byte) & 255] as number) ^ (c >>> 8);
  return ~c >>> 0;
}

describe("the checksum", () => {
  it("is CRC-32C", () => {
    u8.set(Buffer.from("123456789"), base);
    expect(x.crc32c(0, base, 9) >>> 0).toBe(0xe3069283);
  });

  it("is correct for every length and offset, and leaves the bytes unchanged", () => {
    const random = new TestRandom(12);
    const noise = Uint8Array.from({ length: 150_000 }, () => random.below(256));
    const lengths = [...Array.from({ length: 1500 }, (_, length) => length), ...Array.from({ length: 300 }, () => random.below(150_000))];
    for (const length of lengths) {
      const at = base + random.below(64);
      const bytes = noise.subarray(0, length);
      // The bytes after the data are not zeros.
      u8.set(noise, at);
      const crc = random.below(3) === 0 ? 0 : random.below(2 ** 32);
      expect([length, x.crc32c(crc, at, length) >>> 0]).toEqual([length, crc32c(crc, bytes)]);
      expect(Buffer.compare(u8.subarray(at, at + length), bytes)).toBe(0);
    }
  });

  it("of a section covers its head and its payload", () => {
    for (const length of [0, 1, 5, 600, 100_000]) {
      const payload = u8.slice(base + 16, base + 16 + length);
      x.section_seal(base, 33, 7, length);
      expect(memory.sum(base)).toBe(memory.view.getUint32(base + 12, true));
      expect(memory.sum(base)).toBe(crc32c(crc32c(0, u8.subarray(base, base + 12)), payload));
      expect([memory.view.getUint32(base, true), memory.view.getUint32(base + 4, true), memory.view.getUint32(base + 8, true)]).toEqual([33, 7, length]);
    }
  });

  it("has memory that grows up to a limit", () => {
    const other = new SectionMemory();
    other.reserve(10);
    const { length } = other.u8;
    other.reserve(length);
    expect(other.u8.length).toBeGreaterThanOrEqual(other.base + length);
    expect(() => other.reserve(2 ** 32)).toThrow(/no memory is left for 4294967296 bytes/);
  });
});
