/** What is done to items by key. A key whose item is gone is skipped: it never hits another item. */
import { E_OUT_OF_MEMORY } from "../memory/error";
import { header } from "../memory/layout";
import { table_delete, table_update } from "../tables/keys";
import { MAX_LENGTH } from "../tables/slots";
import { CLOSED, INVALID, NOT_FOUND, Refusal } from "./refusal";
import { opened, outside, Root, WORK } from "./root";
import { shelfOf } from "./told";

/** New priorities (f64 × n) of items by key (f64 × n). How many were there; or a code, and nothing changed. */
export function replay_update(handle: u32, table: u32, keys: usize, priorities: usize, n: u32): i32 {
  const root = opened(handle);
  if (root === null) return CLOSED;
  const shelf = shelfOf(table);
  if (shelf === null) return NOT_FOUND;
  const code = inInput(root, "keys", keys, n);
  if (code != 0 || n == 0) return code;
  if (!root.holds(priorities, 8 * <f64>n)) return outside("priorities", priorities, 8 * <f64>n);
  const slots = root.region(WORK, 8 * <u64>n);
  if (slots == 0) return Refusal.of(E_OUT_OF_MEMORY).put("there is no room for ").number(n).put(" updates: make fewer at a time").code;
  const found = table_update(shelf.handle, keys, priorities, n, slots, slots + ((<usize>n) << 2));
  if (found >= 0) {
    root.changes += 1;
    return found;
  }
  const refusal = Refusal.of(INVALID).put("priorities").index(header().errorArgument);
  return refusal.put(" must be a finite number >= 0, with a weight (priority^exponent) of at most 2^990, got ").number(header().errorValue).code;
}

/** Deletes items by key (f64 × n). How many were there; or a code, and nothing changed. */
export function replay_delete(handle: u32, table: u32, keys: usize, n: u32): i32 {
  const root = opened(handle);
  if (root === null) return CLOSED;
  const shelf = shelfOf(table);
  if (shelf === null) return NOT_FOUND;
  const code = inInput(root, "keys", keys, n);
  if (code != 0 || n == 0) return code;
  root.changes += 1;
  return table_delete(shelf.handle, keys, n);
}

/** Whether n numbers (f64) lie in the input buffer. 0, or INVALID. */
function inInput(root: Root, what: string, at: usize, n: u32): i32 {
  if (n > MAX_LENGTH) return Refusal.of(INVALID).put("n must be an integer up to ").number(MAX_LENGTH).put(", got ").number(n).code;
  return n == 0 || root.holds(at, 8 * <f64>n) ? 0 : outside(what, at, 8 * <f64>n);
}
