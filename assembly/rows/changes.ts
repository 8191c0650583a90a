/**
 * Tracks which rows and slots have changed since the last journal write. Only an arena initialized with `tracking` has CHANGEs, because CHANGEs take memory.
 *
 * CHANGE, 8 bytes, one per row (in its block, after the values) and one per slot:
 *   │ next 30 bits, bytes 1, noted 1 │ written u16 │ linked u16 │
 *   next: the row or slot that changed before, 0 = none · bytes: 1 if more than the link has changed
 *   written, linked: the journal's segments that hold the record, and a newer link; 0 = none
 */
import { header } from "../memory/layout";

/** Whether changes are noted. `--use REPRISE_UNTRACKED=1` removes the tracking code from a build, to measure the cost of this test. */
export function tracking(): bool {
  return isDefined(REPRISE_UNTRACKED) ? false : header().tracking != 0;
}

/** Whether freed rows wait for the journal, and are not reused until the journal has saved them. */
export function keeping(): bool {
  return isDefined(REPRISE_UNTRACKED) ? false : header().tracking == KEEPING;
}

const KEEPING: u32 = 2;
export const CHANGE_BYTES: u32 = 8;
const NOTED: u32 = 0x80000000;
/** A kind of change: more than the link of the row has changed, so its whole record is saved. */
export const BYTES: u32 = 0x40000000;
/** A kind of change: only the link of the row has changed. */
export const LINK: u32 = 0;
const NAME: u32 = 0x3fffffff;

@unmanaged
export class Change {
  word: u32;
  written: u16;
  linked: u16;

  @inline
  next(): u32 {
    return this.word & NAME;
  }

  @inline
  bytes(): bool {
    return (this.word & BYTES) != 0;
  }
}
if (offsetof<Change>() != CHANGE_BYTES) ERROR("CHANGE is 8 bytes");

/**
 * Puts a row or slot at the head of the chain of changes, unless the row or slot is already in the chain. `head`: the address of the u32 that names the newest
 * entry of the chain.
 */
export function chain(head: usize, change: Change, name: u32, how: u32): void {
  if (change.word == 0) {
    change.word = NOTED | load<u32>(head);
    store<u32>(head, name);
    header().changes += 1;
  }
  change.word |= how;
}
