/**
 * Writes a step as bytes without addresses, for files. If a frame also occurs in the previous step, or earlier in the same step, a code replaces its bytes.
 *
 * RECORD: │ the row's bytes, the names of shared frames left out │ each WIDE value, and each frame of a SHARED leaf, in the order of the leaves │
 *   a frame: u16, 0 zeros · 1 its bytes follow · 2 + k the k-th frame of the previous step, counted over all leaves; the count continues with the frames of this step
 */
import { copyBytes } from "../memory/bytes";
import { E_OUT_OF_MEMORY } from "../memory/error";
import { copyFrame, takeFrame } from "../rows/frame";
import { makeRoom } from "../rows/held-stream";
import { Leaf, SHARED, WIDE } from "../rows/leaf";
import { Pool, reserveRows } from "../rows/pool";
import { frameBefore, Stream } from "../rows/stream";

const ZEROS: u16 = 0;
const LITERAL: u16 = 1;
const FIRST: u32 = 2;

/** Returns the maximum number of bytes of a record. */
export function record_max_bytes(pool: usize): u32 {
  const p = changetype<Pool>(pool);
  let bytes = p.rowBytes;
  for (let i: u32 = 0; i < p.leaves; i++) {
    const leaf = p.leaf(i);
    if (leaf.kind == WIDE) bytes += leaf.bytes;
    if (leaf.kind == SHARED) bytes += leaf.frames * (leaf.bytes + 2);
  }
  return bytes;
}

/** Writes a row's record and returns the number of its bytes. `before`: the row of the previous step, 0 for none. */
export function record_write(pool: usize, row: u32, before: u32, out: usize): u32 {
  const p = changetype<Pool>(pool);
  let at = out + p.rowBytes;
  copyBytes(out, p.bytes(row), p.rowBytes);
  let frame: u32 = 0;
  for (let i: u32 = 0; i < p.leaves; i++) {
    const leaf = p.leaf(i);
    if (leaf.kind == WIDE) {
      copyBytes(at, p.value(row, leaf), leaf.bytes);
      at += leaf.bytes;
    }
    if (leaf.kind != SHARED) continue;
    memory.fill(out + <usize>(leaf.at - p.rowsAt), 0, (<usize>leaf.frames) << 2);
    for (let f: u32 = 0; f < leaf.frames; f++) {
      at = writeFrame(p, row, before, leaf, f, frame, at);
      frame += 1;
    }
  }
  return <u32>(at - out);
}

/** Appends the step of a record to a stream. Returns the number of bytes of the record; if nothing changed, 0 (invalid record) or a code. O(bytes) */
export function record_append(stream: usize, from: usize, bytes: u32): i32 {
  const s = changetype<Stream>(stream);
  const p = s.rows();
  const used = measure(p, s.last, from, bytes);
  if (used == 0) return 0;
  if (!makeRoom(s, 1) || !reserveRows(p, 1)) return E_OUT_OF_MEMORY;
  const row = p.take();
  let at = from + p.rowBytes;
  copyBytes(p.bytes(row), from, p.rowBytes);
  const frames = framesOf(p);
  for (let i: u32 = 0; i < p.leaves; i++) {
    const leaf = p.leaf(i);
    if (leaf.kind == WIDE) {
      copyBytes(p.value(row, leaf), at, leaf.bytes);
      at += leaf.bytes;
    }
    if (leaf.kind != SHARED) continue;
    for (let f: u32 = 0; f < leaf.frames; f++) {
      const code = <u32>load<u16>(at);
      at += 2;
      const name = code == ZEROS ? 0 : code == LITERAL ? newFrame(s, p, row, i, f, at) : sharedFrame(p, row, s.last, leaf, code - FIRST, frames);
      if (code == LITERAL) at += leaf.bytes;
      store<u32>(p.value(row, leaf) + ((<usize>f) << 2), name);
    }
  }
  s.notePush(p, row);
  s.push(p, row);
  return <i32>used;
}

/** Returns the number of bytes of a record; 0 if the record is invalid. */
function measure(p: Pool, before: u32, from: usize, bytes: u32): u32 {
  if (bytes < p.rowBytes) return 0;
  const frames = framesOf(p);
  let used = p.rowBytes;
  let frame: u32 = 0;
  for (let i: u32 = 0; i < p.leaves; i++) {
    const leaf = p.leaf(i);
    if (leaf.kind == WIDE) used += leaf.bytes;
    for (let f: u32 = 0; f < leaf.frames && leaf.kind == SHARED; f++, frame++) {
      if (used + 2 > bytes) return 0;
      const code = <u32>load<u16>(from + used);
      used += code == LITERAL ? 2 + leaf.bytes : 2;
      if (code >= FIRST && !canShare(p, before, leaf, code - FIRST, frames, frame)) return 0;
    }
    if (used > bytes) return 0;
  }
  return used;
}

function newFrame(s: Stream, p: Pool, row: u32, i: u32, f: u32, from: usize): u32 {
  const leaf = p.leaf(i);
  const frames = changetype<Pool>(<usize>leaf.pool);
  return takeFrame(frames, from, leaf.bytes, frames.packs() ? frameBefore(p, s.last, row, i, f) : 0);
}

/** Whether the k-th frame, counted over the previous step and then this step, exists, precedes this step's `frame`-th frame, and is in the pool of `like`. */
function canShare(p: Pool, before: u32, like: Leaf, k: u32, frames: u32, frame: u32): bool {
  const own = k >= frames;
  if (own) k -= frames;
  if (own ? k >= frame : before == 0) return false;
  const place = placeOf(p, k);
  const leaf = p.leaf(<u32>place);
  return leaf.pool == like.pool && (own || nameOf(p, before, leaf, <u32>(place >> 32)) != 0);
}

/** Holds the k-th frame, counted over the previous step and then this step, once more, and returns its name. */
function sharedFrame(p: Pool, row: u32, before: u32, like: Leaf, k: u32, frames: u32): u32 {
  const own = k >= frames;
  if (own) k -= frames;
  const place = placeOf(p, k);
  const name = nameOf(p, own ? row : before, p.leaf(<u32>place), <u32>(place >> 32));
  if (name != 0) changetype<Pool>(<usize>like.pool).retain(name);
  return name;
}

function framesOf(p: Pool): u32 {
  let frames: u32 = 0;
  for (let i: u32 = 0; i < p.leaves; i++) if (p.leaf(i).kind == SHARED) frames += p.leaf(i).frames;
  return frames;
}

/** Returns the place of the k-th frame of a step: the index of its leaf in the lower half, and its index among the leaf's frames in the upper half. */
function placeOf(p: Pool, k: u32): u64 {
  let i: u32 = 0;
  for (; i < p.leaves; i++) {
    const leaf = p.leaf(i);
    if (leaf.kind != SHARED) continue;
    if (k < leaf.frames) break;
    k -= leaf.frames;
  }
  return ((<u64>k) << 32) | i;
}

function nameOf(p: Pool, row: u32, leaf: Leaf, f: u32): u32 {
  return load<u32>(p.value(row, leaf) + ((<usize>f) << 2));
}

function writeFrame(p: Pool, row: u32, before: u32, leaf: Leaf, f: u32, frame: u32, at: usize): usize {
  const name = nameOf(p, row, leaf, f);
  const known = name == 0 ? 0 : findFrame(p, row, before, leaf, name, frame);
  store<u16>(at, name == 0 ? ZEROS : known != 0 ? <u16>known : LITERAL);
  if (name == 0 || known != 0) return at + 2;
  const frames = changetype<Pool>(<usize>leaf.pool);
  copyFrame(frames, name, leaf.bytes, at + 2);
  return at + 2 + leaf.bytes;
}

/** Returns the code of a frame that occurs in the previous step, or in this step before its `frame`-th frame; 0 if it occurs in neither. */
function findFrame(p: Pool, row: u32, before: u32, like: Leaf, name: u32, frame: u32): u32 {
  let k: u32 = 0;
  let own: u32 = 0;
  for (let i: u32 = 0; i < p.leaves; i++) {
    const leaf = p.leaf(i);
    if (leaf.kind != SHARED) continue;
    for (let f: u32 = 0; f < leaf.frames; f++, k++) {
      if (leaf.pool != like.pool) continue;
      if (before != 0 && nameOf(p, before, leaf, f) == name) return within(FIRST + k);
      if (own == 0 && k < frame && nameOf(p, row, leaf, f) == name) own = FIRST + framesOf(p) + k;
    }
  }
  return within(own);
}

/** Returns a code, or 0 if it exceeds 16 bits, so that the bytes of the frame are written instead. */
function within(code: u32): u32 {
  return code > 0xffff ? 0 : code;
}
