/** Compares the encoding and decoding of Snappy blocks with another library. */
import fc from "fast-check";
import { snappyUncompress } from "hyparquet";
import { describe, expect, it } from "vitest";
import { codeOf } from "../../../src/base/error.ts";
import { compress, uncompress } from "../../../src/reverb/tensors/snappy.ts";
import { TestRandom } from "../../support/random.ts";
import { scaled } from "../../support/size.ts";

const hex = (content: Uint8Array) => Buffer.from(content).toString("hex");

/** Returns random bytes with near and far repetitions. */
function bytesOf(random: TestRandom, length: number, letters: number): Uint8Array {
  const bytes = new Uint8Array(length);
  for (let at = 0; at < length; ) {
    const again = random.below(1 + at);
    const run = 1 + random.below(random.pick([3, 20, 300]));
    const isCopy = random.below(2) === 0 && at > 0;
    for (let i = 0; i < run && at < length; i++, at++) bytes[at] = isCopy ? (bytes[again + i] as number) : random.below(letters);
  }
  return bytes;
}

/** Decodes a block with the other library. */
function twin(block: Uint8Array, size: number): Uint8Array {
  const out = new Uint8Array(size);
  snappyUncompress(block, out);
  return out;
}

it("uncompress and another library restore compressed bytes", () => {
  const random = new TestRandom(1);
  for (let i = scaled(1500); i > 0; i--) {
    const bytes = bytesOf(random, random.below(random.pick([20, 300, 5000, 200_000])), random.pick([1, 2, 256]));
    const block = compress(bytes);
    expect(block.length).toBeLessThanOrEqual(bytes.length + bytes.length / 6 + 32);
    expect(hex(uncompress(block, bytes.length))).toBe(hex(bytes));
    if (bytes.length > 0) expect(hex(twin(block, bytes.length))).toBe(hex(bytes));
  }
});

it("compressed blocks do not change while others are compressed", () => {
  const random = new TestRandom(5);
  const all = Array.from({ length: 2000 }, () => bytesOf(random, random.below(random.pick([4, 300, 3000])), random.pick([2, 256])));
  const blocks = all.map(compress);
  expect(blocks.every((block, i) => hex(uncompress(block, (all[i] as Uint8Array).length)) === hex(all[i] as Uint8Array))).toBe(true);
});

it("uncompress restores the arrays of a property test", () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 400 }), (bytes) => {
      expect(uncompress(compress(bytes), bytes.length)).toEqual(bytes);
    }),
    { numRuns: scaled(1000) },
  );
});

it("repetitive bytes shrink, and random bytes grow by only a few bytes", () => {
  expect(compress(new Uint8Array(100_000)).length).toBeLessThan(5000);
  const random = new TestRandom(2);
  const noise = Uint8Array.from({ length: 100_000 }, () => random.below(256));
  expect(compress(noise).length).toBeLessThan(100_050);
});

describe("tags that compress never writes", () => {
  it("uncompress reads copies with 4-byte offsets, and literals with 3-byte and 4-byte lengths", () => {
    expect(hex(uncompress(Uint8Array.of(8, 12, 1, 2, 3, 4, (3 << 2) | 3, 4, 0, 0, 0), 8))).toBe("0102030401020304");
    expect(hex(uncompress(Uint8Array.of(2, 62 << 2, 1, 0, 0, 7, 8), 2))).toBe("0708");
    expect(hex(uncompress(Uint8Array.of(2, 63 << 2, 1, 0, 0, 0, 7, 8), 2))).toBe("0708");
  });
});

it("damaged blocks throw CORRUPT, or unpack to the same number of bytes", () => {
  const random = new TestRandom(3);
  let refused = 0;
  for (let i = scaled(5000); i > 0; i--) {
    const bytes = bytesOf(random, 1 + random.below(300), 3);
    const block = compress(bytes);
    const mutant = random.below(3) === 0 ? block.slice(0, random.below(block.length)) : block.slice();
    if (mutant.length > 0) mutant[random.below(mutant.length)] = random.below(256);
    try {
      if (uncompress(mutant, bytes.length).length !== bytes.length) throw new Error("another length");
    } catch (error) {
      if (codeOf(error) !== "CORRUPT") throw error;
      refused++;
    }
  }
  expect(refused).toBeGreaterThan(scaled(5000) / 4);
});

it("a length that the block cannot contain throws", () => {
  expect(() => uncompress(Uint8Array.of(0xff, 0xff, 0xff, 0xff, 0x0f, 0), 2 ** 32 - 1)).toThrow("6 bytes cannot unpack to 4294967295 bytes");
});
