/**
 * Makes the pools of a Replay, in the order of snapshots: the pools of packed frame entries, one pool of frames for each name under which leaves share values,
 * and the pool of steps.
 */
import { arena_alloc } from "../memory/arena";
import { E_OUT_OF_MEMORY } from "../memory/error";
import { MAX_BYTES } from "../memory/layout";
import { layout_place } from "../rows/layout";
import { BOOL, ENTRY, isHalf, NARROW, PACKED, TEXT } from "../rows/leaf";
import { packs_init } from "../rows/packed-frame";
import { packs_bytes } from "../rows/packs";
import { Pool, pool_bytes, pool_init, pool_leaf, pool_open } from "../rows/pool";
import { FIELD_BYTES, Field } from "./field";
import { noRoom, Refusal, SPEC_MISMATCH } from "./refusal";
import { Root } from "./root";
import { sameWord } from "./text-reader";

/** SHARE, 24 bytes: the pool of the frames that the leaves with one share name have in common. `ratio` is 0 if the frames are not packed. */
@unmanaged
class Share {
  name: u32;
  bytes: u32;
  frameBytes: u32;
  pool: u32;
  ratio: f64;

  @inline
  static of(i: u32): Share {
    return changetype<Share>(Root.the().shares().get(i));
  }
}
const SHARE_BYTES: u32 = 24;
if (offsetof<Share>() != SHARE_BYTES) ERROR("SHARE is 24 bytes");

export function poolCount(): u32 {
  return Root.the().pools().count;
}

export function poolOf(id: u32): u32 {
  return load<u32>(Root.the().pools().get(id));
}

/** Whether a pool contains entries of packed frames, whose records differ in size. */
export function isOfEntries(id: u32): bool {
  return changetype<Pool>(<usize>poolOf(id)).hasEntries();
}

/** Places the leaves, and makes the pools. Returns 0, or the code of a refusal. */
export function makePools(root: Root): i32 {
  const fields = root.fields();
  for (let i: u32 = 0; i < fields.count; i++) {
    const field = Field.of(i);
    root.checked |= u32(field.dtype == BOOL || field.dtype == TEXT) | isHalf(field.dtype);
    const code = field.isShared != 0 ? share(root, field) : 0;
    if (code != 0) return code;
  }
  layout_place(fields.get(0), FIELD_BYTES, fields.count, root.placed());
  const bytes = placeArrays(root);
  if (bytes > <f64>MAX_BYTES) return Refusal.of(E_OUT_OF_MEMORY).put("a step must be smaller than 4 GiB, got ").number(bytes).put(" bytes").code;
  root.stepBytes = <u32>bytes;
  // The pools of frames follow the pools of entries, which `makePacks` has already added to the list.
  for (let i: u32 = 0; i < root.shares().count; i++) if (!list(Share.of(i).pool)) return noRoom();
  root.pool = arena_alloc(pool_bytes(fields.count));
  if (root.pool == 0 || !list(root.pool)) return noRoom();
  pool_init(root.pool, root.rowBytes, fields.count);
  for (let i: u32 = 0; i < fields.count; i++) {
    const field = Field.of(i);
    const frames = field.isShared != 0 ? Share.of(field.shared - 1).pool : 0;
    pool_leaf(root.pool, i, field.kind, field.dtype, field.frameBytes(), field.offset, field.staged, field.frames, frames);
  }
  pool_open(root.pool);
  return 0;
}

/** Places the leaves in packed steps; half floats are stored there as f32, after the staged part. Returns the number of bytes of a step. */
function placeArrays(root: Root): f64 {
  let bytes = root.stagedBytes;
  for (let i: u32 = 0; i < root.fields().count; i++) {
    const field = Field.of(i);
    field.array = field.staged;
    if (isHalf(field.dtype) == 0) continue;
    field.array = <u32>bytes;
    bytes = Math.ceil((bytes + <f64>field.arrayBytes()) / 16) * 16;
  }
  return bytes;
}

/**
 * Sets `shared` of a leaf that shares its values to the number + 1 of its SHARE. Makes this SHARE and its pool for the first leaf of a name. Returns 0, or the
 * code of a refusal.
 */
function share(root: Root, field: Field): i32 {
  const shares = root.shares();
  const bytes = field.frameBytes();
  for (let i: u32 = 0; i < shares.count; i++) {
    const known = Share.of(i);
    if (!sameWord(known.name, known.bytes, field.share, field.shareBytes)) continue;
    if (known.frameBytes != bytes) return otherFrames(field, known.frameBytes);
    if (known.ratio != field.ratio) return otherRatio(field, known.ratio);
    field.shared = i + 1;
    return 0;
  }
  const at = shares.push(SHARE_BYTES);
  const packs = field.ratio == 0 ? 0 : makePacks(field);
  const pool = arena_alloc(pool_bytes(1));
  if (at == 0 || pool == 0 || (packs == 0 && field.ratio != 0)) return noRoom();
  const made = changetype<Share>(at);
  made.name = field.share;
  made.bytes = field.shareBytes;
  made.frameBytes = bytes;
  made.pool = pool;
  made.ratio = field.ratio;
  field.shared = shares.count;
  open(pool, packs == 0 ? (bytes + 7) & ~7 : 0, packs == 0 ? NARROW : PACKED, bytes, packs);
  return 0;
}

/** Makes the packs for frames like those of a leaf, with the pool of their entries; 0 if there is no memory. */
function makePacks(field: Field): u32 {
  const packs = arena_alloc(packs_bytes());
  const entries = arena_alloc(pool_bytes(1));
  if (packs == 0 || entries == 0 || !list(entries)) return 0;
  open(entries, 0, ENTRY, field.frameBytes(), packs);
  return packs_init(packs, field.frameBytes(), field.imageRowBytes(), field.pixelBytes(), entries) == 0 ? packs : 0;
}

/** Makes a pool of one leaf. */
function open(pool: u32, rowBytes: u32, kind: u32, bytes: u32, packs: u32): void {
  pool_init(pool, rowBytes, 1);
  pool_leaf(pool, 0, kind, 0, bytes, 0, 0, 1, packs);
  pool_open(pool);
}

/** Appends a pool to the list; false if there is no memory. */
function list(pool: u32): bool {
  const at = Root.the().pools().push(4);
  if (at != 0) store<u32>(at, pool);
  return at != 0;
}

/** Refuses a leaf whose frames have a different size than those of the other leaves with the same share name. */
function otherFrames(field: Field, bytes: u32): i32 {
  const refusal = Refusal.of(SPEC_MISMATCH).put("a frame of ").word(field.path, field.bytes).put(" must have ").number(bytes);
  refusal.put(" bytes, as for the other leaves shared as ").word(field.share, field.shareBytes);
  return refusal.put(", got ").number(field.frameBytes()).code;
}

/** Refuses a leaf that is packed differently from the other leaves with the same share name. */
function otherRatio(field: Field, ratio: f64): i32 {
  const refusal = Refusal.of(SPEC_MISMATCH).word(field.path, field.bytes).put(" must be ");
  putRatio(refusal, ratio).put(", as for the other leaves shared as ").word(field.share, field.shareBytes).put(", got ");
  return putRatio(refusal, field.ratio).code;
}

function putRatio(refusal: Refusal, ratio: f64): Refusal {
  return ratio == 0 ? refusal.put("unpacked") : refusal.put("packed with ratio ").number(ratio);
}
