/**
 * Decodes Parquet's hybrid of runs and packed bits. A run of a billion values takes only six bytes, so decoding stops at the requested number of values. Valid
 * runs may also be too long, because DuckDB writes runs that are longer than needed.
 */

/**
 * Decodes values until `into` is full.
 * @param width the number of bits per value
 * @throws RangeError if the bytes end too early
 */
export function decodeRuns<A extends Uint8Array | Uint32Array>(bytes: Uint8Array, width: number, into: A): A {
  if (width > 31) throw new RangeError(`values have ${width} bits, more than the maximum of 31`);
  let at = 0;
  const next = (): number => {
    if (at >= bytes.length) throw new RangeError("the runs end too early");
    return bytes[at++] as number;
  };
  for (let filled = 0; filled < into.length; ) {
    let head = 0;
    for (let shift = 0; ; shift += 7) {
      if (shift > 28) throw new RangeError("the runs end too early");
      const byte = next();
      head += (byte & 127) * 2 ** shift;
      if (byte < 128) break;
    }
    const remaining = into.length - filled;
    if (head % 2 === 0) {
      let value = 0;
      for (let shift = 0; shift < width; shift += 8) value += next() * 2 ** shift;
      const length = Math.min(head / 2, remaining);
      into.fill(value, filled, filled + length);
      filled += length;
    } else {
      const count = Math.min(8 * ((head - 1) / 2), remaining);
      unpack(bytes, at, width, into, filled, count);
      at += ((head - 1) / 2) * width;
      filled += count;
    }
  }
  return into;
}

/** Unpacks values of `width` bits, lowest bit first. */
function unpack(bytes: Uint8Array, from: number, width: number, into: Uint8Array | Uint32Array, filled: number, count: number): void {
  if (from + Math.ceil((count * width) / 8) > bytes.length) throw new RangeError("the runs end too early");
  let at = from;
  let bits = 0;
  let available = 0;
  for (let i = 0; i < count; i++) {
    let value = 0;
    for (let filledBits = 0; filledBits < width; ) {
      if (available === 0) {
        bits = bytes[at++] as number;
        available = 8;
      }
      const some = Math.min(available, width - filledBits);
      value += (bits & ((1 << some) - 1)) * 2 ** filledBits;
      bits >>>= some;
      available -= some;
      filledBits += some;
    }
    into[filled + i] = value;
  }
}

/** Returns the number of bits for values up to `max`. */
export function widthOf(max: number): number {
  return 32 - Math.clz32(max);
}
