/** Gather: the bytes of a draw's rows, leaf by leaf, each into one contiguous run. */
import { Bytes, copyBytes } from "./bytes";
import { Draw, LENGTH, STEPS } from "./draw";
import { ZEROS_AT } from "./layout";
import { Leaf, SHARED, WIDE } from "./leaf";
import { Pool } from "./pool";

/** `start` of a column that begins where the n-step return ends. */
const BOOTSTRAP: i32 = i32.MAX_VALUE;

/**
 * O(entries): chooses, for one output column, `count` rows of each entry's window: start, start + step, … (a negative start counts
 * from the window's last row). What is outside the window is padding. All that `gather_leaf` reads until the next call.
 */
export function gather_select(draw: usize, pool: usize, start: i32, count: u32, step: i32): void {
  const d = changetype<Draw>(draw);
  const p = changetype<Pool>(pool);
  d.chosen = count;
  const rows = <usize>d.rows;
  let to = 0 as usize;
  for (let i: u32 = 0; i < d.count; i++) {
    const length = <i32>load<u32>(d.u32At(LENGTH, i));
    let at = start;
    if (start < 0) at += length;
    else if (start == BOOTSTRAP) at = <i32>load<u32>(d.u32At(STEPS, i));
    const window = rows + <usize>((i * d.width) << 2);
    for (let k: u32 = 0; k < count; k++) {
      const n = at >= 0 && at < length ? load<u32>(window + ((<usize>at) << 2)) : 0;
      store<u32>(<usize>d.selected + to, n);
      store<u32>(<usize>d.addresses + to, n == 0 ? 0 : <u32>p.bytes(n));
      to += 4;
      at += step;
    }
  }
  touchRows(d, d.count * count);
}

/** Reads one byte of each selected row, so that their cache misses overlap (see touchItems). */
function touchRows(d: Draw, count: u32): void {
  let sum: u32 = 0;
  const end = <usize>d.addresses + ((<usize>count) << 2);
  for (let at = <usize>d.addresses; at < end; at += 4) sum ^= load<u8>(load<u32>(at));
  d.touched = sum;
}

/** O(bytes): leaf i of every selected row to `out`, one after the other, zeros for padding. */
export function gather_leaf(draw: usize, pool: usize, i: u32, out: usize): void {
  const d = changetype<Draw>(draw);
  const p = changetype<Pool>(pool);
  const leaf = p.leaf(i);
  const count = d.count * d.chosen;
  if (leaf.kind == WIDE) return gatherWide(p, leaf, d.selected, count, out);
  if (leaf.kind == SHARED) return gatherShared(p, leaf, d.selected, count, out);
  gatherNarrow(d.addresses, count, leaf.at - p.rowsAt, leaf.bytes, out);
}

/** O(entries): 1 for a row, 0 for padding, as bytes. */
export function gather_mask(draw: usize, out: usize): void {
  const d = changetype<Draw>(draw);
  const count = d.count * d.chosen;
  for (let i: usize = 0; i < <usize>count; i++) store<u8>(out + i, load<u32>(<usize>d.selected + (i << 2)) != 0 ? 1 : 0);
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
  let k: u32 = 0;
  while (k < count) {
    const length = runAt(d.selected, k, count);
    const n = load<u32>(<usize>d.selected + ((<usize>k) << 2));
    store<u32>(out + ((<usize>runs) << 3), n == 0 ? 0 : <u32>p.value(n, leaf));
    store<u32>(out + ((<usize>runs) << 3), length, 4);
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
        if (row == 0) memory.fill(out, 0, bytes);
        else copyBytes(out, row + offset, bytes);
      }
  }
}

function gatherShared(p: Pool, leaf: Leaf, selected: usize, count: u32, out: usize): void {
  const frames = changetype<Pool>(<usize>leaf.pool);
  const value = frames.leaf(0);
  const bytes = leaf.bytes;
  for (let k: usize = 0; k < <usize>count; k++) {
    const n = load<u32>(selected + (k << 2));
    for (let f: u32 = 0; f < leaf.frames; f++, out += bytes) {
      const frame = n == 0 ? 0 : load<u32>(p.value(n, leaf) + ((<usize>f) << 2));
      if (frame == 0) memory.fill(out, 0, bytes);
      else copyBytes(out, frames.value(frame, value), bytes);
    }
  }
}

function gatherWide(p: Pool, leaf: Leaf, selected: usize, count: u32, out: usize): void {
  let k: u32 = 0;
  while (k < count) {
    const length = runAt(selected, k, count);
    const n = load<u32>(selected + ((<usize>k) << 2));
    const bytes = <usize>length * <usize>leaf.bytes;
    if (n == 0) memory.fill(out, 0, bytes);
    else memory.copy(out, p.value(n, leaf), bytes);
    out += bytes;
    k += length;
  }
}

/** How many of the selected rows from the k-th on follow each other in memory, or are padding. */
function runAt(selected: usize, k: u32, count: u32): u32 {
  const first = load<u32>(selected + ((<usize>k) << 2));
  const step: u32 = first == 0 ? 0 : 1;
  let length: u32 = 1;
  while (k + length < count && load<u32>(selected + ((<usize>(k + length)) << 2)) == first + length * step) length += 1;
  return length;
}
