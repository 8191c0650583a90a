/**
 * Defines the leaves of a step as given in the text, and their order, which is the same as in TypeScript: names by UTF-16 code units, the parts of a list by
 * number.
 *
 * FIELD, 80 bytes:
 *    0 │ PLACE (24)                   │  rows/layout.ts
 *   24 │ path u32      │ bytes u32    │
 *   32 │ share u32     │ bytes u32    │  the name under which equal values are stored once; 0 bytes for none
 *   40 │ dtype u32     │ maxBytes u32 │  maxBytes: of text
 *   48 │ dims u32      │ rank u32     │  the place in the list of dims at which its shape begins; a stack comes first
 *   56 │ size u32      │ stack u32    │  elements of a value with all of its frames · frames; 0 without a stack
 *   64 │ isShared u32  │ array u32    │  · its offset in a packed step: half floats are f32 there, after the staged part
 *   72 │ ratio f64                    │  the expected compression ratio of a packed leaf; 0 if the leaf is not packed
 */

import { PLACE_BYTES } from "../rows/layout";
import { BOOL, dtypeBytes, dtypeName, isHalf, TEXT } from "../rows/leaf";
import { MAX_FRAME } from "../rows/packs";
import { GrowingArray } from "./growing-array";
import { INVALID, noRoom, Refusal } from "./refusal";
import { Root } from "./root";
import { sameWord, TextReader, Word } from "./text-reader";
import { compareText, isText } from "./utf8";

export const MAX_DEPTH: u32 = 64;
export const MAX_STACK: f64 = 1024;
/** The maximum size of a value, in bytes. */
export const MAX_VALUE_BYTES: f64 = 0x3fffffff;
/** The minimum size of a packed frame, in bytes (src/schema/constructors.ts). */
const MIN_PACKED_BYTES: u32 = 256;
/** The default compression ratio of packed frames (src/schema/constructors.ts). */
const DEFAULT_RATIO: f64 = 4;
/** The maximum number of channels of a pixel, if they are the last dimension (src/schema/layout.ts). */
const MAX_CHANNELS: u32 = 4;
const DOT: u32 = 46;

@unmanaged
export class Field {
  valueBytes: u32;
  frames: u32;
  shared: u32;
  kind: u32;
  offset: u32;
  staged: u32;
  path: u32;
  bytes: u32;
  share: u32;
  shareBytes: u32;
  dtype: u32;
  maxBytes: u32;
  dims: u32;
  rank: u32;
  size: u32;
  stack: u32;
  isShared: u32;
  array: u32;
  ratio: f64;

  @inline
  static of(i: u32): Field {
    return changetype<Field>(Root.the().fields().get(i));
  }

  /** Returns the number of bytes of one element. */
  elementBytes(): u32 {
    return this.dtype == TEXT ? (4 + this.maxBytes + 3) & ~3 : dtypeBytes(this.dtype);
  }

  /** Returns the number of bytes of the leaf's value in a host's format. */
  arrayBytes(): u32 {
    return this.valueBytes << isHalf(this.dtype);
  }

  /** Returns the number of bytes of one of the leaf's frames, or of the value if it has no stack. */
  frameBytes(): u32 {
    return this.valueBytes / this.frames;
  }

  /** Returns the dimension `back` places before the last one, of the value without its stack; 1 if that dimension does not exist. */
  private dim(back: u32): u32 {
    const rank = this.rank - u32(this.stack != 0);
    return back < rank
      ? load<u32>(
          Root.the()
            .dims()
            .get(this.dims + this.rank - 1 - back),
        )
      : 1;
  }

  /** Whether a frame is an image with channels: the frame has at least three dimensions, and the last one is at most MAX_CHANNELS. */
  private hasChannels(): bool {
    return this.rank - u32(this.stack != 0) > 2 && this.dim(0) <= MAX_CHANNELS;
  }

  /** Returns the number of bytes of a pixel, if a frame is an image, as in TypeScript (src/schema/layout.ts). */
  pixelBytes(): u32 {
    return this.elementBytes() * (this.hasChannels() ? this.dim(0) : 1);
  }

  /** Returns the number of bytes of an image row, if a frame is an image, as in TypeScript. */
  imageRowBytes(): u32 {
    return this.pixelBytes() * this.dim(u32(this.hasChannels()));
  }

  /** Whether the leaf is at a path, or below that path. */
  isIn(path: u32, bytes: u32): bool {
    if (this.bytes < bytes || memory.compare(this.path, path, bytes) != 0) return false;
    return this.bytes == bytes || (<u32>load<u8>(<usize>(this.path + bytes)) == DOT && bytes != 0);
  }

  is(path: u32, bytes: u32): bool {
    return sameWord(this.path, this.bytes, path, bytes);
  }
}
export const FIELD_BYTES: u32 = 80;
if (offsetof<Field>() != FIELD_BYTES || offsetof<Field>("path") != PLACE_BYTES) ERROR("FIELD is 80 bytes, PLACE first");

/** Reads the line `leaf PATH DTYPE SIZE… [shared NAME [stack N]]`, the same line with `packed NAME [stack N] [ratio R]`, or `leaf PATH text MAXBYTES SIZE…`. */
export function readLeaf(words: TextReader): i32 {
  const root = Root.the();
  const at = words.entry(root.fields(), FIELD_BYTES, "leaves");
  if (at == 0) return Refusal.last();
  const field = changetype<Field>(at);
  let code = words.keep("the path of the leaf", at + offsetof<Field>("path"));
  if (code == 0) code = words.want("the dtype of the leaf");
  if (code != 0) return code;
  field.dtype = words.is("text") ? TEXT : dtypeNamed(words.word, words.bytes);
  if (words.broken != 0 || field.dtype > TEXT || words.is("string")) return noDtype(words);
  field.frames = 1;
  field.dims = root.dims().count;
  if (field.dtype == TEXT) {
    code = words.integer("the maximum size of a text", 1, MAX_VALUE_BYTES);
    if (code != 0) return code;
    field.maxBytes = <u32>words.value;
  }
  return readShape(words, field);
}

/** Reads the line `list PATH`, which declares that the parts of a path are numbered. */
export function readList(words: TextReader): i32 {
  const at = words.entry(Root.the().lists(), offsetof<Word>(), "lists");
  if (at == 0) return Refusal.last();
  const code = words.keep("the path of the list", at);
  return code == 0 ? words.done() : code;
}

/** Returns the dtype that a word names, or the number after TEXT if the word names none. */
export function dtypeNamed(word: u32, bytes: u32): u32 {
  let dtype = BOOL;
  while (dtype <= TEXT && !isText(word, bytes, dtypeName(dtype))) dtype++;
  return dtype;
}

/** Refuses a word that does not name a dtype. */
function noDtype(words: TextReader): i32 {
  const refusal = words.here(INVALID).put("the dtype must be ");
  for (let dtype = BOOL; dtype < TEXT; dtype++) refusal.put(dtype == BOOL ? "" : ", ").put(dtypeName(dtype));
  return words.got(refusal.put(" or text"));
}

/** Reads the rest of a leaf's line. The number of frames of a stack becomes the first dimension of the shape. */
function readShape(words: TextReader, field: Field): i32 {
  const dims = Root.the().dims();
  // Reserves a place for the stack, because the text has the number of frames after the sizes.
  const first = dims.push(4);
  if (first == 0) return noRoom();
  while (words.next()) {
    const isPacked = words.is("packed");
    if (isPacked || words.is("shared")) {
      const code = readFrames(words, field, isPacked);
      if (code != 0) return code;
      break;
    }
    if (!words.isInteger(1, 0x7fffffff)) return words.unknown("shared, packed or a size of at least 1");
    const dim = dims.push(4);
    if (dim == 0) return noRoom();
    store<u32>(dim, <u32>words.value);
    field.rank += 1;
  }
  if (field.stack == 0) field.dims += 1;
  else {
    store<u32>(dims.get(field.dims), field.stack);
    field.rank += 1;
  }
  return endField(words, field);
}

/** Sets the size of a leaf's value from its shape. Returns 0 or INVALID. */
export function endField(words: TextReader, field: Field): i32 {
  // The size is a float, because a float does not wrap around.
  let size: f64 = 1;
  for (let i: u32 = 0; i < field.rank; i++) size *= <f64>load<u32>(
      Root.the()
        .dims()
        .get(field.dims + i),
    );
  const bytes = size * <f64>field.elementBytes();
  if (bytes > MAX_VALUE_BYTES) {
    const refusal = words.here(INVALID).put("a value of ").word(field.path, field.bytes);
    return refusal.put(" must have at most ").number(MAX_VALUE_BYTES).put(" bytes, got ").number(bytes).code;
  }
  field.size = <u32>size;
  field.valueBytes = <u32>bytes;
  if (field.ratio == 0 || (field.frameBytes() >= MIN_PACKED_BYTES && field.frameBytes() <= MAX_FRAME)) return 0;
  const refusal = words.here(INVALID).put("a packed frame of ").word(field.path, field.bytes).put(" must have ").number(MIN_PACKED_BYTES);
  return refusal.put(" to ").number(MAX_FRAME).put(" bytes, got ").number(field.frameBytes()).put(". Use shared for smaller frames").code;
}

/** Reads `NAME [stack N]`, and `[ratio R]` for packed leaves. */
function readFrames(words: TextReader, field: Field, isPacked: bool): i32 {
  field.isShared = 1;
  if (isPacked) field.ratio = DEFAULT_RATIO;
  let code = words.keep(isPacked ? "the name after packed" : "the name after shared", changetype<usize>(field) + offsetof<Field>("share"));
  while (code == 0 && words.next()) {
    if (words.is("stack")) {
      code = words.integer("the number of frames of a stack", 1, MAX_STACK);
      field.stack = <u32>words.value;
      field.frames = field.stack;
    } else if (isPacked && words.is("ratio")) {
      code = words.number("the ratio", 1, f64.MAX_VALUE);
      field.ratio = words.value;
    } else return words.refused("the word after the name", isPacked ? "stack or ratio" : "stack");
  }
  return code;
}

/** Puts the leaves in order. Returns 0, or a code if the paths cannot belong to one nest. O(leaves log leaves) comparisons, O(leaves²) moves */
export function settleFields(): i32 {
  const fields = Root.the().fields();
  if (fields.count == 0) return Refusal.of(INVALID).put("the text must have a leaf, such as leaf observation f32 4").code;
  // The entry after the last one is a temporary place for moves.
  const spare = fields.push(FIELD_BYTES);
  if (spare == 0) return noRoom();
  fields.count -= 1;
  for (let i: u32 = 1; i < fields.count; i++) {
    let end = i - 1;
    if (compare(Field.of(end), Field.of(i)) <= 0) continue;
    let to: u32 = 0;
    while (to < end) {
      const middle = (to + end) >> 1;
      if (compare(Field.of(middle), Field.of(i)) > 0) end = middle;
      else to = middle + 1;
    }
    memory.copy(spare, fields.get(i), FIELD_BYTES);
    memory.copy(fields.get(to + 1), fields.get(to), <usize>((i - to) * FIELD_BYTES));
    memory.copy(fields.get(to), spare, FIELD_BYTES);
  }
  for (let i: u32 = 0; i < fields.count; i++) {
    const code = checkPath(Field.of(i));
    if (code != 0) return code;
    if (i == 0 || !Field.of(i).isIn(Field.of(i - 1).path, Field.of(i - 1).bytes)) continue;
    const refusal = Refusal.of(INVALID).put("the path ").word(Field.of(i).path, Field.of(i).bytes);
    return refusal.put(" must not equal or begin with the path of another leaf").code;
  }
  if (fields.count > 1 && Field.of(0).bytes == 0) return Refusal.of(INVALID).put('a leaf with the path "" must be the only leaf').code;
  return checkLists(Root.the().lists());
}

/** Compares the paths of two leaves. Returns a number below 0 if `a` comes first, above 0 if `b` comes first, and 0 if the paths are equal. */
function compare(a: Field, b: Field): i32 {
  let from: u32 = 0;
  while (true) {
    const x = partEnd(a, from);
    const y = partEnd(b, from);
    const same = sameWord(a.path + from, x - from, b.path + from, y - from);
    if (!same) {
      if (!isList(a.path, from)) return compareText(a.path + from, x - from, b.path + from, y - from);
      // The numbers have no leading zeros, so the longer one is larger.
      return x != y ? <i32>x - <i32>y : memory.compare(a.path + from, b.path + from, x - from);
    }
    if (x == a.bytes || y == b.bytes) return <i32>a.bytes - <i32>b.bytes;
    from = x + 1;
  }
}

/** Returns the place at which the part of a path that begins at `from` ends. */
export function partEnd(field: Field, from: u32): u32 {
  while (from < field.bytes && <u32>load<u8>(<usize>(field.path + from)) != DOT) from++;
  return from;
}

/** Whether the parts that begin at `from` of a path are numbered. */
export function isList(path: u32, from: u32): bool {
  const lists = Root.the().lists();
  const bytes = from == 0 ? 0 : from - 1;
  for (let i: u32 = 0; i < lists.count; i++) {
    const list = changetype<Word>(lists.get(i));
    // The step itself has the path "", which would also be the path of a part without a name.
    if ((from != 0) == (list.bytes != 0) && sameWord(list.at, list.bytes, path, bytes)) return true;
  }
  return false;
}

/** Checks that the parts of lists are numbers. Returns 0 or INVALID. */
function checkPath(field: Field): i32 {
  let depth: u32 = 0;
  for (let from: u32 = 0; from <= field.bytes; depth++) {
    const end = partEnd(field, from);
    const isProto = isText(field.path + from, end - from, "__proto__");
    if (isProto || (isList(field.path, from) && !isNumber(field.path + from, end - from))) {
      const refusal = Refusal.of(INVALID).put("the path ").word(field.path, field.bytes).put(" must have ");
      return refusal.put(isProto ? "no part named __proto__" : "a number (0, 1, …) in each list").code;
    }
    from = end + 1;
  }
  if (depth <= MAX_DEPTH) return 0;
  return Refusal.of(INVALID).put("the path ").word(field.path, field.bytes).put(" must have at most 64 parts, got ").number(depth).code;
}

/** Checks that the parts of each list have all numbers from 0 on. Returns 0 or INVALID. */
function checkLists(lists: GrowingArray): i32 {
  const fields = Root.the().fields();
  for (let k: u32 = 0; k < lists.count; k++) {
    const list = changetype<Word>(lists.get(k));
    let next: f64 = 0;
    for (let i: u32 = 0; i < fields.count; i++) {
      const field = Field.of(i);
      if (list.bytes != 0 && (!field.isIn(list.at, list.bytes) || field.bytes == list.bytes)) continue;
      const from: u32 = list.bytes == 0 ? 0 : list.bytes + 1;
      let number: f64 = 0;
      for (let at = from; at < partEnd(field, from); at++) number = number * 10 + <f64>load<u8>(<usize>(field.path + at)) - 48;
      if (number > next) {
        const refusal = Refusal.of(INVALID).put("the list ").word(list.at, list.bytes).put(" must have a part ").number(next);
        return refusal.put(". Number its parts from 0 without gaps").code;
      }
      next = number + 1;
    }
    if (next == 0) return Refusal.of(INVALID).put("the list ").word(list.at, list.bytes).put(" must contain a leaf").code;
  }
  return 0;
}

/** Whether a part is a whole number without leading zeros. */
export function isNumber(at: u32, bytes: u32): bool {
  for (let i: u32 = 0; i < bytes; i++) if (<u32>load<u8>(<usize>(at + i)) - 48 > 9) return false;
  return bytes != 0 && (bytes == 1 || load<u8>(<usize>at) != 48);
}
