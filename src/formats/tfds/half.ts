/** Numbers of two bytes, widened to f32: every one of them is one exactly. */

/** IEEE half precision. */
export function fromHalves(halves: Uint16Array): Float32Array<ArrayBuffer> {
  return Float32Array.from(halves, (bits) => {
    const sign = bits & 0x8000 ? -1 : 1;
    const exponent = (bits >> 10) & 31;
    const fraction = bits & 1023;
    if (exponent === 31) return fraction === 0 ? sign * Number.POSITIVE_INFINITY : Number.NaN;
    return sign * (exponent === 0 ? fraction * 2 ** -24 : (1024 + fraction) * 2 ** (exponent - 25));
  });
}

/** bfloat16: the upper half of an f32. */
export function fromBfloats(halves: Uint16Array): Float32Array<ArrayBuffer> {
  return new Float32Array(Uint32Array.from(halves, (bits) => bits << 16).buffer);
}
