/** Parquet's hybrid of runs and packed bits, looked at before it is decoded: a run of a billion takes six bytes. */

/**
 * Checks runs of so many values between two places.
 * @throws RangeError
 */
export function checkRuns(bytes: Uint8Array, start: number, end: number, width: number, count: number): void {
  if (width > 31) throw new RangeError(`values have ${width} bits`);
  let at = start;
  for (let remaining = count; remaining > 0; ) {
    let head = 0;
    for (let shift = 0; ; shift += 7) {
      if (at >= end || shift > 28) throw new RangeError("runs end too early");
      const byte = bytes[at++] as number;
      head += (byte & 127) * 2 ** shift;
      if (byte < 128) break;
    }
    const length = head % 2 === 1 ? 8 * Math.floor(head / 2) : Math.floor(head / 2);
    // The last group of packed values is filled up to eight.
    if (length === 0 || length > remaining + (head % 2 === 1 ? 7 : 0)) throw new RangeError(`a run of ${length} is longer than the ${remaining} values left`);
    at += head % 2 === 1 ? (length / 8) * width : Math.ceil(width / 8);
    remaining -= length;
  }
  if (at > end) throw new RangeError("runs end too early");
}

/** Bits that a number up to `max` needs. */
export function widthOf(max: number): number {
  return 32 - Math.clz32(max);
}
