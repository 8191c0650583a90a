/**
 * Defines a leaf of the spec in the core.
 *
 * LEAF, 32 bytes:
 *    0 │ kind u32   │ dtype u32  │
 *    8 │ bytes u32  │ frames u32 │  bytes of one frame · frames per value (1 except for stacks)
 *   16 │ at u32     │ step u32   │  in a block: the offset in row 0, and the distance from row to row (NARROW, WIDE: the value; SHARED: u32 × frames)
 *   24 │ staged u32 │ pool u32   │  in the staging record · SHARED: the pool that holds the frames · PACKED, ENTRY: the packs
 */

import { halfNumber } from "../memory/half";

/** The leaf is stored in the row. */
export const NARROW: u32 = 0;
/** The leaf has 256 bytes or more, and is stored in a column of the block. */
export const WIDE: u32 = 1;
/** The values of the leaf are frames in another pool. The row contains the names of these frames; the name 0 is a frame of zeros. */
export const SHARED: u32 = 2;
/** The only leaf of a pool of packed frames (packed-frame.ts). */
export const PACKED: u32 = 3;
/** The only leaf of a pool of entries of packed frames (packs.ts). */
export const ENTRY: u32 = 4;

/** Element types, numbered as in src/schema/dtype.ts. Each has a line in `dtypeBytes`, `dtypeName` and `readNumber`. */
export const BOOL: u32 = 0;
const I8: u32 = 1;
export const U8: u32 = 2;
const I16: u32 = 3;
const U16: u32 = 4;
const I32: u32 = 5;
export const U32: u32 = 6;
const I64: u32 = 7;
const U64: u32 = 8;
export const F32: u32 = 9;
export const F64: u32 = 10;
/** A half float has two bytes in rows, and is f32 for hosts (memory/half.ts). */
export const F16: u32 = 11;
export const BF16: u32 = 12;
/** Text consists of a length, UTF-8 and zeros (src/schema/text.ts). The number of TEXT follows the numbers of the numeric types. */
export const TEXT: u32 = 13;

export const LEAF_BYTES: u32 = 32;

@unmanaged
export class Leaf {
  kind: u32;
  dtype: u32;
  bytes: u32;
  frames: u32;
  at: u32;
  step: u32;
  staged: u32;
  pool: u32;

  /** Returns the number of bytes of one value, including all of its frames. */
  @inline
  valueBytes(): u32 {
    return this.bytes * this.frames;
  }

  /** Returns 1 for half floats, whose elements are twice as large in hosts, otherwise 0. */
  @inline
  half(): u32 {
    return isHalf(this.dtype);
  }
}
if (offsetof<Leaf>() != LEAF_BYTES) ERROR("LEAF is 32 bytes");

/** Returns 1 for the dtypes of half floats, which are f32 in hosts, otherwise 0. */
export function isHalf(dtype: u32): u32 {
  return u32(dtype - F16 <= BF16 - F16);
}

/** Returns the number of bytes of one element, except for text, whose leaf defines that number. */
export function dtypeBytes(dtype: u32): u32 {
  switch (dtype) {
    case BOOL:
    case I8:
    case U8:
      return 1;
    case I16:
    case U16:
    case F16:
    case BF16:
      return 2;
    case I32:
    case U32:
    case F32:
      return 4;
    case I64:
    case U64:
    case F64:
      return 8;
    default:
      return unreachable();
  }
}

/** Returns the word for a dtype in snapshots. The words are in a function, because the core has no data section. */
export function dtypeName(dtype: u32): string {
  switch (dtype) {
    case BOOL:
      return "bool";
    case I8:
      return "i8";
    case U8:
      return "u8";
    case I16:
      return "i16";
    case U16:
      return "u16";
    case I32:
      return "i32";
    case U32:
      return "u32";
    case I64:
      return "i64";
    case U64:
      return "u64";
    case F32:
      return "f32";
    case F64:
      return "f64";
    case F16:
      return "f16";
    case BF16:
      return "bf16";
    case TEXT:
      return "string";
    default:
      return unreachable();
  }
}

export function readNumber(at: usize, dtype: u32): f64 {
  switch (dtype) {
    case BOOL:
    case U8:
      return <f64>load<u8>(at);
    case I8:
      return <f64>load<i8>(at);
    case I16:
      return <f64>load<i16>(at);
    case U16:
      return <f64>load<u16>(at);
    case I32:
      return <f64>load<i32>(at);
    case U32:
      return <f64>load<u32>(at);
    case I64:
      return <f64>load<i64>(at);
    case U64:
      return <f64>load<u64>(at);
    case F32:
      return <f64>load<f32>(at);
    case F64:
      return load<f64>(at);
    case F16:
    case BF16:
      return halfNumber(at, dtype == BF16);
    default:
      return unreachable();
  }
}
