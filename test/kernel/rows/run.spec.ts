import { pool_check } from "../../../assembly/persistence/check";
import { Pool, pool_live } from "../../../assembly/rows/pool";
import { Head } from "../../../assembly/rows/row";
import { NEIGHBOURS, NUMBERED, PIECEWISE, Run, SINGLE } from "../../../assembly/rows/run";
import { Stream, stream_end } from "../../../assembly/rows/stream";
import { Dice } from "../support/dice";
import { openArena, zeroed } from "../support/memory";
import { append, newPool, newStream } from "../support/world";

function steps(s: Stream, count: u32): u32[] {
  const rows: u32[] = [];
  for (let i: u32 = 0; i < count; i++) rows.push(append(s, i));
  return rows;
}

function live(p: Pool): u32 {
  return pool_live(changetype<usize>(p));
}

describe("run", () => {
  beforeEach(() => {
    openArena(1 << 20);
  });

  it("retains and releases each of its rows once", () => {
    const p = newPool();
    const rows = steps(newStream(p, 5), 5);
    for (let length: u32 = 1; length <= 5; length++) {
      expect<u32>(Run.retain(p, rows[0], length)).toBe(NEIGHBOURS);
      for (let i: u32 = 0; i < 5; i++) expect<u32>(Head.of(rows[i]).refs).toBe(i < length ? 2 : 1);
      Run.release(p, rows[0], length);
      for (let i: u32 = 0; i < 5; i++) expect<u32>(Head.of(rows[i]).refs).toBe(1);
    }
  });

  it("frees rows without other holders, which are reused in that order", () => {
    const p = newPool();
    const s = newStream(p, 1);
    const first = append(s, 0);
    Run.retain(p, first, 1);
    for (let i = 1; i < 40; i++) Run.retain(p, append(s, i), 1);
    expect<u32>(live(p)).toBe(40);
    Run.release(p, first, 39);
    expect<u32>(live(p)).toBe(1);
    expect<i32>(pool_check(changetype<usize>(p))).toBe(0);
    expect<u32>(append(s, 41)).toBe(first);
  });

  it("is not plain if it continues in another block", () => {
    const p = newPool();
    const s = newStream(p, p.rows + 2);
    const rows = steps(s, p.rows + 2);
    const border = rows[p.rows - 1];
    expect<u32>(Run.retain(p, border, 1)).toBe(NEIGHBOURS);
    expect<u32>(Run.retain(p, border, 2)).toBe(SINGLE | PIECEWISE | NUMBERED);
    expect<u32>(Run.retain(p, border - 1, 3)).toBe(SINGLE | PIECEWISE | NUMBERED);
    expect<u32>(Run.retain(p, rows[p.rows], 2)).toBe(NEIGHBOURS);
    Run.release(p, border - 1, 3);
    expect<u32>(Head.of(rows[p.rows]).refs).toBe(3);
  });

  it("lists its rows in pieces, wherever it starts and ends", () => {
    const p = newPool();
    const count = 3 * p.rows + 4;
    const rows = steps(newStream(p, count), count);
    const out = zeroed(4 * count);
    const borders: u32[] = [0, p.rows - 2, p.rows - 1, p.rows, p.rows + 1, 2 * p.rows - 1, 2 * p.rows, 3 * p.rows - 1, 3 * p.rows, count - 1];
    for (let a = 0; a < borders.length; a++) {
      for (let b = a; b < borders.length; b++) {
        for (let c = b; c < borders.length; c++) {
          const n = borders[c] - borders[b] + 1;
          const end = out + ((<usize>n) << 2);
          expect<usize>(Run.pieces(p, rows[borders[a]], borders[b] - borders[a], out, end)).toBe(end);
          for (let i: u32 = 0; i < n; i++) assert(load<u32>(out + ((<usize>i) << 2)) == rows[borders[b] + i], "the rows of the run");
        }
      }
    }
  });

  it("that continues in the middle of a block has the same rows when read in pieces", () => {
    const p = newPool();
    const count = 2 * p.rows + 4;
    const rows = steps(newStream(p, count), count);
    Head.of(rows[p.rows - 1]).next = rows[2 * p.rows - 5];
    const first = rows[p.rows - 3];
    const length: u32 = 3 + 5 + 4;
    expect<u32>(Run.retain(p, first, length)).toBe(SINGLE | PIECEWISE);
    const expected = zeroed(4 * length);
    const out = zeroed(4 * length);
    for (let from: u32 = 0; from < length; from++) {
      const bytes = (<usize>(length - from)) << 2;
      Run.rows(p, first, from, expected, expected + bytes, true);
      expect<usize>(Run.pieces(p, first, from, out, out + bytes)).toBe(out + bytes);
      assert(memory.compare(expected, out, bytes) == 0, "the rows of the run");
    }
  });

  it("skips steps like links do, for adjacent, reused and interleaved rows", () => {
    const dice = new Dice(11);
    for (let round = 0; round < 12; round++) {
      openArena(1 << 20);
      const p = newPool();
      const a = newStream(p, 1);
      const b = newStream(p, 1);
      const held: u32[] = [];
      const count: u32 = 3 * p.rows;
      // Rows that are not held wait in a queue and are reused. If the two streams took turns, the rows are interleaved.
      for (let i: u32 = 0; i < count; i++) {
        append(a, i);
        if (round % 3 == 1 && dice.below(4) == 0) append(b, i);
        if (round % 3 == 2 && i % 700 == 5) append(b, i);
      }
      append(a, 0);
      const first = a.last;
      const length: u32 = p.rows + 1 + dice.below(2 * p.rows);
      p.retain(first);
      held.push(first);
      for (let i: u32 = 1; i < length; i++) {
        if (round % 3 == 1 && dice.below(20) == 0) append(b, i);
        append(a, i);
        p.retain(a.last);
        held.push(a.last);
      }
      const kind = Run.retain(p, first, length);
      expect<i32>(pool_check(changetype<usize>(p))).toBe(0);
      for (let k = 0; k < 200; k++) {
        const from = dice.below(length);
        const n = dice.below(length - from);
        expect<u32>(Run.skip(p, held[from], n, k == 0 ? 0 : kind)).toBe(held[from + n]);
        expect<u32>(Run.skip(p, held[from], n, 0)).toBe(held[from + n]);
      }
    }
  });

  it("is not piecewise if another stream has rows in between", () => {
    const p = newPool();
    const a = newStream(p, 4);
    const b = newStream(p, 4);
    const first = append(a, 1);
    append(b, 1);
    append(a, 2);
    expect<u32>(Run.retain(p, first, 2)).toBe(SINGLE);
  });

  it("is neither plain nor single if an episode ends inside it, but may end with one", () => {
    const p = newPool();
    const s = newStream(p, 8);
    const a = append(s, 1);
    const b = append(s, 2);
    stream_end(changetype<usize>(s), 1);
    append(s, 3);
    expect<u32>(Run.retain(p, a, 2)).toBe(NEIGHBOURS);
    expect<u32>(Run.retain(p, a, 3)).toBe(0);
    expect<u32>(Run.retain(p, b, 1)).toBe(NEIGHBOURS);
  });

  it("releaseMany releases overlapping runs as single releases do", () => {
    for (let items: u32 = 1; items <= 9; items++) {
      for (let length: u32 = 1; length <= 6; length++) {
        openArena(1 << 20);
        const p = newPool();
        const s = newStream(p, 20);
        const rows = steps(s, items + length + 3);
        for (let i: u32 = 0; i < items; i++) Run.retain(p, rows[1 + i], length);
        // An additional hold in the middle shows which rows remain.
        Run.retain(p, rows[2], 1);
        Run.releaseMany(p, rows[1], items, length);
        for (let i = 0; i < rows.length; i++) assert(Head.of(rows[i]).refs == (i == 2 ? 2 : 1), "held by the stream, and once by us");
      }
    }
    openArena(1 << 20);
    const p = newPool();
    const s = newStream(p, 1);
    const first = append(s, 0);
    for (let i = 1; i < 10; i++) {
      Run.retain(p, s.last, 1);
      append(s, i);
      Run.retain(p, s.last - 1, 2);
      Run.release(p, s.last - 1, 1);
    }
    // Each of rows 0 … 9 belongs to two runs of two rows: the run that ends with it and the run that begins with it.
    expect<u32>(live(p)).toBe(10);
    Run.releaseMany(p, first, 9, 2);
    expect<u32>(live(p)).toBe(1, "the stream's");
    expect<i32>(pool_check(changetype<usize>(p))).toBe(0);
  });

  throws(
    "asserts that a run is linked to its end",
    () => {
      const p = newPool();
      const rows = steps(newStream(p, 5), 3);
      Run.retain(p, rows[1], 3);
    },
    "retaining 3 rows where 2 are linked",
  );
});
