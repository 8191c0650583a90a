/** Computes importance weights of a draw, and priorities from errors: (clip(e) + eps)^alpha. */
import { power, powerMany } from "../memory/power";
import { Table } from "../tables/table";
import { Draw, PROBABILITY, TABLE_SIZE, WEIGHT } from "./draw";

/** The flags of the bounds that are set. */
const LOWER: u32 = 1;
const UPPER: u32 = 2;

/**
 * Computes (tableSize × probability)^-beta for each entry. `normalize`: divides by the largest weight of the draw (1), by the largest weight that the
 * table could produce (2), or by nothing (0).
 */
export function draw_weights(draw: usize, table: usize, beta: f64, normalize: u32): void {
  const t = changetype<Table>(table);
  const d = changetype<Draw>(draw);
  let largest: f64 = 0;
  for (let i: u32 = 0; i < d.count; i++) {
    const size = <f64>load<u32>(d.u32At(TABLE_SIZE, i));
    store<f64>(d.f64At(WEIGHT, i), size * load<f64>(d.f64At(PROBABILITY, i)));
  }
  powerMany(d.f64At(WEIGHT, 0), d.count, -beta);
  if (normalize == 0 || d.count == 0) return;
  for (let i: u32 = 0; i < d.count; i++) largest = max(largest, load<f64>(d.f64At(WEIGHT, i)));
  if (normalize == 2) {
    const lowest = t.sampler().minShare(t.count);
    // An item that this draw removed may have had a lower probability, and therefore a larger weight, than all remaining items.
    if (lowest > 0) largest = max(largest, power(lowest, -beta));
  }
  for (let i: u32 = 0; i < d.count; i++) {
    const at = d.f64At(WEIGHT, i);
    store<f64>(at, load<f64>(at) / largest);
  }
}

/** Computes (probability / divisor)^-beta for each entry, at most 1 if `bounded`. With divisor 0, divides by the smallest probability of the draw. */
export function draw_weights_by(draw: usize, divisor: f64, beta: f64, bounded: u32): void {
  const d = changetype<Draw>(draw);
  const bound = bounded != 0 ? 1 : f64.MAX_VALUE;
  if (divisor == 0) {
    divisor = Infinity;
    for (let i: u32 = 0; i < d.count; i++) divisor = min(divisor, probabilityOf(d, i));
  }
  for (let i: u32 = 0; i < d.count; i++) store<f64>(d.f64At(WEIGHT, i), probabilityOf(d, i) / divisor);
  powerMany(d.f64At(WEIGHT, 0), d.count, -beta);
  for (let i: u32 = 0; i < d.count; i++) store<f64>(d.f64At(WEIGHT, i), min(load<f64>(d.f64At(WEIGHT, i)), bound));
}

/** Treats a probability below the smallest normal double as that double, so that its weight is finite. */
function probabilityOf(d: Draw, i: u32): f64 {
  return max(load<f64>(d.f64At(PROBABILITY, i)), f64.MIN_NORMAL_VALUE);
}

/**
 * Turns n errors (f64 each) into priorities in place. Applies the bounds that are set, the lower one first; a bound also replaces NaN. Returns n, or the
 * place of the first error whose priority is not a real number; earlier errors are then already replaced.
 */
export function priority_of_errors(at: usize, n: u32, alpha: f64, eps: f64, lower: f64, upper: f64, bounds: u32): u32 {
  const whole = Math.floor(alpha) == alpha;
  for (let i: u32 = 0; i < n; i++, at += 8) {
    let error = load<f64>(at);
    if ((bounds & LOWER) != 0 && !(error > lower)) error = lower;
    if ((bounds & UPPER) != 0 && !(error < upper)) error = upper;
    const base = error + eps;
    // The usual case is tested first.
    if (base > 0 && base < Infinity && alpha != 0 && alpha != 1) {
      store<f64>(at, power(base, alpha));
      continue;
    }
    if (base < 0 && base != -Infinity && !whole) return i;
    store<f64>(at, raise(base, alpha, whole));
  }
  return n;
}

/** Writes the largest of n priorities (f64 each), without those whose items no longer exist; 0 if no item exists. */
export function priority_max(table: usize, keys: usize, priorities: usize, n: u32, out: usize): void {
  const slots = changetype<Table>(table).slots();
  let largest: f64 = 0;
  for (let i: usize = 0; i < (<usize>n) << 3; i += 8) if (slots.find(load<f64>(keys + i)) != 0) largest = max(largest, load<f64>(priorities + i));
  store<f64>(out, largest);
}

/** Raises n numbers above 0 (f64 each) to a power, in place. */
export function priority_powers(at: usize, n: u32, exponent: f64): void {
  powerMany(at, n, exponent);
}

/** Returns x^alpha for alpha >= 0, even if x is not a finite number above 0. */
function raise(x: f64, alpha: f64, whole: bool): f64 {
  if (alpha == 0) return 1;
  if (alpha == 1 || !(x < 0 || x > 0)) return x;
  const size = Math.abs(x) == Infinity ? Infinity : power(Math.abs(x), alpha);
  return x < 0 && whole && Math.floor(alpha / 2) * 2 != alpha ? -size : size;
}
