/** Changes items by key. A key whose item is gone is skipped and never affects another item. */
import { E_OUT_OF_MEMORY } from "../memory/error";
import { header } from "../memory/layout";
import { table_delete, table_update } from "../tables/keys";
import { MAX_LENGTH } from "../tables/slots";
import { INVALID, Refusal } from "./refusal";
import { opened, outside, Root, WORK } from "./root";
import { TableOptions, tableOf } from "./table-options";

/** A number above every key. The generation and the slot of a key have 53 bits together. */
const KEY_END: f64 = 9007199254740992;

/** Sets new priorities (f64 × n) of items by key (f64 × n). Returns how many items exist, or a code if nothing changed. */
export function replay_update(handle: u32, table: u32, keys: usize, priorities: usize, n: u32): i32 {
  const options = keyed(handle, table, keys, n);
  if (options === null) return Refusal.last();
  if (n == 0) return 0;
  const root = Root.the();
  if (!root.holds(priorities, 8 * <f64>n)) return outside("priorities", priorities, 8 * <f64>n);
  const slots = root.region(WORK, 8 * <u64>n);
  if (slots == 0) return Refusal.of(E_OUT_OF_MEMORY).put("there is no room for ").number(n).put(" updates. Pass fewer at a time").code;
  const found = table_update(options.handle, keys, priorities, n, slots, slots + ((<usize>n) << 2));
  if (found >= 0) {
    root.changes += 1;
    return found;
  }
  const refusal = Refusal.of(INVALID).put("priorities").index(header().errorArgument);
  return refusal.put(" must be a finite number >= 0, with a weight (priority^exponent) of at most 2^990, got ").number(header().errorValue).code;
}

/** Deletes items by key (f64 × n). Returns how many items existed, or a code if nothing changed. */
export function replay_delete(handle: u32, table: u32, keys: usize, n: u32): i32 {
  const options = keyed(handle, table, keys, n);
  if (options === null) return Refusal.last();
  if (n == 0) return 0;
  Root.the().changes += 1;
  return table_delete(options.handle, keys, n);
}

/** Returns the table of a call on n keys; null, with a refusal, if the table does not exist or a key is invalid. */
function keyed(handle: u32, table: u32, keys: usize, n: u32): TableOptions | null {
  const root = opened(handle);
  if (root === null) return null;
  const options = tableOf(table);
  if (options === null) return null;
  return checkKeys(root, keys, n) == 0 ? options : null;
}

/** Checks that n keys (f64 each) lie in the input buffer and are valid. Returns 0 or INVALID. */
export function checkKeys(root: Root, keys: usize, n: u32): i32 {
  if (n > MAX_LENGTH) return Refusal.of(INVALID).put("n must be an integer from 0 to ").number(MAX_LENGTH).put(", got ").number(n).code;
  if (n != 0 && !root.holds(keys, 8 * <f64>n)) return outside("keys", keys, 8 * <f64>n);
  return n == 0 || areKeys(keys, n) ? 0 : INVALID;
}

/**
 * Whether all of n numbers (f64 each) can be keys, even of items that are gone. Otherwise refuses with the number of invalid keys and the first invalid key.
 */
function areKeys(keys: usize, n: u32): bool {
  let wrong: u32 = 0;
  let first: u32 = 0;
  for (let i = n; i-- > 0; ) {
    if (canBeKey(load<f64>(keys + ((<usize>i) << 3)))) continue;
    wrong += 1;
    first = i;
  }
  if (wrong == 0) return true;
  const refusal = Refusal.of(INVALID).put("keys").index(first).put(" must be a whole number from 0 to 2^53 - 1, as in batches");
  refusal.put(", got ").number(load<f64>(keys + ((<usize>first) << 3)));
  if (wrong > 1) refusal.put(" (").number(wrong).put(" keys are invalid)");
  return false;
}

/** Whether a number can be a key: whole and at least 0. No item has the key 0. NaN fails every comparison. */
function canBeKey(key: f64): bool {
  return key >= 0 && key < KEY_END && Math.floor(key) == key;
}
