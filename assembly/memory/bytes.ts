/** Copies, fills, compares and tests short runs of bytes. */

/** The length in bytes from which `memory.copy` is faster: a call of it costs about as much as copying this many bytes inline (measured). */
const LONG: u32 = 256;

@unmanaged
export class Bytes {
  /** Copies any number of bytes: 32 at a time, then the tail. The source and the destination must not overlap. */
  @inline
  static copy(to: usize, from: usize, bytes: u32): void {
    if (bytes >= LONG) {
      memory.copy(to, from, bytes);
      return;
    }
    if (bytes < 16) {
      Bytes.copyShort(to, from, bytes);
      return;
    }
    let left = bytes;
    for (; left > 32; left -= 32) {
      Bytes.copy32(to, from);
      to += 32;
      from += 32;
    }
    // Between 1 and 32 bytes are left. The last sixteen may overlap bytes that were already copied.
    if (left > 16) Bytes.copy16(to, from);
    Bytes.copy16(to + left - 16, from + left - 16);
  }

  /** Copies fewer than 16 bytes. */
  @inline
  private static copyShort(to: usize, from: usize, bytes: u32): void {
    if (bytes >= 8) {
      store<u64>(to, load<u64>(from));
      store<u64>(to + bytes - 8, load<u64>(from + bytes - 8));
    } else if (bytes >= 4) {
      store<u32>(to, load<u32>(from));
      store<u32>(to + bytes - 4, load<u32>(from + bytes - 4));
    } else for (let i: usize = 0; i < <usize>bytes; i++) store<u8>(to + i, load<u8>(from + i));
  }

  @inline
  static copy16(to: usize, from: usize): void {
    if (ASC_FEATURE_SIMD) {
      v128.store(to, v128.load(from));
    } else {
      store<u64>(to, load<u64>(from));
      store<u64>(to, load<u64>(from, 8), 8);
    }
  }

  /** Copies 32 bytes. The offsets are part of the load and store instructions, and cost nothing. */
  @inline
  static copy32(to: usize, from: usize): void {
    Bytes.copy16(to, from);
    if (ASC_FEATURE_SIMD) v128.store(to, v128.load(from, 16), 16);
    else Bytes.copy16(to + 16, from + 16);
  }
}

/** Calls `Bytes.copy`, for code outside hot loops. */
export function copyBytes(to: usize, from: usize, bytes: u32): void {
  Bytes.copy(to, from, bytes);
}

/** Writes `value` n times. */
export function fillWith<T>(at: usize, n: u32, value: T): void {
  const end = at + <usize>n * sizeof<T>();
  if (ASC_FEATURE_SIMD && at + 16 <= end) {
    const wide = v128.splat<T>(value);
    for (; at + 16 <= end; at += 16) v128.store(at, wide);
    // The last 16 bytes may overlap bytes that were already written.
    v128.store(end - 16, wide);
    return;
  }
  for (; at < end; at += sizeof<T>()) store<T>(at, value);
}

export function bytesEqual(a: usize, b: usize, bytes: u32): bool {
  let i: usize = 0;
  for (; i + 8 <= <usize>bytes; i += 8) {
    if (load<u64>(a + i) != load<u64>(b + i)) return false;
  }
  for (; i < <usize>bytes; i++) {
    if (load<u8>(a + i) != load<u8>(b + i)) return false;
  }
  return true;
}

export function bytesZero(a: usize, bytes: u32): bool {
  let i: usize = 0;
  for (; i + 8 <= <usize>bytes; i += 8) {
    if (load<u64>(a + i) != 0) return false;
  }
  for (; i < <usize>bytes; i++) {
    if (load<u8>(a + i) != 0) return false;
  }
  return true;
}
