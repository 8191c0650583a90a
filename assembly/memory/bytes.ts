/** Short runs of bytes: copy, fill, compare, test for zero. */

/** From here on the engine's own memory.copy is the faster one (measured: a call costs about as much as copying this much inline). */
const LONG: u32 = 256;

@unmanaged
export class Bytes {
  /** Copies without overlap, any length: 32 bytes a time, then the tail. */
  @inline
  static copy(to: usize, from: usize, bytes: u32): void {
    if (bytes >= LONG) {
      memory.copy(to, from, bytes);
      return;
    }
    let left = bytes;
    for (; left >= 32; left -= 32) {
      Bytes.copy32(to, from);
      to += 32;
      from += 32;
    }
    for (; left >= 8; left -= 8) {
      store<u64>(to, load<u64>(from));
      to += 8;
      from += 8;
    }
    for (; left != 0; left--) store<u8>(to++, load<u8>(from++));
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

  /** With offsets in the instructions, which add nothing. */
  @inline
  static copy32(to: usize, from: usize): void {
    Bytes.copy16(to, from);
    if (ASC_FEATURE_SIMD) v128.store(to, v128.load(from, 16), 16);
    else Bytes.copy16(to + 16, from + 16);
  }
}

/** Bytes.copy as a call, for where it is not the heart of a loop. */
export function copyBytes(to: usize, from: usize, bytes: u32): void {
  Bytes.copy(to, from, bytes);
}

/** n values that are the same. */
export function fillWith<T>(at: usize, n: u32, value: T): void {
  const end = at + <usize>n * sizeof<T>();
  if (ASC_FEATURE_SIMD) for (const wide = v128.splat<T>(value); at + 16 <= end; at += 16) v128.store(at, wide);
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
