import { pool_check } from "../../../assembly/record/check";
import { Pool, pool_live } from "../../../assembly/rows/pool";
import { Head } from "../../../assembly/rows/row";
import { PLAIN, Run, SINGLE } from "../../../assembly/rows/run";
import { Stream, stream_end } from "../../../assembly/rows/stream";
import { openArena } from "../support/memory";
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

  it("holds and lets go each of its rows once", () => {
    const p = newPool();
    const rows = steps(newStream(p, 5), 5);
    for (let length: u32 = 1; length <= 5; length++) {
      expect<u32>(Run.retain(rows[0], length)).toBe(PLAIN | SINGLE);
      for (let i: u32 = 0; i < 5; i++) expect<u32>(Head.of(rows[i]).refs).toBe(i < length ? 2 : 1);
      Run.release(p, rows[0], length);
      for (let i: u32 = 0; i < 5; i++) expect<u32>(Head.of(rows[i]).refs).toBe(1);
    }
  });

  it("frees rows that nobody else holds, and they are taken again in that order", () => {
    const p = newPool();
    const s = newStream(p, 1);
    const first = append(s, 0);
    Run.retain(first, 1);
    for (let i = 1; i < 40; i++) Run.retain(append(s, i), 1);
    expect<u32>(live(p)).toBe(40);
    Run.release(p, first, 39);
    expect<u32>(live(p)).toBe(1);
    expect<i32>(pool_check(changetype<usize>(p))).toBe(0);
    expect<u32>(append(s, 41)).toBe(first);
  });

  it("is not plain where it goes on in another block", () => {
    const p = newPool();
    const s = newStream(p, p.rows + 2);
    const rows = steps(s, p.rows + 2);
    const border = rows[p.rows - 1];
    expect<u32>(Run.retain(border, 1)).toBe(PLAIN | SINGLE);
    expect<u32>(Run.retain(border, 2)).toBe(SINGLE);
    expect<u32>(Run.retain(border - 1, 3)).toBe(SINGLE);
    expect<u32>(Run.retain(rows[p.rows], 2)).toBe(PLAIN | SINGLE);
    Run.release(p, border - 1, 3);
    expect<u32>(Head.of(rows[p.rows]).refs).toBe(3);
  });

  it("is neither plain nor single where an episode ends inside it, but may end with one", () => {
    const p = newPool();
    const s = newStream(p, 8);
    const a = append(s, 1);
    const b = append(s, 2);
    stream_end(changetype<usize>(s), 1);
    append(s, 3);
    expect<u32>(Run.retain(a, 2)).toBe(PLAIN | SINGLE);
    expect<u32>(Run.retain(a, 3)).toBe(0);
    expect<u32>(Run.retain(b, 1)).toBe(PLAIN | SINGLE);
  });

  it("lets go of overlapping runs at once as it does one by one", () => {
    for (let items: u32 = 1; items <= 9; items++) {
      for (let length: u32 = 1; length <= 6; length++) {
        openArena(1 << 20);
        const p = newPool();
        const s = newStream(p, 20);
        const rows = steps(s, items + length + 3);
        for (let i: u32 = 0; i < items; i++) Run.retain(rows[1 + i], length);
        // One more hold in the middle, to see what is left.
        Run.retain(rows[2], 1);
        Run.releaseMany(p, rows[1], items, length);
        for (let i = 0; i < rows.length; i++) assert(Head.of(rows[i]).refs == (i == 2 ? 2 : 1), "held by the stream, and once by us");
      }
    }
    openArena(1 << 20);
    const p = newPool();
    const s = newStream(p, 1);
    const first = append(s, 0);
    for (let i = 1; i < 10; i++) {
      Run.retain(s.last, 1);
      append(s, i);
      Run.retain(s.last - 1, 2);
      Run.release(p, s.last - 1, 1);
    }
    // Rows 0 … 9 are each in the run of two that ends with them and that begins with them.
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
      Run.retain(rows[1], 3);
    },
    "retaining 3 rows where 2 are linked",
  );
});
