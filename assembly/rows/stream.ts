/**
 * A stream: the steps of one writer (or lane) in order, and the window of its last ones, from which items are made.
 *
 * STREAM, 40 bytes, then the ring's entries:
 *    0 │ pool u32        │ last u32    │  the newest row, 0 where nothing may follow it
 *    8 │ episode u32     │ episodeStep u32 │  steps of the episode so far
 *   16 │ fresh u32       │ … u32       │  1: the next step opens an episode
 *   24 │ RING (16)                     │  rows of the window, oldest first; each is held once
 */
import { Bytes, bytesEqual, bytesZero, copyBytes } from "../memory/bytes";
import { Ring } from "../memory/ring";
import { BYTES, LINK, tracking } from "./changes";
import { Leaf, SHARED, WIDE } from "./leaf";
import { Pool, reserveRows } from "./pool";
import { HEAD_BYTES, Head, LINK_END } from "./row";

const RING_AT: usize = 24;
const STREAM_BYTES: u32 = 40;

@unmanaged
export class Stream {
  pool: u32;
  last: u32;
  episode: u32;
  episodeStep: u32;
  fresh: u32;
  unused: u32;

  @inline
  rows(): Pool {
    return changetype<Pool>(<usize>this.pool);
  }

  @inline
  window(): Ring {
    return changetype<Ring>(changetype<usize>(this) + RING_AT);
  }

  /** The row with which the last `length` steps begin; 0 where the window holds fewer. */
  @inline
  firstOf(length: u32): u32 {
    const window = this.window();
    // 0 - 1 is more than any count.
    return length - 1 < window.count ? window.get(window.count - length) : 0;
  }

  /** Puts a row whose bytes are written at the young end: episode, link, window. */
  @inline
  push(p: Pool, row: u32): void {
    if (this.fresh != 0) this.open(p);
    this.episodeStep += 1;
    Head.of(row).episode = this.episode;
    const last = this.last;
    this.last = row;
    if (last != 0) {
      const head = Head.of(last);
      head.next |= row;
      if (tracking()) p.touch(last, LINK);
    }
    const window = this.window();
    if (window.count == window.capacity) {
      const oldest = window.replace(row);
      p.releaseTimes(oldest, Head.of(oldest), 1);
    } else {
      window.push(row);
    }
  }

  /** O(row): appends the step of a staging record. Its row; 0 (OUT_OF_MEMORY) leaves everything as it was. */
  @inline
  append(staged: usize): u32 {
    const p = this.rows();
    if (p.free().first == 0 || p.shares != 0) {
      if (!reserveRows(p, 1)) return 0;
    }
    const n = p.take();
    Bytes.copy(p.bytes(n), staged, p.rowBytes);
    for (let i: u32 = 0; p.apart != 0 && i < p.leaves; i++) placeLeaf(this, p, n, i, staged + <usize>p.leaf(i).staged);
    this.push(p, n);
    return n;
  }

  /** Rows that follow each other, in an open episode, each held `refs` times: episodes, links, and the window. */
  pushMany(p: Pool, row: u32, count: u32, refs: u32): void {
    if (this.last != 0) {
      Head.of(this.last).next = row;
      if (tracking()) p.touch(this.last, LINK);
    }
    const last = row + count - 1;
    const episode = this.episode;
    let head = Head.of(row);
    for (let n = row; n <= last; n++) {
      store<u64>(changetype<usize>(head), ((<u64>(n + 1)) << 32) | refs);
      head.episode = episode;
      head = changetype<Head>(changetype<usize>(head) + HEAD_BYTES);
    }
    Head.of(last).next = 0;
    this.last = last;
    this.episodeStep += count;
    const window = this.window();
    for (let n = last + 1 - min(count, window.capacity); n <= last; n++) {
      p.retain(n);
      if (window.count == window.capacity) p.release(window.replace(n));
      else window.push(n);
    }
  }

  /** Begins an episode. */
  private open(p: Pool): void {
    p.episodes += 1;
    this.episode = p.episodes;
    this.episodeStep = 0;
    this.fresh = 0;
  }
}
if (offsetof<Stream>() != RING_AT || RING_AT + offsetof<Ring>() != STREAM_BYTES) ERROR("STREAM: RING at byte 24");

/** `keep`: steps of the window. A multiple of 8, as streams follow each other. */
export function streamBytes(keep: u32): u32 {
  return STREAM_BYTES + (((keep + 1) >> 1) << 3);
}

/** In zeroed memory. */
export function streamInit(s: Stream, pool: u32, keep: u32): void {
  s.pool = pool;
  s.fresh = 1;
  s.window().entries = <u32>changetype<usize>(s) + STREAM_BYTES;
  s.window().capacity = keep;
}

/** Ends the episode with the newest step; the next one opens another. Unless `keep`, the window is emptied, so that no item spans both. */
export function endEpisode(s: Stream, keep: bool): void {
  if (s.last != 0) {
    const head = Head.of(s.last);
    head.next |= LINK_END;
    if (tracking()) s.rows().touch(s.last, LINK);
  }
  s.fresh = 1;
  s.episodeStep = 0;
  if (!keep) stream_clear(changetype<usize>(s));
}

/** Lets the window go: what no item holds is freed. Nothing is linked to what comes next. */
export function stream_clear(stream: usize): void {
  const s = changetype<Stream>(stream);
  const p = s.rows();
  while (s.window().count != 0) p.release(s.window().shift());
  s.last = 0;
}

/** Steps in the window. */
export function stream_length(stream: usize): u32 {
  return changetype<Stream>(stream).window().count;
}

/** Steps of the open episode. */
export function stream_episode_steps(stream: usize): u32 {
  return changetype<Stream>(stream).episodeStep;
}

/** O(bytes): gives the newest step the value that the newest step of another stream of the pool has in leaf i. The step must have zeros there so far. */
export function stream_patch(stream: usize, from: usize, i: u32): void {
  const s = changetype<Stream>(stream);
  const p = s.rows();
  const leaf = p.leaf(i);
  const value = p.value(s.last, leaf);
  const shared = leaf.kind == SHARED;
  if (tracking()) p.touch(s.last, BYTES);
  copyBytes(value, p.value(changetype<Stream>(from).last, leaf), shared ? leaf.frames << 2 : leaf.bytes);
  for (let f: u32 = 0; shared && f < leaf.frames; f++) {
    const frame = load<u32>(value + ((<usize>f) << 2));
    if (frame != 0) changetype<Pool>(<usize>leaf.pool).retain(frame);
  }
}

/** 0, or the number of the broken invariant. */
export function stream_check(stream: usize): i32 {
  const s = changetype<Stream>(stream);
  const p = s.rows();
  const window = s.window();
  if (window.count > window.capacity) return 1;
  if (window.count != 0 && window.get(window.count - 1) != s.last) return 2;
  for (let i: u32 = 0; i < window.count; i++) {
    const n = window.get(i);
    if (n == 0 || Head.of(n).refs == 0) return 3;
    if (i + 1 < window.count && p.next(n) != window.get(i + 1)) return 4;
  }
  if (s.fresh == 0 && (s.last == 0 || p.episode(s.last) != s.episode)) return 5;
  return 0;
}

/** Writes the value of leaf i of row n where it is not packed in the row; leaves are placed in order, before the row is pushed. */
export function placeLeaf(s: Stream, p: Pool, n: u32, i: u32, value: usize): void {
  const leaf = p.leaf(i);
  if (leaf.kind == WIDE) memory.copy(p.value(n, leaf), value, leaf.bytes);
  if (leaf.kind != SHARED) return;
  const numbers = p.value(n, leaf);
  for (let f: u32 = 0; f < leaf.frames; f++) {
    store<u32>(numbers + ((<usize>f) << 2), shareFrame(s, p, n, i, f, value + <usize>(f * leaf.bytes)));
  }
}

/** The number of a frame: 0 for zeros, that of an equal frame in this step or the one before, else a new one. */
function shareFrame(s: Stream, p: Pool, n: u32, i: u32, f: u32, bytes: usize): u32 {
  const leaf = p.leaf(i);
  if (bytesZero(bytes, leaf.bytes)) return 0;
  const frames = changetype<Pool>(<usize>leaf.pool);
  let found = s.last == 0 ? 0 : searchRow(p, s.last, leaf, p.leaves, 0, bytes);
  if (found == 0) found = searchRow(p, n, leaf, i, f, bytes);
  if (found != 0) {
    frames.retain(found);
    return found;
  }
  found = frames.takeMany(1);
  const head = Head.of(found);
  head.refs = 1;
  head.next = 0;
  // Of a freed row it is the queue's.
  head.episode = 0;
  memory.copy(frames.value(found, frames.leaf(0)), bytes, leaf.bytes);
  return found;
}

/** An equal frame among those of row n: leaves before the i-th, and of that one the first f. */
function searchRow(p: Pool, n: u32, like: Leaf, i: u32, f: u32, bytes: usize): u32 {
  const frames = changetype<Pool>(<usize>like.pool);
  const frame = frames.leaf(0);
  for (let j: u32 = 0; j <= i && j < p.leaves; j++) {
    const leaf = p.leaf(j);
    if (leaf.kind != SHARED || leaf.pool != like.pool) continue;
    const end = j == i ? f : leaf.frames;
    for (let k: u32 = 0; k < end; k++) {
      const number = load<u32>(p.value(n, leaf) + ((<usize>k) << 2));
      if (number != 0 && bytesEqual(frames.value(number, frame), bytes, like.bytes)) return number;
    }
  }
  return 0;
}
