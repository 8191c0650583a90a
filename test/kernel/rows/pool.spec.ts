import { E_OUT_OF_MEMORY } from "../../../assembly/memory/error";
import { BLOCK_BYTES, GRANULE, header } from "../../../assembly/memory/layout";
import { pool_check } from "../../../assembly/persistence/check";
import { pool_room } from "../../../assembly/rows/block-size";
import { NARROW, SHARED, WIDE } from "../../../assembly/rows/leaf";
import { Pool, pool_bytes, pool_init, pool_leaf, pool_live, pool_open, reserveRows, rowOf } from "../../../assembly/rows/pool";
import { HEAD_BYTES, Head, PLACE } from "../../../assembly/rows/row";
import { Dice } from "../support/dice";
import { arena_left, error_code, openArena, zeroed } from "../support/memory";
import { newPool } from "../support/world";

const U8: u32 = 2;

/** Returns a pool with one leaf of `bytes` bytes. */
function poolOf(kind: u32, bytes: u32): Pool {
  const at = zeroed(pool_bytes(1));
  pool_init(at, kind == WIDE ? 0 : bytes, 1);
  pool_leaf(at, 0, kind, U8, bytes, 0, 0, 1, 0);
  pool_open(at);
  return changetype<Pool>(at);
}

function check(p: Pool): i32 {
  return pool_check(changetype<usize>(p));
}

describe("pool", () => {
  beforeEach(() => {
    openArena(8 << 20);
  });

  it("limits blocks to 64 KiB, with at least one row each", () => {
    const sizes: u32[] = [1, 2, 8, 16, 52, 1000, 4096, 40000, 65500, 65508, 65536, 300000];
    for (let i = 0; i < sizes.length; i++) {
      for (let kind: u32 = NARROW; kind <= WIDE; kind++) {
        const p = poolOf(kind, sizes[i]);
        assert(p.rows >= 1 && p.rows <= PLACE + 1, "rows");
        assert(p.rows == 1 || p.blockBytes <= BLOCK_BYTES, "a block");
        assert(p.rowsAt % 16 == 0 && p.rowsAt >= p.rows * HEAD_BYTES + 4, "heads, then bytes");
        assert(p.blockBytes >= p.rows * (HEAD_BYTES + sizes[i]), "room for all");
        const each = HEAD_BYTES + sizes[i];
        assert(p.rows == 1 || (p.rows + 2) * each > min(BLOCK_BYTES, (PLACE + 1) * each) - GRANULE, "as many as fit, or as fit into a granule less");
      }
    }
    expect<u32>(poolOf(WIDE, 300000).rows).toBe(1);
    expect<u32>(poolOf(NARROW, 4).rows).toBe(1022);
    expect<u32>(poolOf(NARROW, 8).rows).toBe(1022);
  });

  it("adds at most about a hundredth of a small row's bytes to the row and its HEAD", () => {
    for (let bytes: u32 = 4; bytes <= 80; bytes += 4) {
      const p = poolOf(NARROW, bytes);
      const block = (p.blockBytes + GRANULE - 1) & ~(GRANULE - 1);
      assert(<f64>block / <f64>p.rows - <f64>(HEAD_BYTES + bytes) <= 0.01 * <f64>bytes + 0.05, "no granule for the block's place alone");
    }
  });

  it("takes the bytes that pool_room returned", () => {
    for (let bytes: u32 = 1; bytes < 40000; bytes += 1 + (bytes >> 2)) {
      for (let changes: u32 = 0; changes <= 1; changes++) {
        openArena(8 << 20);
        header().tracking = changes;
        const p = poolOf(NARROW, bytes);
        // Creates the directory of the pool.
        reserveRows(p, 1);
        const left = arena_left() + pool_room(HEAD_BYTES + bytes, 1);
        for (let rows: u32 = 1; rows * (bytes + 24) < 6000000; rows = rows * 2 + 1) {
          assert(reserveRows(p, rows), "there is room");
          expect<f64>(left - arena_left()).toBe(pool_room(HEAD_BYTES + bytes, rows));
        }
      }
    }
    header().tracking = 0;
  });

  it("stores separate bytes for each row, across blocks", () => {
    const p = newPool();
    const count: u32 = 2 * p.rows + 3;
    expect<bool>(reserveRows(p, count)).toBe(true);
    expect<u32>(p.blocks).toBe(3);
    for (let i: u32 = 0; i < count; i++) {
      const row = p.take();
      memory.fill(p.bytes(row), <u8>(i % 251), p.rowBytes);
    }
    for (let i: u32 = 0; i < count; i++) {
      const row = rowOf(p, i + 1);
      for (let k: usize = 0; k < p.rowBytes; k++) assert(load<u8>(p.bytes(row) + k) == <u8>(i % 251), "a row's bytes");
      assert(Head.of(row).refs == 1 && Head.of(row).next == 0, "a new row is held once and linked to nothing");
    }
    expect<u32>(rowOf(p, p.rows + 1) & PLACE).toBe(0, "the first row of the second block");
    expect<u32>(rowOf(p, p.capacity + 1)).toBe(0);
    expect<u32>(rowOf(p, 0)).toBe(0);
    expect<i32>(check(p)).toBe(0);
    expect<u32>(pool_live(changetype<usize>(p))).toBe(count);
  });

  it("never returns a row that is held, in lockstep with counts", () => {
    const dice = new Dice(12);
    const p = poolOf(NARROW, 8000);
    const rows: u32[] = [];
    const counts: u32[] = [];
    for (let i = 0; i < 6000; i++) {
      const kind = dice.below(5);
      if (rows.length == 0 || kind < 2) {
        assert(reserveRows(p, 1), "room");
        const row = p.take();
        assert(rows.indexOf(row) < 0, "nobody held it");
        rows.push(row);
        counts.push(1);
      } else {
        const k = dice.below(rows.length);
        if (kind == 2) {
          p.retain(rows[k]);
          counts[k] += 1;
        } else {
          p.release(rows[k]);
          counts[k] -= 1;
          if (counts[k] == 0) {
            rows.splice(k, 1);
            counts.splice(k, 1);
          }
        }
      }
      for (let k = 0; k < rows.length; k++) assert(Head.of(rows[k]).refs == counts[k], "refs");
      assert(pool_live(changetype<usize>(p)) == <u32>rows.length, "live");
      assert(check(p) == 0, "pool_check");
    }
    expect<u32>(p.blocks).toBeGreaterThan(1);
    expect<i32>(check(p)).toBe(0);
  });

  it("takes adjacent rows of one block at a time", () => {
    const p = newPool();
    reserveRows(p, 2 * p.rows);
    p.take();
    expect<u32>(p.takeMany(1 << 20)).toBe(rowOf(p, 2));
    expect<u32>(p.live()).toBe(p.rows, "the rest of the first block");
    const row = p.takeMany(5);
    expect<u32>(row).toBe(rowOf(p, p.rows + 1));
    expect<u32>(p.live()).toBe(p.rows + 5);
    expect<u32>(p.takeMany(1)).toBe(row + 5);
  });

  it("reuses freed rows before it allocates memory", () => {
    const p = poolOf(NARROW, 1000);
    reserveRows(p, 1);
    for (let i: u32 = 0; i < p.capacity; i++) p.take();
    const left = arena_left();
    for (let round = 0; round < 5; round++) {
      for (let i: u32 = 1; i <= p.capacity; i++) p.release(rowOf(p, i));
      expect<u32>(pool_live(changetype<usize>(p))).toBe(0);
      expect<bool>(reserveRows(p, p.capacity)).toBe(true);
      for (let i: u32 = 1; i <= p.capacity; i++) assert(p.take() == rowOf(p, i), "oldest freed first");
    }
    expect<f64>(arena_left()).toBe(left);
    expect<i32>(check(p)).toBe(0);
  });

  it("is unchanged if memory is full", () => {
    openArena(3 * BLOCK_BYTES);
    const p = newPool();
    expect<bool>(reserveRows(p, 1)).toBe(true);
    const capacity = p.capacity;
    expect<bool>(reserveRows(p, 1 << 20)).toBe(false);
    expect<i32>(error_code()).toBe(E_OUT_OF_MEMORY);
    expect<u32>(p.high).toBe(0);
    expect<u32>(p.capacity).toBeGreaterThanOrEqual(capacity);
    for (let i: u32 = 0; i < p.capacity; i++) p.take();
    expect<i32>(check(p)).toBe(0);
    expect<bool>(reserveRows(p, 1)).toBe(false);
  });

  it("releases the frames of a released row", () => {
    const frames = poolOf(NARROW, 32);
    const at = zeroed(pool_bytes(1));
    pool_init(at, 8, 1);
    pool_leaf(at, 0, SHARED, U8, 32, 0, 0, 2, <u32>changetype<usize>(frames));
    pool_open(at);
    const p = changetype<Pool>(at);
    expect<bool>(reserveRows(p, 3)).toBe(true);
    expect<u32>(frames.capacity).toBeGreaterThanOrEqual(6);
    const row = p.take();
    const frame = frames.take();
    frames.retain(frame);
    // Both values are the same frame, as if the picture had not changed.
    store<u32>(p.value(row, p.leaf(0)), frame);
    store<u32>(p.value(row, p.leaf(0)), frame, 4);
    const second = p.take();
    store<u64>(p.value(second, p.leaf(0)), 0);
    p.release(second);
    expect<u32>(pool_live(changetype<usize>(frames))).toBe(1);
    p.release(row);
    expect<u32>(pool_live(changetype<usize>(frames))).toBe(0);
    expect<i32>(check(frames)).toBe(0);
  });

  it("pool_check detects a wrong count", () => {
    const p = newPool();
    reserveRows(p, 3);
    const row = p.take();
    p.take();
    Head.of(row).refs = 0;
    expect<i32>(check(p)).toBe(2);
    Head.of(row).refs = 1;
    p.release(row);
    expect<i32>(check(p)).toBe(0);
    p.high += 1;
    expect<i32>(check(p)).not.toBe(0);
  });
});
