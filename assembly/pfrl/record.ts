/**
 * A step as bytes without addresses, for files: a frame that the step before has too, or this one earlier, is named instead of written.
 *
 * RECORD: │ the row's bytes, the names of shared frames left out │ each WIDE value, and each frame of a SHARED leaf, in the order of the leaves │
 *   a frame: u16, 0 zeros · 1 its bytes follow · 2 + k the k-th frame of the step before, counted over all its leaves · and behind those, of this step
 */
import { copyBytes } from "../bytes";
import { Leaf, NARROW, SHARED, WIDE } from "../leaf";
import { Pool } from "../pool";

const ZEROS: u16 = 0;
const LITERAL: u16 = 1;
const FIRST: u32 = 2;

/** Bytes of a record at most. */
export function record_most(pool: usize): u32 {
  const p = changetype<Pool>(pool);
  let bytes = p.rowBytes;
  for (let i: u32 = 0; i < p.leaves; i++) {
    const leaf = p.leaf(i);
    if (leaf.kind == WIDE) bytes += leaf.bytes;
    if (leaf.kind == SHARED) bytes += leaf.frames * (leaf.bytes + 2);
  }
  return bytes;
}

/** Writes a row's record; how many bytes. `before`: the row of the step before, 0 for none. */
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

/** Makes a staging record of a record; how many bytes it had, 0 where it is none. */
export function record_read(pool: usize, from: usize, bytes: u32, before: u32, staged: usize): u32 {
  const p = changetype<Pool>(pool);
  const end = from + <usize>bytes;
  if (bytes < p.rowBytes) return 0;
  copyBytes(staged, from, p.rowBytes);
  let at = from + p.rowBytes;
  const frames = framesOf(p);
  let frame: u32 = 0;
  for (let i: u32 = 0; i < p.leaves; i++) {
    const leaf = p.leaf(i);
    if (leaf.kind == NARROW) continue;
    const count: u32 = leaf.kind == SHARED ? leaf.frames : 1;
    for (let f: u32 = 0; f < count; f++) {
      const to = staged + <usize>leaf.staged + <usize>(f * leaf.bytes);
      let code = <u32>LITERAL;
      if (leaf.kind == SHARED) {
        if (at + 2 > end) return 0;
        code = load<u16>(at);
        at += 2;
        frame += 1;
      }
      if (code == ZEROS) memory.fill(to, 0, leaf.bytes);
      else if (code == LITERAL) {
        if (at + leaf.bytes > end) return 0;
        copyBytes(to, at, leaf.bytes);
        at += leaf.bytes;
      } else if (!readFrame(p, before, leaf, code - FIRST, frames, frame - 1, staged, to)) return 0;
    }
  }
  return <u32>(at - from);
}

function framesOf(p: Pool): u32 {
  let frames: u32 = 0;
  for (let i: u32 = 0; i < p.leaves; i++) if (p.leaf(i).kind == SHARED) frames += p.leaf(i).frames;
  return frames;
}

/** The leaf that has the k-th frame of a step. */
function leafOf(p: Pool, k: u32): u32 {
  let i: u32 = 0;
  for (; i < p.leaves; i++) {
    const leaf = p.leaf(i);
    if (leaf.kind != SHARED) continue;
    if (k < leaf.frames) break;
    k -= leaf.frames;
  }
  return i;
}

/** Where the k-th frame of a step stands in its leaf. */
function placeOf(p: Pool, k: u32): u32 {
  for (let i: u32 = 0; i < p.leaves; i++) {
    const leaf = p.leaf(i);
    if (leaf.kind != SHARED) continue;
    if (k < leaf.frames) break;
    k -= leaf.frames;
  }
  return k;
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
  copyBytes(at + 2, frames.value(name, frames.leaf(0)), leaf.bytes);
  return at + 2 + leaf.bytes;
}

/** The code of a frame that the step before has, or this one before its `frame`-th; 0 where none has. */
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

/** Codes have 16 bits: what has a larger one is written. */
function within(code: u32): u32 {
  return code > 0xffff ? 0 : code;
}

function readFrame(p: Pool, before: u32, like: Leaf, k: u32, frames: u32, frame: u32, staged: usize, to: usize): bool {
  const own = k >= frames;
  if (own) k -= frames;
  // Only what stands before it.
  if (own ? k >= frame : before == 0) return false;
  const leaf = p.leaf(leafOf(p, k));
  const f = placeOf(p, k);
  if (leaf.pool != like.pool) return false;
  if (own) {
    copyBytes(to, staged + <usize>leaf.staged + <usize>(f * leaf.bytes), leaf.bytes);
    return true;
  }
  const name = nameOf(p, before, leaf, f);
  if (name == 0) return false;
  const from = changetype<Pool>(<usize>leaf.pool);
  copyBytes(to, from.value(name, from.leaf(0)), leaf.bytes);
  return true;
}
