import {
  Draw,
  draw_bytes,
  draw_column,
  draw_init,
  KEY,
  LENGTH,
  NEAR_BYTES,
  SLOT,
  STEPS,
  TABLE_SIZE,
  TERMINATED,
  TIMES_SAMPLED,
  TRUNCATED,
} from "../../../assembly/draw/draw";
import { gather, gather_runs } from "../../../assembly/draw/gather";
import { Output } from "../../../assembly/draw/output";
import { draw_rows, OF_ITEMS } from "../../../assembly/draw/row-matrix";
import { WIDE } from "../../../assembly/rows/leaf";
import { Pool } from "../../../assembly/rows/pool";
import { Run } from "../../../assembly/rows/run";
import { Stream, stream_end } from "../../../assembly/rows/stream";
import { UNIFORM } from "../../../assembly/selectors/kinds";
import { insertItem, Table } from "../../../assembly/tables/table";
import { openArena, zeroed } from "../support/memory";
import { append, NUMBER, newDraw, newPool, newStream, newTable } from "../support/world";

const out: usize = memory.data(4096, 16);
const output: usize = memory.data(20, 16);
let pool: usize = 0;

/** Returns a table of items. Item i has the steps 10 i, 10 i + 1, …; `lengths` has the number of steps of each item. */
function tableOf(p: Pool, lengths: u32[]): Table {
  pool = changetype<usize>(p);
  const t = newTable(p, 16, 0, UNIFORM, 1);
  for (let i = 0; i < lengths.length; i++) {
    const s = newStream(p, 16);
    for (let k: u32 = 0; k < lengths[i]; k++) append(s, 10 * i + k);
    insert(t, s, lengths[i]);
  }
  return t;
}

function insert(t: Table, s: Stream, length: u32): void {
  const first = s.firstOf(length);
  assert(insertItem(t, first, length, Run.retain(t.rows(), first, length), 0, 1) == 1, "it is in");
}

/** Draws all items with windows, in order of insertion. */
function drawAll(t: Table, width: u32, from: u32, cross: bool = false): Draw {
  const d = newDraw(16, 16);
  d.count = t.count;
  for (let i: u32 = 0; i < d.count; i++) store<u32>(d.u32At(SLOT, i), i + 1);
  draw_rows(changetype<usize>(d), OF_ITEMS, changetype<usize>(t), d.count, width, from + (cross ? 4 : 0));
  return d;
}

/** Gathers the numbers of `count` steps of each item: step `start` and every `step`-th step after it. Padding is -1. */
function numbers(d: Draw, start: i32, count: u32, step: i32): i32[] {
  const list: i32[] = [];
  for (let k: u32 = 0; k < count; k++) list.push(start + <i32>k * step);
  return listed(d, list);
}

/** Returns the address of an output that gathers the number leaf at these steps. */
function outputOf(steps: i32[]): usize {
  const o = changetype<Output>(output);
  o.leaf = NUMBER;
  o.steps = <u32>steps.dataStart;
  o.count = steps.length;
  o.each = 0;
  o.to = <u32>out;
  return output;
}

/** Gathers the numbers of the listed steps of each item. Padding is -1. */
function listed(d: Draw, list: i32[]): i32[] {
  const at = changetype<usize>(d);
  const count = <u32>list.length;
  gather(at, pool, outputOf(list), 1);
  const values: i32[] = [];
  for (let i: usize = 0; i < <usize>(d.count * count); i++) {
    const value = load<i32>(out + (i << 2));
    const there = load<u32>(<usize>d.selected + (i << 2)) != 0;
    assert(there || value == 0, "padding reads as zeros");
    values.push(there ? value : -1);
  }
  return values;
}

function equal(got: i32[], want: i32[]): void {
  expect<i32>(got.length).toBe(want.length);
  for (let i = 0; i < want.length; i++) expect<i32>(got[i]).toBe(want[i], `entry ${i}`);
}

describe("draw", () => {
  beforeEach(() => {
    openArena(1 << 20);
  });

  it("has aligned columns that do not overlap, at every capacity up to 40", () => {
    for (let capacity: u32 = 1; capacity <= 40; capacity++) {
      openArena(1 << 20);
      const draw = zeroed(draw_bytes(capacity) + 36);
      draw_init(draw, capacity, 3);
      let end = <u32>draw + 72;
      for (let which = KEY; which <= TRUNCATED; which++) {
        const at = draw_column(draw, which);
        const width: u32 =
          which == TERMINATED || which == TRUNCATED ? 1 : which == TIMES_SAMPLED || which == TABLE_SIZE || which == LENGTH || which == STEPS ? 4 : 8;
        assert(at >= end && at % 16 == 0, "behind the one before, for v128");
        end = at + capacity * width;
      }
      const d = changetype<Draw>(draw);
      assert(d.rows >= end && d.rows % 16 == 0, "then the rows");
      expect<u32>(d.selected).toBe(d.rows + 12);
      expect<u32>(d.addresses).toBe(d.selected + 12);
      assert(d.prefetched >= <usize>(d.addresses + 12) && d.prefetched % 16 == 0, "then copies of rows");
      assert(d.prefetched + NEAR_BYTES <= draw + <usize>draw_bytes(capacity) + 36, "and nothing behind");
    }
  });

  it("reads windows from the start of an item, padded if the item is shorter", () => {
    const t = tableOf(newPool(), [1, 3, 5]);
    const d = drawAll(t, 3, 0);
    expect<u32>(load<u32>(d.u32At(LENGTH, 0))).toBe(1);
    expect<u32>(load<u32>(d.u32At(LENGTH, 2))).toBe(3);
    equal(numbers(d, 0, 3, 1), [0, -1, -1, 10, 11, 12, 20, 21, 22]);
  });

  it("reads windows from the end of an item", () => {
    equal(numbers(drawAll(tableOf(newPool(), [1, 3, 5]), 3, 1), 0, 3, 1), [0, -1, -1, 10, 11, 12, 22, 23, 24]);
  });

  it("reads windows at random starts, each start equally often", () => {
    const t = tableOf(newPool(), [5]);
    const counts = new StaticArray<u32>(5);
    const d = newDraw(1, 3);
    d.count = 1;
    store<u32>(d.u32At(SLOT, 0), 1);
    for (let i = 0; i < 3000; i++) {
      draw_rows(changetype<usize>(d), OF_ITEMS, changetype<usize>(t), 1, 3, 2);
      counts[numbers(d, 0, 1, 1)[0]] += 1;
    }
    for (let start = 0; start < 3; start++) expect<u32>(counts[start]).toBeGreaterThan(900);
    expect<u32>(counts[3] + counts[4]).toBe(0);
  });

  it("selects rows by start, count and step from either end, and pads rows outside", () => {
    const d = drawAll(tableOf(newPool(), [4, 2]), 4, 0);
    equal(numbers(d, 1, 2, 1), [1, 2, 11, -1]);
    equal(numbers(d, -1, 1, 1), [3, 11]);
    equal(numbers(d, -2, 2, 1), [2, 3, 10, 11]);
    equal(numbers(d, 0, 2, 3), [0, 3, 10, -1]);
    equal(numbers(d, 3, 2, -1), [3, 2, -1, -1]);
    equal(numbers(d, 9, 1, 1), [-1, -1]);
  });

  it("selects listed rows in any order, with repeats and from either end, and pads rows outside", () => {
    const d = drawAll(tableOf(newPool(), [4, 2]), 4, 0);
    equal(listed(d, [2, 0, 2]), [2, 0, 2, -1, 10, -1]);
    equal(listed(d, [-1, 0, -4]), [3, 0, 0, 11, 10, -1]);
    equal(listed(d, [-5, 4, 1]), [-1, -1, 1, -1, -1, 11]);
    store<u32>(d.u32At(STEPS, 0), 3);
    store<u32>(d.u32At(STEPS, 1), 1);
    equal(listed(d, [i32.MAX_VALUE, 0]), [3, 0, 11, 10]);
  });

  it("stops at the end of an episode unless it may cross episodes", () => {
    const p = newPool();
    const t = tableOf(p, []);
    const s = newStream(p, 8);
    append(s, 1);
    append(s, 2);
    stream_end(changetype<usize>(s), 1);
    append(s, 3);
    insert(t, s, 3);
    equal(numbers(drawAll(t, 3, 0), 0, 3, 1), [1, 2, -1]);
    equal(numbers(drawAll(t, 3, 0, true), 0, 3, 1), [1, 2, 3]);
    equal(numbers(drawAll(t, 2, 1), 0, 2, 1), [2, -1]);
  });

  it("follows links from block to block", () => {
    const p = newPool();
    const t = tableOf(p, []);
    const s = newStream(p, 4);
    for (let i: u32 = 0; i < p.rows + 2; i++) append(s, i);
    insert(t, s, 4);
    const rows = <i32>p.rows;
    equal(numbers(drawAll(t, 4, 0), 0, 4, 1), [rows - 2, rows - 1, rows, rows + 1]);
    equal(numbers(drawAll(t, 2, 1), 0, 2, 1), [rows, rows + 1]);
  });

  it("lists runs of adjacent rows for the host to copy", () => {
    const t = tableOf(newPool(), [3, 1]);
    const d = drawAll(t, 3, 0);
    // Simulates a leaf with a separate column.
    const leaf = changetype<Pool>(pool).leaf(NUMBER);
    const bytes = leaf.step;
    leaf.kind = WIDE;
    leaf.bytes = bytes;
    expect<u32>(gather_runs(changetype<usize>(d), pool, outputOf([0, 1, 2]), 1, 0, out, 0, 0)).toBe(2, "steps 0 1 2 and 10, then padding: rows are neighbours");
    expect<u32>(load<u32>(out, 4)).toBe(4 * bytes);
    expect<i32>(load<i32>(load<u32>(out))).toBe(0);
    expect<u32>(load<u32>(out, 16)).toBe(0);
    expect<u32>(load<u32>(out, 20)).toBe(2 * bytes);
    expect<u32>(load<u32>(out, 28)).toBe(4 * bytes);
  });
});
