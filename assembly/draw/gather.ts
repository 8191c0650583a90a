/** Gather: the bytes of a draw's rows, leaf by leaf, each into one contiguous run. */
import { Bytes, copyBytes } from "../memory/bytes";
import { ZEROS_AT } from "../memory/layout";
import { Leaf, NARROW, SHARED } from "../rows/leaf";
import { Pool } from "../rows/pool";
import { Draw, LENGTH, STEPS } from "./draw";

/** In the place of a step's number: the step where the n-step return ends. */
const BOOTSTRAP: i32 = i32.MAX_VALUE;

/**
 * O(entries × count): chooses, for one output column, rows of each entry's window, by a list of `count` steps (i32 each) in any order; negative ones
 * count from the window's end. What is outside the window is padding. All that `gather_leaf` reads until the next call. `each`: from an entry's list to the next one's; 0
 * where all have the same.
 */
export function gather_select(draw: usize, pool: usize, steps: usize, count: u32, each: u32): void {
  const d = changetype<Draw>(draw);
  const p = changetype<Pool>(pool);
  d.chosen = count;
  const rows = <usize>d.rows;
  let to = 0 as usize;
  if (count == 1 && each == 0) return selectOne(d, p, load<i32>(steps));
  for (let i: u32 = 0; i < d.count; i++, steps += (<usize>each) << 2) {
    const length = <i32>load<u32>(d.u32At(LENGTH, i));
    const window = rows + <usize>((i * d.width) << 2);
    for (let k: u32 = 0; k < count; k++) {
      let at = load<i32>(steps + ((<usize>k) << 2));
      if (at < 0) at += length;
      else if (at == BOOTSTRAP) at = <i32>(load<u32>(d.u32At(STEPS, i)) - d.own);
      const n = at >= 0 && at < length ? load<u32>(window + ((<usize>at) << 2)) : 0;
      store<u32>(<usize>d.selected + to, n);
      store<u32>(<usize>d.addresses + to, n == 0 ? 0 : <u32>p.bytes(n));
      to += 4;
    }
  }
  prefetchRows(d, d.count * count);
}

/** The same for one step. */
function selectOne(d: Draw, p: Pool, step: i32): void {
  const bootstraps = step == BOOTSTRAP;
  const lengths = d.column(LENGTH);
  const taken = d.column(STEPS);
  const width = <usize>(d.width << 2);
  let window = <usize>d.rows;
  const end = <usize>(d.count << 2);
  for (let to: usize = 0; to < end; to += 4, window += width) {
    const length = <i32>load<u32>(lengths + to);
    const at = bootstraps ? <i32>(load<u32>(taken + to) - d.own) : step < 0 ? step + length : step;
    const n = <u32>at < <u32>length ? load<u32>(window + ((<usize>at) << 2)) : 0;
    store<u32>(<usize>d.selected + to, n);
    store<u32>(<usize>d.addresses + to, n == 0 ? 0 : <u32>p.bytes(n));
  }
  prefetchRows(d, d.count);
}

/** Reads one byte of each row of which there is an address, so that their cache misses overlap (see prefetchItems). */
export function prefetchRows(d: Draw, count: u32): void {
  let at = <usize>d.addresses;
  const end = at + ((<usize>count) << 2);
  let sum: u32 = 0;
  // By fours: what a turn of the loop costs is felt.
  for (; at + 16 <= end; at += 16) {
    sum ^= load<u8>(load<u32>(at)) ^ load<u8>(load<u32>(at, 4)) ^ load<u8>(load<u32>(at, 8)) ^ load<u8>(load<u32>(at, 12));
  }
  for (; at < end; at += 4) sum ^= load<u8>(load<u32>(at));
  d.prefetched = sum;
}

/** O(bytes): leaf i of every selected row to `out`, one after the other, zeros for padding. */
export function gather_leaf(draw: usize, pool: usize, i: u32, out: usize): void {
  const d = changetype<Draw>(draw);
  const p = changetype<Pool>(pool);
  const leaf = p.leaf(i);
  const count = d.count * d.chosen;
  if (leaf.kind == NARROW) gatherNarrow(d.addresses, count, leaf.at - p.rowsAt, leaf.bytes, out);
  else gatherApart(p, leaf, d.selected, count, out);
}

/**
 * Where the selected rows of a WIDE leaf are: (address u32, rows u32) a run, rows that follow each other in memory as one; address 0 = padding.
 * The host copies from there to its own arrays, without a stop on the way. How many runs.
 */
export function gather_runs(draw: usize, pool: usize, i: u32, out: usize): u32 {
  const d = changetype<Draw>(draw);
  const p = changetype<Pool>(pool);
  const leaf = p.leaf(i);
  const count = d.count * d.chosen;
  let runs: u32 = 0;
  for (let k: u32 = 0; k < count; ) {
    const first = load<u32>(<usize>d.selected + ((<usize>k) << 2));
    const step: u32 = first == 0 ? 0 : 1;
    let length: u32 = 0;
    do length += 1;
    while (k + length < count && load<u32>(<usize>d.selected + ((<usize>(k + length)) << 2)) == first + length * step);
    const value: usize = first == 0 ? 0 : p.value(first, leaf);
    store<u32>(out, <u32>value);
    store<u32>(out, length, 4);
    // One byte a page: the misses of their addresses overlap here, and not in the copies.
    if (value != 0) for (let at: u32 = 0; at < length * leaf.bytes; at += 4096) d.prefetched ^= load<u8>(value + <usize>at);
    out += 8;
    runs += 1;
    k += length;
  }
  return runs;
}

/** One loop a width: the compiler sees the copy as a load and a store. */
function gatherNarrow(addresses: usize, count: u32, offset: u32, bytes: u32, out: usize): void {
  const end = addresses + ((<usize>count) << 2);
  switch (bytes) {
    case 4:
      for (let at = addresses; at < end; at += 4, out += 4) {
        const row = <usize>load<u32>(at);
        store<u32>(out, row == 0 ? 0 : load<u32>(row + offset));
      }
      return;
    case 16:
      for (let at = addresses; at < end; at += 4, out += 16) {
        const row = <usize>load<u32>(at);
        // Padding is the header's zeros.
        Bytes.copy16(out, row == 0 ? ZEROS_AT : row + offset);
      }
      return;
    default:
      for (let at = addresses; at < end; at += 4, out += bytes) {
        const row = <usize>load<u32>(at);
        copyOrZero(out, row == 0 ? 0 : row + offset, bytes);
      }
  }
}

/** Values, or frames, that are not in the row. */
function gatherApart(p: Pool, leaf: Leaf, selected: usize, count: u32, out: usize): void {
  const frames = changetype<Pool>(<usize>leaf.pool);
  const bytes = leaf.bytes;
  for (const end = selected + ((<usize>count) << 2); selected < end; selected += 4) {
    const n = load<u32>(selected);
    for (let f: u32 = 0; f < leaf.frames; f++, out += bytes) {
      let from: usize = n == 0 ? 0 : p.value(n, leaf);
      if (leaf.kind == SHARED && n != 0) {
        const frame = load<u32>(from + ((<usize>f) << 2));
        from = frame == 0 ? 0 : frames.value(frame, frames.leaf(0));
      }
      copyOrZero(out, from, bytes);
    }
  }
}

/** `from` 0: zeros. */
function copyOrZero(to: usize, from: usize, bytes: u32): void {
  if (from == 0) memory.fill(to, 0, bytes);
  else copyBytes(to, from, bytes);
}
