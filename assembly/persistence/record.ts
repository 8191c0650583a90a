/** Defines what the records of rows, entries and slots have in common: the marks in `refs` during loading, and the counts of valid bytes per segment. */
import { Change } from "../rows/changes";

/** Set in a row's `refs` while a pool is loaded: the row has a record. */
export const LOADED: u32 = 0x80000000;
/** The value of a row's `refs` while a pool is loaded, if the row is in the queue of freed rows. */
export const FREED: u32 = 0x40000000;

/** Adds `bytes` to the number of bytes of valid records in a segment. `live`: these numbers, a u32 for each of the 65,536 possible segments. */
export function account(live: usize, segment: u32, bytes: u32): void {
  const at = live + ((<usize>segment) << 2);
  store<u32>(at, load<u32>(at) + bytes);
}

/** The number of bytes of the short record that supplements a whole record and may be newer: the LINK of a row, the COUNT of a slot. */
export const LINK_BYTES: u32 = 8;

/** Notes that the newest short record of a row or slot is now in this segment. */
export function noteLink(change: Change, segment: u32, live: usize): void {
  if (change.linked != 0) account(live, change.linked, 0 - LINK_BYTES);
  change.linked = <u16>segment;
  account(live, segment, LINK_BYTES);
}

/** Notes that the newest record of a row or slot, of `bytes` bytes, is now in this segment. The caller adds the bytes of many records to `live` in one go. */
export function noteRecord(change: Change, segment: u32, live: usize, bytes: u32): void {
  if (load<u32>(changetype<usize>(change), offsetof<Change>("written")) != 0) forget(change, live, bytes);
  change.written = <u16>segment;
}

/** Invalidates all records of a row or slot; the whole record has `bytes` bytes. */
export function forget(change: Change, live: usize, bytes: u32): void {
  if (change.written != 0) account(live, change.written, 0 - bytes);
  if (change.linked != 0) account(live, change.linked, 0 - LINK_BYTES);
  change.written = 0;
  change.linked = 0;
}
