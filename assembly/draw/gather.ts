/**
 * Gather copies the bytes of a draw's rows, leaf by leaf, each into one contiguous run.
 *
 * RUN, 16 bytes, adjacent bytes in memory that are copied in one go:
 * │ from u32 │ bytes u32 │ output u32 │ to u32 │
 * from: the address of the bytes, 0 = padding · output: the number of the output · to: the offset in its array, in bytes
 */
import { Bytes, copyBytes } from "../memory/bytes";
import { halvesWiden } from "../memory/half";
import { align16, ZEROS_AT } from "../memory/layout";
import { Prefetch } from "../memory/prefetch";
import { Work } from "../packed/work";
import { BF16, Leaf, NARROW, SHARED, WIDE } from "../rows/leaf";
import { Packs } from "../rows/packs";
import { Pool } from "../rows/pool";
import { Draw, LENGTH, NEAR_BYTES, PIECE, STEPS } from "./draw";
import { BOOTSTRAP, chooseRows, nameOf, OUTPUT_BYTES, Output } from "./output";
import { openWindow, prefetchPacked, unpackOnce, WINDOW_HEAD } from "./unpacked-frames";

/** If several leaves are needed, rows of at least 16 and at most this many bytes are first copied whole. */
const SHORT: u32 = NEAR_BYTES / PIECE;

/** The size of an operating system page, in bytes. */
const PAGE: u32 = 4096;

@unmanaged
class CopyRun {
  from: u32;
  bytes: u32;
  output: u32;
  to: u32;

  @inline
  begin(from: u32, output: u32, to: u32): void {
    this.from = from;
    this.bytes = 0;
    this.output = output;
    this.to = to;
  }

  /** Whether the next bytes of this output continue the run, or both are padding. */
  @inline
  takes(from: u32, output: u32): bool {
    return this.output == output && (this.from == 0 ? from == 0 : from == this.from + this.bytes);
  }

  /**
   * Adds bytes to an output: extends the last RUN if the bytes follow it, or begins the next RUN. Returns the RUN that contains the bytes. `last` before `out`
   * means that no run exists yet.
   */
  @inline
  static add(out: usize, last: usize, from: u32, output: u32, to: u32, bytes: u32): usize {
    if (last < out || !changetype<CopyRun>(last).takes(from, output)) {
      last += RUN_BYTES;
      changetype<CopyRun>(last).begin(from, output, to);
    }
    changetype<CopyRun>(last).bytes += bytes;
    return last;
  }
}
const RUN_BYTES: usize = 16;
if (offsetof<CopyRun>() != RUN_BYTES) ERROR("RUN is 16 bytes");

/**
 * Gathers `n` outputs (OUTPUT × n) of all entries, piece by piece, so that the cached rows of a piece serve all outputs. The rows of consecutive outputs with
 * the same list are chosen once. O(bytes)
 */
export function gather(draw: usize, pool: usize, outputs: usize, n: u32): void {
  const d = changetype<Draw>(draw);
  const p = changetype<Pool>(pool);
  const end = outputs + <usize>n * OUTPUT_BYTES;
  let most: u32 = 1;
  for (let at = outputs; at < end; at += OUTPUT_BYTES) most = max(most, changetype<Output>(at).count);
  const piece = max(PIECE / most, 1);
  for (let first: u32 = 0; first < d.count; first += piece) {
    const entries = min(piece, d.count - first);
    for (let at = outputs; at < end; ) {
      const o = changetype<Output>(at);
      let others = at;
      do others += OUTPUT_BYTES;
      while (others < end && sameRows(o, changetype<Output>(others)));
      select(d, p, first, entries, o.steps, o.count, o.each);
      const rows = entries * o.count;
      for (let k: u32 = 0; k < rows; k += PIECE) gatherRows(d, p, k, min(PIECE, rows - k), first * o.count + k, at, others);
      at = others;
    }
  }
}

/** Whether two outputs have the same list. The address of an empty list is not unique, so its length is compared. */
function sameRows(a: Output, b: Output): bool {
  return a.steps == b.steps && a.count == b.count;
}

/** Gathers `count` of the selected rows, from the k-th on, into outputs with the same list, from place `at` on. */
function gatherRows(d: Draw, p: Pool, k: u32, count: u32, at: u32, outputs: usize, end: usize): void {
  const selected = <usize>d.selected + ((<usize>k) << 2);
  const addresses = <usize>d.addresses + ((<usize>k) << 2);
  const prefetched = d.prefetched;
  const isNear = isShort(p);
  // A single output reads only its leaf, which touches fewer cache lines than whole rows.
  const short = isNear && end - outputs > OUTPUT_BYTES;
  if (short) Prefetch.copy(addresses, addresses + ((<usize>count) << 2), p.rowBytes, prefetched);
  else if (!isNear) prefetchRows(d, k, count);
  for (; outputs < end; outputs += OUTPUT_BYTES) {
    const o = changetype<Output>(outputs);
    const leaf = p.leaf(o.leaf);
    const half = leaf.half();
    const array = <usize>o.to + ((<usize>at * leaf.valueBytes()) << half);
    // Halves are written to the end of their area, then widened to fill the whole area while they are cached.
    const to = array + <usize>half * count * leaf.valueBytes();
    if (leaf.kind != NARROW) gatherApart(p, leaf, selected, count, to);
    else if (short) spread(prefetched + leaf.at - p.rowsAt, count, p.rowBytes, leaf.bytes, to);
    else gatherNarrow(addresses, count, leaf.at - p.rowsAt, leaf.bytes, to);
    if (half != 0) halvesWiden(array, to, (count * leaf.valueBytes()) >> 1, leaf.dtype == BF16);
  }
}

/**
 * Whether whole rows are copied before their leaves, if several outputs use them. All misses then overlap, and leaves are read from a few lines and pages
 * instead of one per row.
 */
function isShort(p: Pool): bool {
  return p.rowBytes >= 16 && p.rowBytes <= SHORT;
}

/** Spreads consecutive values over rows. Each width has its own loop, so that the compiler turns the copy into a load and a store. */
function spread(from: usize, count: u32, step: u32, bytes: u32, to: usize): void {
  const end = from + count * step;
  switch (bytes) {
    case 1:
      for (; from < end; from += step, to += 1) store<u8>(to, load<u8>(from));
      return;
    case 2:
      for (; from < end; from += step, to += 2) store<u16>(to, load<u16>(from));
      return;
    case 4:
      for (; from < end; from += step, to += 4) store<u32>(to, load<u32>(from));
      return;
    case 8:
      for (; from < end; from += step, to += 8) store<u64>(to, load<u64>(from));
      return;
    case 16:
      for (; from < end; from += step, to += 16) Bytes.copy16(to, from);
      return;
    default:
      for (; from < end; from += step, to += bytes) copyBytes(to, from, bytes);
  }
}

/**
 * Writes to `out` the RUNs of the values of WIDE and SHARED leaves, from entry `first` on, and returns the number of RUNs. The host copies the bytes of each
 * RUN directly to its own arrays. The RUNs are ordered by entry, so that frames shared by two outputs are copied again while they are cached. The `to` of the
 * outputs is ignored. O(values)
 *
 * Packed frames are unpacked to a WINDOW (unpacked-frames.ts) of `room` bytes, and halves become f32 there, for as many entries as certainly fit. The first
 * entry must fit. `window` 0 means that there are neither packed frames nor halves.
 */
export function gather_runs(draw: usize, pool: usize, outputs: usize, n: u32, first: u32, out: usize, window: usize, room: u32): u32 {
  const d = changetype<Draw>(draw);
  const p = changetype<Pool>(pool);
  const end = outputs + <usize>n * OUTPUT_BYTES;
  const most = window == 0 ? 0 : openWindow(p, outputs, end);
  let to = window + WINDOW_HEAD;
  const full = window + <usize>room - <usize>most;
  let last = out - RUN_BYTES;
  // The address of the last list that was read.
  let list: u32 = 0;
  let count: u32 = 0;
  let start: i32 = 0;
  let i = first;
  const piece = window == 0 ? 0 : max(room / max(most, 1), 1);
  let prefetched = first;
  for (; i < d.count && (window == 0 || i == first || to <= full); i++) {
    // Frames stored unpacked take no room in the window, so the loop may reach more entries than `piece`.
    if (window != 0 && i == prefetched) {
      const many = min(d.count - i, piece);
      prefetchPacked(d, p, outputs, n, i, many, last + RUN_BYTES);
      prefetched += many;
    }
    for (let k: u32 = 0; k < n; k++) {
      const o = changetype<Output>(outputs + <usize>k * OUTPUT_BYTES);
      const leaf = p.leaf(o.leaf);
      const half = leaf.half();
      const bytes = leaf.valueBytes() << half;
      let target = i * o.count * bytes;
      if (o.each != 0 || o.steps != list || o.count != count) {
        list = o.steps + ((i * o.each) << 2);
        count = o.count;
        start = firstOf(list, count);
      }
      let at = <usize>d.selected;
      let there = count;
      if (start >= 0) {
        // The steps are consecutive and in the order of the window.
        const length = <i32>d.rowsOf(i);
        at = <usize>d.rows + <usize>((i * d.width + start) << 2);
        there = <u32>min(<i32>there, max(length - start, 0));
      } else chooseRows(d, i, list, there);
      const stop = at + ((<usize>there) << 2);
      const frames = changetype<Pool>(<usize>leaf.pool);
      if (leaf.kind == SHARED && frames.packs()) {
        const packs = frames.packed();
        let before: u32 = 0;
        let near: usize = 0;
        for (let f: u32 = 0; at < stop; target += leaf.bytes << half) {
          const name = nameOf(p, leaf, load<u32>(at), f);
          let from = unpackOnce(packs, name, to, before, near);
          if (from == to) to += align16(leaf.bytes);
          before = name;
          near = from;
          if (half != 0) {
            from = widened(leaf, from, to);
            if (from == to) to += align16(leaf.bytes << 1);
          }
          last = CopyRun.add(out, last, <u32>from, k, target, leaf.bytes << half);
          f += 1;
          if (f == leaf.frames) {
            f = 0;
            at += 4;
          }
        }
      }
      while (at < stop) {
        const row = load<u32>(at);
        const rows = leaf.kind == WIDE && half == 0 ? neighbours(at, stop) : 1;
        for (let f: u32 = 0; f < leaf.frames; f++) {
          const part = (rows * leaf.bytes) << half;
          let from = frameOf(p, leaf, row, f);
          if (half != 0) {
            from = widened(leaf, from, to);
            if (from == to) to += align16(part);
          }
          last = CopyRun.add(out, last, <u32>from, k, target, part);
          target += part;
        }
        at += (<usize>rows) << 2;
      }
      if (there < count) last = CopyRun.add(out, last, 0, k, target, (count - there) * bytes);
    }
  }
  if (window != 0) store<u32>(window, i < d.count ? i : 0);
  prefetchRuns(out, last + RUN_BYTES);
  return <u32>(last + RUN_BYTES - out) / <u32>RUN_BYTES;
}

/** Widens a value or frame of halves at `from` to f32 at `to`, and returns its address. 0 means zeros or padding. */
function widened(leaf: Leaf, from: usize, to: usize): usize {
  if (from == 0) return 0;
  halvesWiden(to, from, leaf.bytes >> 1, leaf.dtype == BF16);
  return to;
}

/** Reads one byte per page, so that the misses of address translation (TLB) overlap here instead of delaying each copy. */
function prefetchRuns(at: usize, end: usize): void {
  let sum: u32 = 0;
  for (; at < end; at += RUN_BYTES) {
    const run = changetype<CopyRun>(at);
    if (run.from == 0) continue;
    const stop = run.from + run.bytes;
    for (let prefetched = run.from; prefetched < stop; prefetched = (prefetched + PAGE) & ~(PAGE - 1)) sum ^= load<u8>(<usize>prefetched);
  }
  Prefetch.keep(sum);
}

/** Returns the first step of a list of consecutive steps, or -1 if the steps are not consecutive or not counted from the start of the window. */
function firstOf(steps: usize, count: u32): i32 {
  const first = load<i32>(steps);
  if (first < 0 || first == BOOTSTRAP) return -1;
  for (let k: u32 = 1; k < count; k++) if (load<i32>(steps + ((<usize>k) << 2)) != first + k) return -1;
  return first;
}

/** Returns how many rows, from `at` on and up to `stop`, are adjacent in one block or, if the first is padding, are padding too. */
function neighbours(at: usize, stop: usize): u32 {
  const from = at;
  let row = load<u32>(at);
  const step = u32(row != 0);
  do {
    at += 4;
    row += step;
  } while (at < stop && load<u32>(at) == row);
  return <u32>(at - from) >> 2;
}

/**
 * Chooses rows of each entry's window for one list. Padding has the address of the header's zeros if rows are copied whole, else address 0. O(entries × count)
 */
function select(d: Draw, p: Pool, first: u32, entries: u32, steps: usize, count: u32, each: u32): void {
  if (d.picks != 0) return selectPicked(d, p, first, entries, steps, count);
  if (count == 1 && each == 0) return selectOne(d, p, first, entries, load<i32>(steps));
  const rows = <usize>d.rows;
  const padding: u32 = isShort(p) ? <u32>ZEROS_AT : 0;
  let to: usize = 0;
  steps += (<usize>(first * each)) << 2;
  for (let i = first; i < first + entries; i++, steps += (<usize>each) << 2) {
    const length = <i32>load<u32>(d.u32At(LENGTH, i));
    const window = rows + <usize>((i * d.width) << 2);
    for (let k: u32 = 0; k < count; k++) {
      let at = load<i32>(steps + ((<usize>k) << 2));
      if (at < 0) at += length;
      else if (at == BOOTSTRAP) at = <i32>(load<u32>(d.u32At(STEPS, i)) - d.own);
      const n = at >= 0 && at < length ? load<u32>(window + ((<usize>at) << 2)) : 0;
      store<u32>(<usize>d.selected + to, n);
      store<u32>(<usize>d.addresses + to, n == 0 ? padding : <u32>p.bytes(n));
      to += 4;
    }
  }
}

/** Like `select`, for a draw whose `rows` has only some steps: `places` lists the places of the steps in `rows`. */
function selectPicked(d: Draw, p: Pool, first: u32, entries: u32, places: usize, count: u32): void {
  const padding: u32 = isShort(p) ? <u32>ZEROS_AT : 0;
  const width = <usize>(d.width << 2);
  const end = places + ((<usize>count) << 2);
  let window = <usize>d.rows + <usize>first * width;
  let to: usize = 0;
  if (count == 1) return selectPlace(d, p, window + ((<usize>load<u32>(places)) << 2), entries, width, padding);
  for (let left = entries; left > 0; left--, window += width) {
    for (let at = places; at < end; at += 4, to += 4) {
      const n = load<u32>(window + ((<usize>load<u32>(at)) << 2));
      store<u32>(<usize>d.selected + to, n);
      store<u32>(<usize>d.addresses + to, n == 0 ? padding : <u32>p.bytes(n));
    }
  }
}

/** Like `selectPicked`, for one place: from `at` on, every `width` bytes. */
function selectPlace(d: Draw, p: Pool, at: usize, entries: u32, width: usize, padding: u32): void {
  const selected = <usize>d.selected;
  const addresses = <usize>d.addresses;
  for (let to: usize = 0, end = (<usize>entries) << 2; to < end; to += 4, at += width) {
    const n = load<u32>(at);
    store<u32>(selected + to, n);
    store<u32>(addresses + to, n == 0 ? padding : <u32>p.bytes(n));
  }
}

/** Like `select`, for one step. */
function selectOne(d: Draw, p: Pool, first: u32, entries: u32, step: i32): void {
  const bootstraps = step == BOOTSTRAP;
  const padding: u32 = isShort(p) ? <u32>ZEROS_AT : 0;
  const lengths = d.u32At(LENGTH, first);
  const taken = d.u32At(STEPS, first);
  const width = <usize>(d.width << 2);
  let window = <usize>d.rows + <usize>first * width;
  const end = <usize>(entries << 2);
  // Items of one step, all present, need no padding.
  if (d.single != 0 && d.width == 1 && (step == 0 || step == -1)) {
    for (let to: usize = 0; to < end; to += 4, window += 4) {
      const n = load<u32>(window);
      store<u32>(<usize>d.selected + to, n);
      store<u32>(<usize>d.addresses + to, <u32>p.bytes(n));
    }
    return;
  }
  for (let to: usize = 0; to < end; to += 4, window += width) {
    const length = <i32>load<u32>(lengths + to);
    const at = bootstraps ? <i32>(load<u32>(taken + to) - d.own) : step < 0 ? step + length : step;
    const n = <u32>at < <u32>length ? load<u32>(window + ((<usize>at) << 2)) : 0;
    store<u32>(<usize>d.selected + to, n);
    store<u32>(<usize>d.addresses + to, n == 0 ? padding : <u32>p.bytes(n));
  }
}

/** Reads one word at the address of each row. For padding without an address, reads the word at address 0. */
export function prefetchRows(d: Draw, first: u32, count: u32): void {
  const at = <usize>d.addresses + ((<usize>first) << 2);
  Prefetch.touch(at, at + ((<usize>count) << 2), 0, 1);
}

/** Gathers values from rows. Each width has its own loop, so that the compiler turns the copy into a load and a store. */
function gatherNarrow(addresses: usize, count: u32, offset: u32, bytes: u32, out: usize): void {
  const end = addresses + ((<usize>count) << 2);
  switch (bytes) {
    case 1:
      for (let at = addresses; at < end; at += 4, out += 1) {
        const row = <usize>load<u32>(at);
        store<u8>(out, row == 0 ? 0 : load<u8>(row + offset));
      }
      return;
    case 2:
      for (let at = addresses; at < end; at += 4, out += 2) {
        const row = <usize>load<u32>(at);
        store<u16>(out, row == 0 ? 0 : load<u16>(row + offset));
      }
      return;
    case 4:
      for (let at = addresses; at < end; at += 4, out += 4) {
        const row = <usize>load<u32>(at);
        store<u32>(out, row == 0 ? 0 : load<u32>(row + offset));
      }
      return;
    case 8:
      for (let at = addresses; at < end; at += 4, out += 8) {
        const row = <usize>load<u32>(at);
        store<u64>(out, row == 0 ? 0 : load<u64>(row + offset));
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

/** Gathers values, or frames, that are stored outside the row. */
function gatherApart(p: Pool, leaf: Leaf, selected: usize, count: u32, out: usize): void {
  const end = selected + ((<usize>count) << 2);
  const frames = changetype<Pool>(<usize>leaf.pool);
  if (leaf.kind == SHARED && frames.packs()) return gatherPacked(p, leaf, frames.packed(), selected, end, out);
  for (; selected < end; selected += 4) {
    const row = load<u32>(selected);
    for (let f: u32 = 0; f < leaf.frames; f++, out += leaf.bytes) copyOrZero(out, frameOf(p, leaf, row, f), leaf.bytes);
  }
}

/** Gathers packed frames. Each frame is unpacked at its first place in the output, and copied from there. */
function gatherPacked(p: Pool, leaf: Leaf, packs: Packs, selected: usize, end: usize, out: usize): void {
  Work.clearPlaces(<usize>packs.work);
  let before: u32 = 0;
  for (; selected < end; selected += 4) {
    const row = load<u32>(selected);
    for (let f: u32 = 0; f < leaf.frames; f++, out += leaf.bytes) {
      const name = nameOf(p, leaf, row, f);
      const from = unpackOnce(packs, name, out, before, out - leaf.bytes);
      if (from != out) copyOrZero(out, from, leaf.bytes);
      before = name;
    }
  }
}

/** Returns the address of a row's value, or of one of its frames; 0 = padding. */
function frameOf(p: Pool, leaf: Leaf, row: u32, f: u32): usize {
  if (row == 0) return 0;
  if (leaf.kind != SHARED) return p.value(row, leaf);
  const frame = nameOf(p, leaf, row, f);
  return frame == 0 ? 0 : changetype<Pool>(<usize>leaf.pool).bytes(frame);
}

/** Copies bytes, or writes zeros if `from` is 0. */
function copyOrZero(to: usize, from: usize, bytes: u32): void {
  if (from == 0) memory.fill(to, 0, bytes);
  else copyBytes(to, from, bytes);
}
