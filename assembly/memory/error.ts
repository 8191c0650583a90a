/**
 * Defines the error codes of the core. Functions that return counts return these codes; functions that return handles return 0 and leave the code in the error
 * cell.
 */
import { header } from "./layout";

/** The memory limit is reached, or the host refuses more memory; nothing changed. */
export const E_OUT_OF_MEMORY: i32 = -1;
/** The rate limiter does not let the item in, and `maxPending` items are waiting already. */
export const E_RATE_LIMITED: i32 = -2;
/** A priority is negative, NaN, infinite, or its weight would overflow the tree. */
export const E_PRIORITY: i32 = -3;
/** An item's length is not between 1 and the number of steps in the window. */
export const E_LENGTH: i32 = -4;
/** All generations of all slots have been used. */
export const E_KEYS_EXHAUSTED: i32 = -5;
/** Restored state contradicts itself. */
export const E_CORRUPT: i32 = -6;
/** The selector does not support the requested kind of draw. */
export const E_UNSUPPORTED: i32 = -7;
/** An item cannot begin with the final step of an episode. */
export const E_FINAL: i32 = -8;
/** An episode cannot end here: no episode is open, or the final step of the last episode has not been appended yet. */
export const E_NO_EPISODE: i32 = -9;
/** A reward is not finite. */
export const E_REWARD: i32 = -10;

/** The items of a draw have different columns. */
export const E_UNLIKE: i32 = -11;
/** The `storedBytes` limit is reached, and no table evicts items or the table that evicts has no item left. */
export const E_STORED: i32 = -12;

/** A rule reads priorities from a leaf, and a step's value is not a valid priority. */
export const E_PRIORITY_LEAF: i32 = -13;

/** Fills the error cell and returns the code. */
export function fail(code: i32, argument: i32, value: f64): i32 {
  const h = header();
  h.errorCode = code;
  h.errorArgument = argument;
  h.errorValue = value;
  return code;
}
