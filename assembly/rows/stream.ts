/**
 * Implements a stream: the steps of one writer (or lane) in order. A stream holds the recent steps, from which items are made and buffers read.
 *
 * STREAM, 64 bytes, then entries of the ring:
 *    0 │ pool u32        │ last u32    │  the newest row, 0 if the next step must not be linked to it
 *    8 │ episode u32     │ episodeStep u32 │  steps of the episode so far
 *   16 │ awaits u32      │ limit u32   │  the kind of the next step (below) · the most recent steps that the stream holds, 0 = the stream grows (held-stream.ts)
 *   24 │ before u32      │ straightAt u32 │  steps of earlier episodes, if recent steps outlive the ends of their episodes · `last` minus the number of straight links up to it (run.ts)
 *   32 │ window u32      │ windowLength u32 │  the row with which the newest sliding window began (sliding.ts), and its length
 *   40 │ windowBefore u32 │ numberedAt u32 │  the row of the window before that one, 0 = the newest window follows none · `last` minus the number of links up to it that go to the row with the next number
 *   48 │ RING (16)                     │  rows of the recent steps, oldest first; each row is held once
 */
import { Bytes, bytesZero, copyBytes } from "../memory/bytes";
import { Ring } from "../memory/ring";
import { BYTES, LINK, tracking } from "./changes";
import { frameEquals, takeFrame } from "./frame";
import { Leaf, NARROW, SHARED, WIDE } from "./leaf";
import { Pool, reserveRows } from "./pool";
import { HEAD_BYTES, Head, LINK_END, LINK_ENDS, LINK_FINAL } from "./row";
import { Run } from "./run";

/**
 * The kind of the next step. ONE_MORE: another step of the open episode. FIRST: the first step of another episode. FIRST_ALONE: the same, but the recent steps
 * are released before it. DROPPED: the final step of an abandoned episode, which is not stored. LINK_FINAL: the final step. LINK_ENDS: the value of the final
 * step, which was appended as zeros when its episode terminated.
 */
export const ONE_MORE: u32 = 0;
export const FIRST: u32 = 1;
export const FIRST_ALONE: u32 = 2;
export const DROPPED: u32 = 3;

const RING_AT: usize = 48;
const STREAM_BYTES: u32 = 64;

@unmanaged
export class Stream {
  pool: u32;
  last: u32;
  episode: u32;
  episodeStep: u32;
  awaits: u32;
  limit: u32;
  before: u32;
  straightAt: u32;
  window: u32;
  windowLength: u32;
  windowBefore: u32;
  numberedAt: u32;

  @inline
  rows(): Pool {
    return changetype<Pool>(<usize>this.pool);
  }

  @inline
  recent(): Ring {
    return changetype<Ring>(changetype<usize>(this) + RING_AT);
  }

  /** Returns the row with which the last `length` steps begin; 0 if the stream holds fewer steps. */
  @inline
  firstOf(length: u32): u32 {
    const recent = this.recent();
    // The length 0 wraps around to more than any count.
    return length - 1 < recent.count ? recent.get(recent.count - length) : 0;
  }

  /** Makes a written row the newest: sets its episode, links it to the previous row, and adds it to the ring. */
  @inline
  push(p: Pool, row: u32): void {
    if (this.awaits != ONE_MORE) this.begin(p);
    this.episodeStep += 1;
    Head.of(row).episode = this.episode;
    const last = this.last;
    this.last = row;
    if (last != 0) Head.of(last).next |= row;
    // An adjacent row adds one to both counts implicitly.
    if (row != last + 1) this.jump(p, last, row);
    this.keep(p, row);
  }

  /** Returns the number of straight links up to the newest row. */
  @inline
  straight(): u32 {
    return this.last - this.straightAt;
  }

  /** Returns the number of links up to the newest row that go to the row with the next number. */
  @inline
  numbered(): u32 {
    return this.last - this.numberedAt;
  }

  /** Runs if the newest row is the first one (`last` is 0), or if the row before it is linked to a non-adjacent row. */
  private jump(p: Pool, last: u32, row: u32): void {
    if (last != 0) p.noteJump(last);
    this.straightAt = row - (last != 0 && Run.goesStraight(p, last, row) ? last - this.straightAt + 1 : 0);
    this.numberedAt = row - (last != 0 && p.isNext(last, row) ? last - this.numberedAt + 1 : 0);
  }

  /** Notes the row, and the link to it, for a journal. Runs before `push`. */
  notePush(p: Pool, row: u32): void {
    if (!tracking()) return;
    p.noteChange(row, BYTES);
    if (this.last != 0) p.noteChange(this.last, LINK);
  }

  /** Adds a row to the recent steps. If there is no room, the row replaces the oldest one. */
  @inline
  keep(p: Pool, row: u32): void {
    const recent = this.recent();
    if (recent.count == recent.capacity) {
      const oldest = recent.replace(row);
      p.releaseTimes(oldest, Head.of(oldest), 1);
    } else {
      recent.push(row);
    }
  }

  /** Appends the step of a staging record. Returns its row; 0 (OUT_OF_MEMORY) changes nothing. O(row) */
  @inline
  append(staged: usize): u32 {
    const p = this.rows();
    if (p.free().first == 0 || p.shares()) {
      if (!reserveRows(p, 1)) return 0;
    }
    const n = p.take();
    Bytes.copy(p.bytes(n), staged, p.rowBytes);
    if (p.traits != 0) this.complete(p, n, staged);
    this.push(p, n);
    return n;
  }

  /** Writes the parts of a row that are stored outside its bytes, and notes the row for a journal. */
  private complete(p: Pool, row: u32, staged: usize): void {
    for (let i: u32 = 0; p.hasSeparateLeaves() && i < p.leaves; i++) placeLeaf(this, p, row, i, staged + <usize>p.leaf(i).staged);
    this.notePush(p, row);
  }

  /**
   * Writes the values of the final step of a terminated episode, which was appended as zeros. `staged`: the staging record with the values, or 0 if they are
   * the r-th row of `columns`. There must be room for the frames of the step. O(row)
   */
  fill(staged: usize, columns: usize, r: u32, across: u32): void {
    const p = this.rows();
    const row = this.last;
    const recent = this.recent();
    // Frames are shared with the previous step, as if the final step had just been appended.
    if (recent.count > 1) this.last = recent.get(recent.count - 2);
    if (staged != 0) Bytes.copy(p.bytes(row), staged, p.rowBytes);
    for (let i: u32 = 0; i < p.leaves && (p.hasSeparateLeaves() || staged == 0); i++) {
      const leaf = p.leaf(i);
      const value = staged != 0 ? staged + <usize>leaf.staged : <usize>load<u32>(columns + ((<usize>i) << 2)) + <usize>(r * leaf.valueBytes());
      if (leaf.kind != NARROW) placeLeaf(this, p, row, i, value);
      else if (staged == 0) copyBytes(p.value(row, leaf), value, leaf.bytes);
    }
    this.last = row;
    if (tracking()) p.noteChange(row, BYTES);
    this.awaits = across != 0 ? FIRST : FIRST_ALONE;
  }

  /** Like `push`, for consecutive rows of an open episode. Each row is held `refs` times, and once more if it is among the recent steps. */
  pushMany(p: Pool, row: u32, count: u32, refs: u32): void {
    const before = this.last;
    if (before != 0) Head.of(before).next |= row;
    if (row != before + 1) this.jump(p, before, row);
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
    for (let n = last + 1 - min(count, this.recent().capacity); n <= last; n++) {
      p.retain(n);
      this.keep(p, n);
    }
    if (before != 0 && tracking()) p.noteChange(before, LINK);
  }

  /** Whether an episode is open. */
  @inline
  isOpen(): bool {
    return this.awaits == ONE_MORE || this.awaits == LINK_FINAL;
  }

  /** Whether the next step is the final one of an episode, or the value of that step, and so cannot end another episode. */
  @inline
  awaitsFinal(): bool {
    return this.awaits >= DROPPED;
  }

  /** Returns the number of the next step in its episode. */
  @inline
  nextStep(): u32 {
    // Between episodes, `episodeStep` is 0.
    return this.episodeStep + 1;
  }

  /**
   * Ends the episode with the newest step as its final step. The recent steps stay until the next step is appended, or, with `across`, as long as there is
   * room.
   */
  finish(how: u32, across: u32): void {
    Head.of(this.last).next |= how;
    if (tracking()) this.rows().noteChange(this.last, LINK);
    this.awaits = across != 0 ? FIRST : FIRST_ALONE;
    if (across != 0) this.before += this.episodeStep;
    this.episodeStep = 0;
  }

  /** Begins another episode, unless the next step is the final one of the open episode. Runs before a step that is not `ONE_MORE`. */
  private begin(p: Pool): void {
    if (this.awaits == LINK_FINAL) return;
    if (this.awaits == FIRST_ALONE) stream_clear(changetype<usize>(this));
    p.episodes += 1;
    this.episode = p.episodes;
    this.awaits = ONE_MORE;
  }
}
if (offsetof<Stream>() != RING_AT || RING_AT + offsetof<Ring>() != STREAM_BYTES) ERROR("STREAM: RING at byte 48");

/** Returns the number of bytes of a stream with inline room for `room` recent steps: a multiple of 8, because streams are contiguous. */
export function stream_bytes(room: u32): u32 {
  return STREAM_BYTES + (((room + 1) >> 1) << 3);
}

/**
 * Initializes a stream in zeroed memory of `stream_bytes(room)`. The stream holds the last `limit` steps. With `limit` 0, the stream grows and never drops
 * steps by itself.
 */
export function stream_init(stream: usize, pool: u32, room: u32, limit: u32): void {
  const s = changetype<Stream>(stream);
  s.pool = pool;
  s.awaits = FIRST;
  s.limit = limit;
  s.recent().entries = <u32>stream + STREAM_BYTES;
  s.recent().capacity = room;
}

/**
 * Ends the episode with the newest step; the next step opens another episode. Unless `across` is set, the steps of the ended episode are released, so that no
 * item spans both episodes.
 */
export function stream_end(stream: usize, across: u32): void {
  const s = changetype<Stream>(stream);
  if (s.last != 0 && s.isOpen()) {
    const head = Head.of(s.last);
    head.next |= LINK_END;
    if (tracking()) s.rows().noteChange(s.last, LINK);
  }
  s.awaits = FIRST;
  if (across != 0) s.before += s.episodeStep;
  s.episodeStep = 0;
  if (across == 0) stream_clear(stream);
}

/** Releases the stream's steps, and frees the steps that no item holds. The next step is not linked to them. */
export function stream_clear(stream: usize): void {
  const s = changetype<Stream>(stream);
  const p = s.rows();
  while (s.recent().count != 0) p.release(s.recent().shift());
  s.last = 0;
}

/** Returns the number of steps of the open episode. */
export function stream_episode_steps(stream: usize): u32 {
  return changetype<Stream>(stream).episodeStep;
}

/** Copies the value of leaf i from the newest step of another stream of the pool to the newest step here, which must have zeros there. O(bytes) */
export function stream_patch(stream: usize, from: usize, i: u32): void {
  const s = changetype<Stream>(stream);
  const p = s.rows();
  const leaf = p.leaf(i);
  const value = p.value(s.last, leaf);
  const shared = leaf.kind == SHARED;
  if (tracking()) p.noteChange(s.last, BYTES);
  copyBytes(value, p.value(changetype<Stream>(from).last, leaf), shared ? leaf.frames << 2 : leaf.bytes);
  for (let f: u32 = 0; shared && f < leaf.frames; f++) {
    const frame = load<u32>(value + ((<usize>f) << 2));
    if (frame != 0) changetype<Pool>(<usize>leaf.pool).retain(frame);
  }
}

/** Checks a stream. Returns 0, or the number of the broken invariant. */
export function stream_check(stream: usize): i32 {
  const s = changetype<Stream>(stream);
  const p = s.rows();
  const recent = s.recent();
  if (recent.count > recent.capacity || (s.limit != 0 && recent.capacity > s.limit)) return 1;
  if (recent.count != 0 && recent.get(recent.count - 1) != s.last) return 2;
  for (let i: u32 = 0; i < recent.count; i++) {
    const n = recent.get(i);
    if (n == 0 || Head.of(n).refs == 0) return 3;
    if (i + 1 < recent.count && p.next(n) != recent.get(i + 1)) return 4;
  }
  if (s.isOpen() && (s.last == 0 || p.episode(s.last) != s.episode)) return 5;
  if (!s.isOpen() && s.episodeStep != 0) return 6;
  const links = max(recent.count, 1) - 1;
  if (min(s.straight(), links) != min(countLinks(s, false), links)) return 8;
  if (min(s.numbered(), links) != min(countLinks(s, true), links)) return 9;
  return s.awaits == LINK_ENDS && (s.last == 0 || !p.isFinal(s.last)) ? 7 : 0;
}

/** Returns `straight()` or `numbered()`, as far as the recent steps determine this number. O(steps) */
export function countLinks(s: Stream, numbered: bool): u32 {
  const p = s.rows();
  const recent = s.recent();
  let count: u32 = 0;
  for (let i = recent.count; i > 1; i--) {
    const last = recent.get(i - 2);
    const row = recent.get(i - 1);
    if (!(numbered ? row == last + 1 || p.isNext(last, row) : Run.goesStraight(p, last, row))) break;
    count += 1;
  }
  return count;
}

/** Writes the value of leaf i of row n if it is stored outside the row. Call this function for the leaves in order, before the row is pushed. */
export function placeLeaf(s: Stream, p: Pool, n: u32, i: u32, value: usize): void {
  const leaf = p.leaf(i);
  if (leaf.kind == WIDE) memory.copy(p.value(n, leaf), value, leaf.bytes);
  if (leaf.kind != SHARED) return;
  const numbers = p.value(n, leaf);
  for (let f: u32 = 0; f < leaf.frames; f++) {
    store<u32>(numbers + ((<usize>f) << 2), shareFrame(s, p, n, i, f, value + <usize>(f * leaf.bytes)));
  }
}

/** Returns the row of the frame with these bytes: 0 for zeros, the row of an equal frame in this step or the previous one, held once more, else a new frame. */
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
  return takeFrame(frames, bytes, leaf.bytes, frames.packs() ? frameBefore(p, s.last, n, i, f) : 0);
}

/** Finds an equal frame in row n: in the leaves before the i-th one, and in the first f frames of the i-th leaf. Returns its row, 0 = none. */
function searchRow(p: Pool, n: u32, like: Leaf, i: u32, f: u32, bytes: usize): u32 {
  const frames = changetype<Pool>(<usize>like.pool);
  for (let j: u32 = 0; j <= i && j < p.leaves; j++) {
    const leaf = p.leaf(j);
    if (leaf.kind != SHARED || leaf.pool != like.pool) continue;
    const end = j == i ? f : leaf.frames;
    for (let k: u32 = 0; k < end; k++) {
      const number = frameAt(p, n, leaf, k);
      if (number != 0 && frameEquals(frames, number, bytes, like.bytes)) return number;
    }
  }
  return 0;
}

/**
 * Returns the frame that is probably most similar to frame f of leaf i of row n, as a base for a patch, 0 = none: the previous frame in its stack; for the
 * first frame, the newest frame of this leaf in the previous step; if that is missing, the newest frame of an earlier leaf that shares frames with this leaf.
 */
export function frameBefore(p: Pool, last: u32, n: u32, i: u32, f: u32): u32 {
  const leaf = p.leaf(i);
  if (f > 0) return frameAt(p, n, leaf, f - 1);
  const number = last == 0 ? 0 : frameAt(p, last, leaf, leaf.frames - 1);
  if (number != 0) return number;
  for (let j = i; j > 0; j--) {
    const other = p.leaf(j - 1);
    if (other.kind == SHARED && other.pool == leaf.pool) return frameAt(p, n, other, other.frames - 1);
  }
  return 0;
}

/** Returns the row of the k-th frame of a step's value, 0 for a frame of zeros. */
function frameAt(p: Pool, row: u32, leaf: Leaf, k: u32): u32 {
  return load<u32>(p.value(row, leaf) + ((<usize>k) << 2));
}
