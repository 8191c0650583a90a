/** Errors become priorities: (clip(e) + eps)^alpha. */
import { power } from "../memory/power";
import { Table } from "../tables/table";

/** Which bounds there are. */
const LEAST: u32 = 1;
const MOST: u32 = 2;

/**
 * n errors (f64 each) become priorities in their place. A bound that is there is kept, the lower one first, and is what NaN becomes. How many were done: n, or the place of
 * one whose power is no real number.
 */
export function errors_weigh(at: usize, n: u32, alpha: f64, eps: f64, least: f64, most: f64, bounds: u32): u32 {
  const whole = Math.floor(alpha) == alpha;
  for (let i: u32 = 0; i < n; i++, at += 8) {
    let error = load<f64>(at);
    if ((bounds & LEAST) != 0 && !(error > least)) error = least;
    if ((bounds & MOST) != 0 && !(error < most)) error = most;
    const base = error + eps;
    // The usual case first.
    if (base > 0 && base < Infinity && alpha != 0 && alpha != 1) {
      store<f64>(at, power(base, alpha));
      continue;
    }
    if (base < 0 && base != -Infinity && !whole) return i;
    store<f64>(at, raise(base, alpha, whole));
  }
  return n;
}

/** Writes the largest of n priorities (f64 each) whose item is there; 0 where none is. */
export function errors_most(table: usize, keys: usize, priorities: usize, n: u32, out: usize): void {
  const slots = changetype<Table>(table).slots();
  let most: f64 = 0;
  for (let i: usize = 0; i < (<usize>n) << 3; i += 8) if (slots.find(load<f64>(keys + i)) != 0) most = max(most, load<f64>(priorities + i));
  store<f64>(out, most);
}

/** n numbers above 0 (f64 each) to a power, in their place. */
export function errors_power(at: usize, n: u32, exponent: f64): void {
  for (let i: u32 = 0; i < n; i++, at += 8) store<f64>(at, power(load<f64>(at), exponent));
}

/** x^alpha, alpha >= 0, also where x is no number above 0 that is finite. */
function raise(x: f64, alpha: f64, whole: bool): f64 {
  if (alpha == 0) return 1;
  if (alpha == 1 || !(x < 0 || x > 0)) return x;
  const size = Math.abs(x) == Infinity ? Infinity : power(Math.abs(x), alpha);
  return x < 0 && whole && Math.floor(alpha / 2) * 2 != alpha ? -size : size;
}
