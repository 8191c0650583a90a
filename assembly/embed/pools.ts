/** The pools of a Replay: one for the frames of each name under which leaves share values, then that of the steps. */
import { arena_alloc } from "../memory/arena";
import { E_OUT_OF_MEMORY } from "../memory/error";
import { MAX_BYTES } from "../memory/layout";
import { layout_place, Place } from "../rows/layout";
import { BOOL, TEXT } from "../rows/leaf";
import { pool_bytes, pool_init, pool_leaf, pool_open } from "../rows/pool";
import { FIELD_BYTES, Field } from "./field";
import { noRoom, Refusal, SPEC_MISMATCH } from "./refusal";
import { Root } from "./root";
import { sameWord } from "./text-reader";

/** SHARE, 16 bytes: the pool of the frames that leaves of one name share. */
@unmanaged
class Share {
  name: u32;
  bytes: u32;
  frameBytes: u32;
  pool: u32;

  @inline
  static of(i: u32): Share {
    return changetype<Share>(Root.the().shares().get(i));
  }
}
const SHARE_BYTES: u32 = 16;
if (offsetof<Share>() != SHARE_BYTES) ERROR("SHARE is 16 bytes");

/** Pools: of frames first, then of steps. */
export function poolCount(): u32 {
  return Root.the().shares().count + 1;
}

export function poolOf(id: u32): u32 {
  return id < Root.the().shares().count ? Share.of(id).pool : Root.the().pool;
}

/** Places the leaves, and makes the pools: of frames, then of steps. 0, or what is refused. */
export function makePools(root: Root): i32 {
  const fields = root.fields();
  for (let i: u32 = 0; i < fields.count; i++) {
    const field = Field.of(i);
    root.checked |= u32(field.dtype == BOOL || field.dtype == TEXT);
    const code = field.isShared != 0 ? share(root, field) : 0;
    if (code != 0) return code;
  }
  layout_place(fields.get(0), FIELD_BYTES, fields.count, root.placed());
  if (root.stagedBytes > <f64>MAX_BYTES) return Refusal.of(E_OUT_OF_MEMORY).put("a step must have less than 4 GiB, got ").number(root.stagedBytes).code;
  root.pool = arena_alloc(pool_bytes(fields.count));
  if (root.pool == 0) return noRoom();
  pool_init(root.pool, root.rowBytes, fields.count);
  for (let i: u32 = 0; i < fields.count; i++) {
    const field = Field.of(i);
    const frames = field.isShared != 0 ? Share.of(field.shared - 1).pool : 0;
    pool_leaf(root.pool, i, field.kind, field.dtype, frameBytes(field), field.offset, field.staged, field.frames, frames);
  }
  pool_open(root.pool);
  return 0;
}

/** The pool of a leaf that shares its values, by its number + 1: a new one for the first leaf of a name. 0, or what is refused. */
function share(root: Root, field: Field): i32 {
  const shares = root.shares();
  const bytes = frameBytes(field);
  for (let i: u32 = 0; i < shares.count; i++) {
    const known = Share.of(i);
    if (!sameWord(known.name, known.bytes, field.share, field.shareBytes)) continue;
    if (known.frameBytes != bytes) return otherFrames(field, known.frameBytes);
    field.shared = i + 1;
    return 0;
  }
  const at = shares.push(SHARE_BYTES);
  const pool = arena_alloc(pool_bytes(1));
  if (at == 0 || pool == 0) return noRoom();
  const made = changetype<Share>(at);
  made.name = field.share;
  made.bytes = field.shareBytes;
  made.frameBytes = bytes;
  made.pool = pool;
  field.shared = shares.count;
  pool_init(pool, (bytes + 7) & ~7, 1);
  pool_leaf(pool, 0, 0, 0, bytes, 0, 0, 1, 0);
  pool_open(pool);
  return 0;
}

/** Bytes of one of its frames, or of the value. */
function frameBytes(field: Field): u32 {
  return changetype<Place>(changetype<usize>(field)).bytes / field.frames;
}

/** A leaf that shares values must have frames as large as the others of its name. */
function otherFrames(field: Field, bytes: u32): i32 {
  const refusal = Refusal.of(SPEC_MISMATCH).put("a frame of ").word(field.path, field.bytes).put(" must be of ").number(bytes);
  refusal.put(" bytes, like the other leaves shared as ").word(field.share, field.shareBytes);
  return refusal.put(", got ").number(frameBytes(field)).code;
}
