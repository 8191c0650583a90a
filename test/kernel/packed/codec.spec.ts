import { bytesEqual } from "../../../assembly/memory/bytes";
import { decodeBlock, encodeBlock } from "../../../assembly/packed/lz4";
import { applyPatch, encodePatch, isPatch } from "../../../assembly/packed/patch";
import { initWork, workBytes } from "../../../assembly/packed/work";
import { Dice } from "../support/dice";
import { openArena, zeroed } from "../support/memory";

const GUARD: u8 = 0xa5;
/** The number of bytes around the output that reveal writes out of bounds. */
const FENCE: u32 = 64;

/** Paints frames of many kinds: noise, few values, runs, an image with a moving block, or zeros except for some bytes. */
function paint(dice: Dice, kind: u32, at: usize, n: u32): void {
  if (kind == 0) for (let i: u32 = 0; i < n; i++) store<u8>(at + i, <u8>dice.next());
  else if (kind == 1) for (let i: u32 = 0; i < n; i++) store<u8>(at + i, <u8>(dice.below(3) * 80));
  else if (kind == 2) {
    for (let i: u32 = 0; i < n; ) {
      const run = min(1 + dice.below(200), n - i);
      memory.fill(at + i, <u8>dice.next(), run);
      i += run;
    }
  } else if (kind == 3) {
    const pattern: u32 = 1 + dice.below(40);
    for (let i: u32 = 0; i < n; i++) store<u8>(at + i, i < pattern ? <u8>dice.next() : load<u8>(at + i - pattern));
  } else {
    memory.fill(at, 0, n);
    for (let left = dice.below(20); left > 0; left--) store<u8>(at + dice.below(n), <u8>dice.next());
  }
}

const SIZES: u32[] = [256, 257, 259, 263, 264, 300, 511, 512, 513, 1000, 1024, 4099, 7056, 66000];

describe("packed/patch", () => {
  beforeEach(() => {
    openArena(8 << 20);
  });

  it("turns one frame into another of any size, and writes nothing outside it", () => {
    const dice = new Dice(1);
    for (let k = 0; k < SIZES.length; k++) {
      const n = SIZES[k];
      openArena(8 << 20);
      const work = zeroed(workBytes(n));
      initWork(work);
      const a = zeroed(n);
      const b = zeroed(n);
      const patch = zeroed(2 * n + 1024);
      const out = zeroed(n + 2 * FENCE);
      for (let round: u32 = 0; round < 30; round++) {
        paint(dice, round % 5, b, n);
        memory.copy(a, b, n);
        const changes = round % 3 == 0 ? dice.below(n) : dice.below(12);
        for (let i: u32 = 0; i < changes; i++) store<u8>(a + dice.below(n), <u8>dice.next());
        if (round == 5) store<u8>(a + n - 1, ~load<u8>(b + n - 1));
        const size = encodePatch(work, a, b, n, patch, 2 * n);
        assert(size <= 2 * n, "it fits");
        assert(isPatch(patch, size, n), "it is one");
        assert(!isPatch(patch, size - 1, n), "nor is it one byte shorter");
        assert(!isPatch(patch, size + 1, n), "or longer");
        memory.fill(out, GUARD, n + 2 * FENCE);
        memory.copy(out + FENCE, b, n);
        applyPatch(work, patch, n, out + FENCE);
        assert(bytesEqual(out + FENCE, a, n), "the frame");
        for (let i: u32 = 0; i < FENCE; i++) {
          assert(load<u8>(out + i) == GUARD && load<u8>(out + FENCE + n + i) == GUARD, "nothing beside it");
        }
        // With less space there is no result, and the bytes after the block stay unchanged.
        const most = size - 1 - dice.below(size);
        memory.fill(patch, GUARD, 2 * n + 1024);
        assert(encodePatch(work, a, b, n, patch, most) == most + 1, "no room, no patch");
        for (let i: u32 = 16; i < FENCE; i++) assert(load<u8>(patch + most + i) == GUARD, "nothing behind the most");
      }
    }
  });

  it("rejects bytes that would write outside the frame", () => {
    const dice = new Dice(2);
    const n: u32 = 1000;
    const work = zeroed(workBytes(n));
    initWork(work);
    const a = zeroed(n);
    const b = zeroed(n);
    const patch = zeroed(4096);
    const out = zeroed(n + 2 * FENCE);
    let taken: u32 = 0;
    for (let round: u32 = 0; round < 4000; round++) {
      if (round % 50 == 0) paint(dice, dice.below(5), b, n);
      memory.copy(a, b, n);
      for (let i = dice.below(40); i > 0; i--) store<u8>(a + dice.below(n), <u8>dice.next());
      let size = encodePatch(work, a, b, n, patch, 4000);
      for (let i = 1 + dice.below(3); i > 0; i--) store<u8>(patch + dice.below(size + 1), <u8>dice.next());
      if (dice.below(4) == 0) size = dice.below(size + 2);
      if (!isPatch(patch, size, n)) continue;
      taken += 1;
      memory.fill(out, GUARD, n + 2 * FENCE);
      applyPatch(work, patch, n, out + FENCE);
      for (let i: u32 = 0; i < FENCE; i++) {
        assert(load<u8>(out + i) == GUARD && load<u8>(out + FENCE + n + i) == GUARD, "nothing beside it");
      }
    }
    assert(taken > 100, "some were patches all the same");
  });
});

describe("packed/lz4", () => {
  beforeEach(() => {
    openArena(8 << 20);
  });

  it("restores every frame of any size, and writes nothing outside it", () => {
    const dice = new Dice(3);
    for (let k = 0; k < SIZES.length; k++) {
      const n = SIZES[k];
      openArena(8 << 20);
      const work = zeroed(workBytes(n));
      initWork(work);
      const frame = zeroed(n);
      const block = zeroed(2 * n + 1024);
      const out = zeroed(n + 2 * FENCE);
      for (let round: u32 = 0; round < 25; round++) {
        paint(dice, round % 5, frame, n);
        memory.fill(block, GUARD, 2 * n + 1024);
        const row = 1 + dice.below(200);
        const element = 1 + dice.below(4);
        const size = encodeBlock(work, frame, n, row, element, block, 2 * n);
        assert(size <= 2 * n, "it fits");
        assert(load<u8>(block + size) == GUARD || size > n, "nothing behind it");
        memory.fill(out, GUARD, n + 2 * FENCE);
        assert(decodeBlock(work, block, size, out + FENCE, n), "it is a block");
        assert(bytesEqual(out + FENCE, frame, n), "the frame");
        for (let i: u32 = 0; i < FENCE; i++) {
          assert(load<u8>(out + i) == GUARD && load<u8>(out + FENCE + n + i) == GUARD, "nothing beside it");
        }
        assert(!decodeBlock(work, block, size, out + FENCE, n - 1) && !decodeBlock(work, block, size, out + FENCE, n + 1), "of no other size");
        // With less space there is no result, and the bytes after the block stay unchanged.
        const most = size - 1 - dice.below(size >> 1);
        memory.fill(block, GUARD, 2 * n + 1024);
        assert(encodeBlock(work, frame, n, row, element, block, most) > most, "no room, no block");
        for (let i: u32 = 0; i < FENCE; i++) assert(load<u8>(block + most + i) == GUARD, "nothing behind the most");
      }
    }
  });

  it("decodes any bytes without writing outside the frame", () => {
    const dice = new Dice(4);
    const n: u32 = 700;
    const work = zeroed(workBytes(n));
    initWork(work);
    const frame = zeroed(n);
    const block = zeroed(4096);
    const out = zeroed(n + 2 * FENCE);
    let taken: u32 = 0;
    for (let round: u32 = 0; round < 20000; round++) {
      if (round % 20 == 0) paint(dice, dice.below(5), frame, n);
      let size = encodeBlock(work, frame, n, 28, 1, block, 2000);
      for (let i = 1 + dice.below(3); i > 0; i--) store<u8>(block + dice.below(size + 1), <u8>dice.next());
      if (dice.below(4) == 0) size = dice.below(size + 2);
      memory.fill(out, GUARD, n + 2 * FENCE);
      if (decodeBlock(work, block, size, out + FENCE, n)) taken += 1;
      for (let i: u32 = 0; i < FENCE; i++) {
        assert(load<u8>(out + i) == GUARD && load<u8>(out + FENCE + n + i) == GUARD, "nothing beside it");
      }
    }
    assert(taken > 100, "some were blocks all the same");
  });

  it("writes the sequences of a known block", () => {
    const n: u32 = 256;
    const work = zeroed(workBytes(n));
    initWork(work);
    const frame = zeroed(n);
    memory.fill(frame, 7, n);
    const block = zeroed(64);
    // The block is a literal, a match of 250 bytes that repeats the previous byte, and five literals.
    expect<u32>(encodeBlock(work, frame, n, 16, 1, block, 64)).toBe(11);
    const bytes: u8[] = [0x1f, 7, 1, 0, 231, 0x50, 7, 7, 7, 7, 7];
    for (let i = 0; i < bytes.length; i++) expect<u8>(load<u8>(block + i)).toBe(bytes[i]);
  });
});
