/**
 * Divides the rows of a batch among the sources of a mixture.
 *
 * MIXTURE, 32 bytes, then columns of as many entries as there are sources:
 *    0 │ RANDOM, 32 bytes                             │
 *   32 │ share f64 … │ carry f64 … │ rows u32 …       │  weights of the sources, 0 for a source without rows · rows that rounding has so far withheld from a source · the result
 */
import { random_f64, random_init } from "../memory/random";

/** The shares follow RANDOM. */
const SHARES_AT: usize = 32;

@unmanaged
export class Mixture {
  /** Returns the number of bytes for `sources` sources. */
  static bytes(sources: u32): u32 {
    return <u32>SHARES_AT + 20 * sources;
  }

  @inline
  share(i: u32): usize {
    return changetype<usize>(this) + SHARES_AT + ((<usize>i) << 3);
  }

  @inline
  carry(i: u32, sources: u32): usize {
    return this.share(sources + i);
  }

  @inline
  rows(i: u32, sources: u32): usize {
    return this.share(2 * sources) + ((<usize>i) << 2);
  }

  total(sources: u32): f64 {
    let total: f64 = 0;
    for (let i: u32 = 0; i < sources; i++) total += load<f64>(this.share(i));
    return total;
  }
}

/** Seeds the random state of a mixture from 64 bits. */
export function mixture_seed(mixture: usize, seedLow: u32, seedHigh: u32): void {
  random_init(mixture, seedLow, seedHigh, 0);
}

/**
 * Divides n rows among the sources, whose shares are not negative and not all 0. `exact`: each source has n × share / total rows, rounded with the
 * largest-remainder method (ties favour the first source); the rounding error is carried to the next batch, so that shares are exact over many batches.
 * Otherwise the source of each row is drawn at random. O(n + sources²)
 */
export function mixture_split(mixture: usize, sources: u32, n: u32, exact: u32): void {
  const m = changetype<Mixture>(mixture);
  const total = m.total(sources);
  if (exact != 0) splitExactly(m, sources, n, total);
  else splitAtRandom(m, sources, n, total);
}

function splitExactly(m: Mixture, sources: u32, n: u32, total: f64): void {
  let left: i32 = n;
  for (let i: u32 = 0; i < sources; i++) {
    const share = load<f64>(m.share(i));
    const quota = load<f64>(m.carry(i, sources)) + <f64>n * (share / total);
    const rows = share > 0 ? max(0, min(Math.floor(quota), <f64>n)) : 0;
    left -= <i32>rows;
    store<u32>(m.rows(i, sources), <u32>rows);
    store<f64>(m.carry(i, sources), quota - rows);
  }
  for (; left > 0; left--) move(m, neediest(m, sources), sources, 1);
  for (; left < 0; left++) move(m, richest(m, sources), sources, -1);
}

/** Returns the source, among those with a share above 0, from which rounding has withheld the most rows. */
function neediest(m: Mixture, sources: u32): u32 {
  let found: u32 = 0;
  let most: f64 = -Infinity;
  for (let i: u32 = 0; i < sources; i++) {
    const carry = load<f64>(m.carry(i, sources));
    if (load<f64>(m.share(i)) == 0 || carry <= most) continue;
    most = carry;
    found = i;
  }
  return found;
}

/** Returns the source, among those with rows in this batch, to which rounding has added the most rows. */
function richest(m: Mixture, sources: u32): u32 {
  let found: u32 = 0;
  let least: f64 = Infinity;
  for (let i: u32 = 0; i < sources; i++) {
    const carry = load<f64>(m.carry(i, sources));
    if (load<u32>(m.rows(i, sources)) == 0 || carry >= least) continue;
    least = carry;
    found = i;
  }
  return found;
}

function move(m: Mixture, i: u32, sources: u32, by: i32): void {
  const rows = m.rows(i, sources);
  const carry = m.carry(i, sources);
  store<u32>(rows, load<u32>(rows) + by);
  store<f64>(carry, load<f64>(carry) - <f64>by);
}

function splitAtRandom(m: Mixture, sources: u32, n: u32, total: f64): void {
  memory.fill(m.rows(0, sources), 0, (<usize>sources) << 2);
  for (let row: u32 = 0; row < n; row++) {
    let rest = random_f64(changetype<usize>(m)) * total;
    let found: u32 = 0;
    for (let i: u32 = 0; i < sources; i++) {
      const share = load<f64>(m.share(i));
      if (share == 0) continue;
      found = i;
      if (rest < share) break;
      rest -= share;
    }
    const rows = m.rows(found, sources);
    store<u32>(rows, load<u32>(rows) + 1);
  }
}
