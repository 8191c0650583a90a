/** A Replay out of a short text: read line by line, then checked as a whole, then made. */
import { arena_alloc } from "../memory/arena";
import { E_OUT_OF_MEMORY } from "../memory/error";
import { GRANULE_BITS, header, MAX_BYTES } from "../memory/layout";
import { layout_place } from "../rows/layout";
import { BOOL, TEXT } from "../rows/leaf";
import { pool_bytes, pool_init, pool_leaf, pool_open } from "../rows/pool";
import { wholeOf } from "./decimal";
import { makeWriters, readRule, readWriter, settleDesks } from "./desk";
import { FIELD_BYTES, Field, frameBytes, noRoom, otherFrames, readLeaf, readList, settleFields } from "./field";
import { settleViews } from "./pick";
import { INVALID, INVALID_DATA, OUT_OF_TURN, Refusal } from "./refusal";
import { checkRoles, initRoles, NAMES_BYTES, readRole } from "./roles";
import { clean, outside, Root, reset } from "./root";
import { makeTables, readTable } from "./shelf";
import { isUtf8 } from "./utf8";
import { readView } from "./view";
import { sameWord, Words } from "./words";

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

/** Makes the Replay that a text says. Its handle; 0: it was refused, and nothing is there. */
export function replay_create(text: usize, bytes: u32): u32 {
  const root = Root.the();
  if (root.open != 0) {
    Refusal.of(OUT_OF_TURN).put("this instance has a Replay (handle ").number(root.handle).put("): free it first, or take another instance");
    return 0;
  }
  if (!root.holds(text, bytes)) {
    outside("the text", text, bytes);
    return 0;
  }
  clean();
  const inputBytes = root.inputBytes;
  if (make(root, text, bytes) != 0) {
    reset(inputBytes);
    return 0;
  }
  root.open = 1;
  root.handle += 1;
  if (root.handle == 0) root.handle = 1;
  return root.handle;
}

function make(root: Root, text: usize, bytes: u32): i32 {
  if (!isUtf8(text, bytes)) return Refusal.of(INVALID_DATA).put("the text must be UTF-8").code;
  // A copy: names stay in it. The roles' own stand before it.
  root.textBytes = bytes + NAMES_BYTES;
  root.text = arena_alloc(root.textBytes);
  if (root.text == 0) return noRoom();
  initRoles(root.text);
  memory.copy(root.text + NAMES_BYTES, text, bytes);
  root.maxBytes = MAX_BYTES;
  let code = readLines(Words.of(root.text + NAMES_BYTES, bytes));
  if (code == 0) code = settleFields();
  if (code == 0) code = checkRoles();
  if (code == 0) code = settleDesks();
  if (code == 0) code = settleViews();
  if (code != 0) return code;
  header().limit = root.maxBytes >> GRANULE_BITS;
  code = makePools(root);
  if (code == 0) code = makeTables();
  return code == 0 ? makeWriters() : code;
}

function readLines(words: Words): i32 {
  while (words.nextLine()) {
    const code = readLine(words);
    if (code != 0) return code;
  }
  return 0;
}

function readLine(words: Words): i32 {
  if (words.is("leaf")) return readLeaf(words);
  if (words.is("list")) return readList(words);
  if (words.is("role")) return readRole(words);
  if (words.is("table")) return readTable(words);
  if (words.is("writer")) return readWriter(words);
  if (words.is("rule")) return readRule(words);
  if (words.is("view")) return readView(words);
  if (words.is("seed")) return readSeed(words);
  if (words.is("bytes")) return readBytes(words);
  return words.refused("a line", "one that begins with leaf, list, role, table, writer, rule, view, seed or bytes");
}

/** seed N */
function readSeed(words: Words): i32 {
  if (words.want("the seed") != 0) return INVALID;
  if (wholeOf(words.word, words.bytes, changetype<usize>(Root.the()) + offsetof<Root>("seed"))) return words.done();
  return words.refused("the seed", "a whole number below 2^64");
}

/** bytes N */
function readBytes(words: Words): i32 {
  if (words.integer("bytes", 1, 4294967296) != 0) return INVALID;
  Root.the().maxBytes = <u32>min(words.value, <f64>MAX_BYTES);
  return words.done();
}

/** Places the leaves, and makes the pools: of frames, then of steps. 0, or what is refused. */
function makePools(root: Root): i32 {
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
