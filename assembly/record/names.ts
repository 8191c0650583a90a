/** Rows by name and by number: 1, 2, … as they were first used, the same wherever they stand. */
import { numberOf, Pool, rowOf } from "../rows/pool";

/** Bytes from here to a record, or back. */
export function transfer(here: usize, record: usize, bytes: u32, saving: u32): void {
  if (saving != 0) memory.copy(record, here, bytes);
  else memory.copy(here, record, bytes);
}

/** A row's number, or a number's row; more than any row where there is no such row. */
export function exchange(p: Pool, name: u32, saving: u32): u32 {
  if (saving != 0) return numberOf(p, name);
  return name > p.high ? u32.MAX_VALUE : rowOf(p, name);
}
