/** Floats of 16 bits, which become f32: nothing of them is lost. */

/** The value of sign, exponent (5 bits) and fraction (10 bits). */
function half(bits: number): number {
  const sign = bits & 0x8000 ? -1 : 1;
  const exponent = (bits >> 10) & 31;
  const fraction = bits & 1023;
  if (exponent === 31) return fraction === 0 ? sign * Number.POSITIVE_INFINITY : Number.NaN;
  return exponent === 0 ? sign * fraction * 2 ** -24 : sign * (1 + fraction / 1024) * 2 ** (exponent - 15);
}

/** Of little-endian bytes. */
export function halves(bytes: Uint8Array): Float32Array<ArrayBuffer> {
  return Float32Array.from({ length: bytes.length >> 1 }, (_, i) => half((bytes[2 * i] as number) | ((bytes[2 * i + 1] as number) << 8)));
}
