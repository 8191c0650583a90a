import { bytesEqual } from "../../../assembly/memory/bytes";
import { E_CORRUPT } from "../../../assembly/memory/error";
import { pool_check } from "../../../assembly/persistence/check";
import { record_load_entries } from "../../../assembly/persistence/entry";
import { record_load_free } from "../../../assembly/persistence/row";
import { copyFrame, frameEquals, takeFrame } from "../../../assembly/rows/frame";
import { ENTRY, PACKED } from "../../../assembly/rows/leaf";
import { CHAIN, packs_init } from "../../../assembly/rows/packed-frame";
import { Entry, packs_bytes } from "../../../assembly/rows/packs";
import { entriesOf, Pool, pool_bytes, pool_init, pool_leaf, pool_open, reserveRows } from "../../../assembly/rows/pool";
import { Head, LINK_ROW } from "../../../assembly/rows/row";
import { Dice } from "../support/dice";
import { arena_left, openArena, zeroed } from "../support/memory";

const U8: u32 = 2;

function poolOf(kind: u32, bytes: u32, packs: usize): Pool {
  const at = zeroed(pool_bytes(1));
  pool_init(at, 0, 1);
  pool_leaf(at, 0, kind, U8, bytes, 0, 0, 1, <u32>packs);
  pool_open(at);
  return changetype<Pool>(at);
}

/** Creates a pool of packed frames. */
function packedPool(frame: u32, row: u32): Pool {
  const packs = zeroed(packs_bytes());
  const entries = poolOf(ENTRY, frame, packs);
  assert(packs_init(packs, frame, row, 1, <u32>changetype<usize>(entries)) == 0, "there is room");
  return poolOf(PACKED, frame, packs);
}

function check(frames: Pool): void {
  assert(pool_check(changetype<usize>(frames)) == 0, "frames");
  expect<i32>(pool_check(changetype<usize>(entriesOf(frames.packed())))).toBe(0, "entries and packs");
}

/** Paints a picture in which something moves, or noise. */
function paint(at: usize, n: u32, dice: Dice, lane: u32, time: u32, noise: bool): void {
  if (noise) {
    for (let i: u32 = 0; i < n; i++) store<u8>(at + i, <u8>dice.next());
    return;
  }
  memory.fill(at, <u8>(20 + lane), n);
  for (let i: u32 = 0; i < 40; i++) store<u8>(at + ((i * 97 + time * 13 + lane) % n), <u8>(time + i));
}

describe("packed frames", () => {
  it("keep their bytes while other frames are added and released", () => {
    const SIZES: u32[] = [256, 1000, 7056, 30000, 70000];
    for (let k = 0; k < SIZES.length; k++) {
      const n = SIZES[k];
      openArena(14 << 20);
      const frames = packedPool(n, 84);
      const packs = frames.packed();
      const most: u32 = min<u32>(120, 1800000 / n);
      // The twin stores the bytes of each frame unpacked.
      const twin = zeroed(most * n);
      const names = new StaticArray<u32>(most);
      const bytes = zeroed(n);
      const out = zeroed(n);
      const dice = new Dice(k);
      let newest: u32 = 0;
      for (let time: u32 = 0; time < 4 * most; time++) {
        // Frames are released in fifo order at first, then at random, and sometimes several at a time.
        const place = time < 2 * most ? time % most : dice.below(most);
        if (names[place] != 0) frames.release(names[place]);
        if (names[place] == newest) newest = 0;
        names[place] = 0;
        if (time % 50 == 49) {
          for (let i: u32 = 0; i < most; i++) {
            if (dice.below(2) == 0 || names[i] == 0) continue;
            frames.release(names[i]);
            names[i] = 0;
          }
          newest = 0;
        }
        check(frames);
        const noise = (time >> 5) % 3 == 2;
        paint(bytes, n, dice, 0, time, noise);
        assert(reserveRows(frames, 1), "there is room");
        const moved = packs.moved;
        const name = takeFrame(frames, bytes, n, newest);
        assert(packs.moved - moved <= packs.packBytes, "a call moves a pack at most");
        names[place] = name;
        memory.copy(twin + place * n, bytes, n);
        newest = name;
        check(frames);
        assert(packs.depthOf(Head.of(name).episode) < CHAIN, "a short chain");
        for (let i: u32 = 0; i < most; i += 1 + dice.below(most / 4)) {
          if (names[i] == 0) continue;
          copyFrame(frames, names[i], n, out);
          assert(bytesEqual(out, twin + i * n, n), "the frame");
          assert(frameEquals(frames, names[i], twin + i * n, n), "the frame, compared");
        }
      }
      for (let i: u32 = 0; i < most; i++) if (names[i] != 0) frames.release(names[i]);
      check(frames);
      expect<u32>(frames.live()).toBe(0);
      expect<u32>(entriesOf(packs).live()).toBe(0, "no entry is left");
      expect<u64>(packs.live).toBe(0);
      assert(packs.taken <= packs.packBytes, "the memory came back");
    }
  });

  it("keep a base that a later frame needs after the base's own frame is released", () => {
    openArena(2 << 20);
    const n: u32 = 1000;
    const frames = packedPool(n, 50);
    const packs = frames.packed();
    const dice = new Dice(1);
    const bytes = zeroed(n);
    const out = zeroed(n);
    let before: u32 = 0;
    let last: u32 = 0;
    for (let time: u32 = 0; time < CHAIN; time++) {
      paint(bytes, n, dice, 0, time, false);
      reserveRows(frames, 1);
      last = takeFrame(frames, bytes, n, before);
      if (before != 0) frames.release(before);
      before = last;
    }
    const depth = packs.depthOf(Head.of(last).episode);
    assert(depth > 2, "a patch");
    expect<u32>(frames.live()).toBe(1);
    expect<u32>(entriesOf(packs).live()).toBe(depth + 1, "its entry, and those that it is made of");
    copyFrame(frames, last, n, out);
    assert(bytesEqual(out, bytes, n), "the frame");
    frames.release(last);
    expect<u32>(entriesOf(packs).live()).toBe(0);
    check(frames);
  });

  it("are stored raw if they do not compress, and are tried less and less often", () => {
    openArena(8 << 20);
    const n: u32 = 7056;
    const frames = packedPool(n, 84);
    const packs = frames.packed();
    const dice = new Dice(2);
    const bytes = zeroed(n);
    let before: u32 = 0;
    for (let time: u32 = 0; time < 100; time++) {
      paint(bytes, n, dice, 0, time, true);
      reserveRows(frames, 1);
      before = takeFrame(frames, bytes, n, before);
      const entry = Head.of(before).episode;
      assert(packs.isRaw(entry) && (Head.of(entry).next & LINK_ROW) == 0, "as it is");
      expect<u32>(Entry.of(entry).depth).toBe(time < 15 ? time + 1 : 4 + ((time - 15) % 12));
    }
    expect<u64>(packs.live).toBe(100 * 7064);
    assert(packs.taken <= 13 * 57344, "eight a pack, which leaves less unused than nine");
    // A compressible picture ends the series at the next attempt.
    let packed: bool = false;
    for (let time: u32 = 0; time < 12 && !packed; time++) {
      paint(bytes, n, dice, 0, time, false);
      reserveRows(frames, 1);
      before = takeFrame(frames, bytes, n, before);
      packed = !packs.isRaw(Head.of(before).episode);
    }
    assert(packed, "it was tried again");
  });

  it("reject a frame if memory is full, and change nothing", () => {
    openArena(640 << 10);
    const n: u32 = 7056;
    const frames = packedPool(n, 84);
    const packs = frames.packed();
    const dice = new Dice(3);
    const bytes = zeroed(n);
    let taken: u32 = 0;
    while (reserveRows(frames, 1)) {
      paint(bytes, n, dice, 0, taken, true);
      takeFrame(frames, bytes, n, 0);
      taken += 1;
    }
    assert(taken > 20, "some found room");
    expect<u32>(frames.live()).toBe(taken);
    expect<u64>(packs.live).toBe(<u64>taken * 7064);
    check(frames);
    assert(!reserveRows(frames, 1), "still none");
    assert(arena_left() < 80000, "for lack of memory alone");
  });

  it("are not loaded into rows that are queued as free", () => {
    openArena(1 << 20);
    const entries = changetype<usize>(entriesOf(packedPool(256, 16).packed()));
    // Rows 1 and 3 are separate runs.
    const runs = zeroed(16);
    for (let i: u32 = 0; i < 4; i++) store<u32>(runs + (i << 2), i == 2 ? 3 : 1);
    expect<i32>(record_load_free(entries, 2, runs)).toBe(0);
    const record = zeroed(12 + 256);
    store<u32>(record, 256 | (1 << 24), 8);
    for (let number: u32 = 1; number <= 4; number++) {
      store<u32>(record, number);
      expect<i32>(record_load_entries(entries, 12 + 256, record, 0, 0)).toBe(number % 2 == 1 ? E_CORRUPT : 0);
    }
  });
});
