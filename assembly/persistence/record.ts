/** Contains what the records of rows, entries and slots have in common: the mark of loaded records, and the counts of valid bytes. */
import { Change } from "../rows/changes";

/** Set in `refs` while a pool is loaded: the row has a record, or is in the queue of freed rows. */
export const LOADED: u32 = 0x80000000;
export const FREED: u32 = 0x40000000;

/** Adds to the bytes of valid records in a segment. `live`: a u32 for each of 65,536 places of segments. */
export function account(live: usize, segment: u32, bytes: u32): void {
  const at = live + ((<usize>segment) << 2);
  store<u32>(at, load<u32>(at) + bytes);
}

/** The number of bytes of the short record that supplements a whole record and may be newer: the LINK of a row, the COUNT of a slot. */
export const LINK_BYTES: u32 = 8;

/** Notes that the newest short record is now in this segment. */
export function noteLink(change: Change, segment: u32, live: usize): void {
  if (change.linked != 0) account(live, change.linked, 0 - LINK_BYTES);
  change.linked = <u16>segment;
  account(live, segment, LINK_BYTES);
}

/** Notes that the newest record of a row or slot, of `bytes` bytes, is now in this segment. The caller accounts for these bytes, of many records together. */
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
