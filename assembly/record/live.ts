/** Bytes of records that still count, a u32 for each of 65,536 places of segments. */

export function account(live: usize, segment: u32, bytes: u32): void {
  const at = live + ((<usize>segment) << 2);
  store<u32>(at, load<u32>(at) + bytes);
}
