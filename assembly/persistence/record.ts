/** What records of rows and of entries share: marks of what is loaded, and the bytes that still count. */

/** In `refs` while a pool is loaded: there is a record of the row, or it is in the queue of freed ones. */
export const LOADED: u32 = 0x80000000;
export const FREED: u32 = 0x40000000;

/** Adds to the bytes of records that still count, a u32 for each of 65,536 places of segments. */
export function account(live: usize, segment: u32, bytes: u32): void {
  const at = live + ((<usize>segment) << 2);
  store<u32>(at, load<u32>(at) + bytes);
}
