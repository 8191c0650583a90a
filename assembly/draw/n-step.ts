/**
 * n-step returns over the windows of a draw (Sutton and Barto, 2018, section 7.1), with the real number of steps.
 *
 * Row j holds what the agent saw and did at time j, and what came of it: reward r_j, discount d_j, and whether the episode terminated, which makes d_j 0.
 *   return    R = r_0 + γ d_0 r_1 + … + γ^(k-1) d_0 … d_(k-2) r_(k-1)
 *   discount  γ^k d_0 … d_(k-1): what the value after step k is worth, 0 where the episode terminated
 * k is n, or less where the window or the episode ends. Row k is the bootstrap; a final step is never more than that, and says whether the episode terminated.
 */
import { F32, Leaf, readNumber } from "../rows/leaf";
import { Pool } from "../rows/pool";
import { Head, LINK_ENDS, LINK_FINAL } from "../rows/row";
import { DISCOUNT, Draw, LENGTH, RETURN, STEPS, TERMINATED, TRUNCATED } from "./draw";

/** No leaf in this role. */
const NONE: u32 = 0xffff;
/** Flags: the next observation is in the row itself; a plain end at the bootstrap counts as truncation also behind a whole return. */
const OWN: u32 = 1;
const ENDS_BEHIND: u32 = 2;

/**
 * O(count × n): fills RETURN, DISCOUNT, STEPS, TERMINATED and TRUNCATED. `reward`, `discount`, `terminatedLeaf`: numbers of leaves, the latter two or NONE.
 * Where rows do not hold their own next observation, the last row of a window or episode only serves as one, and its reward is not read;
 * STEPS is then also the place of the bootstrap row, else that is STEPS - 1: `own` of the draw tells `gather_select`.
 */
export function draw_n_step(draw: usize, pool: usize, reward: u32, discount: u32, terminatedLeaf: u32, n: u32, gamma: f64, flags: u32): void {
  const d = changetype<Draw>(draw);
  const p = changetype<Pool>(pool);
  const own = (flags & OWN) != 0;
  const rewards = p.leaf(reward);
  d.own = u32(own);
  prefetch(d, p, rewards);
  const width = <usize>(d.width << 2);
  let window = <usize>d.rows;
  for (let i: u32 = 0; i < d.count; i++, window += width) {
    const length = load<u32>(d.u32At(LENGTH, i));
    let ret: f64 = 0;
    let factor: f64 = 1;
    let steps: u32 = 0;
    let terminated = false;
    let ends: u32 = 0;
    while (steps < length) {
      const row = load<u32>(window + ((<usize>steps) << 2));
      ends = Head.of(row).next & LINK_ENDS;
      if (steps == n) {
        // The row behind a whole return.
        if ((ends & LINK_FINAL) == 0 && (flags & ENDS_BEHIND) == 0) ends = 0;
        break;
      }
      if ((ends & LINK_FINAL) != 0 || (!own && (ends != 0 || steps + 1 == length))) break;
      ret += factor * numberAt(p, row, rewards);
      let alive: f64 = discount == NONE ? 1 : numberAt(p, row, p.leaf(discount));
      if (terminatedLeaf != NONE && numberAt(p, row, p.leaf(terminatedLeaf)) != 0) alive = 0;
      factor *= gamma * alive;
      steps += 1;
      terminated = alive == 0;
      if (terminated || ends != 0) break;
    }
    if (ends == LINK_ENDS) {
      factor = 0;
      terminated = true;
    }
    store<f64>(d.f64At(RETURN, i), ret);
    store<f64>(d.f64At(DISCOUNT, i), factor);
    store<u32>(d.u32At(STEPS, i), steps);
    store<u8>(d.column(TERMINATED) + <usize>i, u8(terminated));
    store<u8>(d.column(TRUNCATED) + <usize>i, u8(ends != 0 && !terminated));
  }
}

/** Reads one byte of each row and of its HEAD, so that their cache misses overlap (see prefetchItems). */
function prefetch(d: Draw, p: Pool, leaf: Leaf): void {
  let sum: u32 = 0;
  const end = <usize>d.rows + <usize>((d.count * d.width) << 2);
  for (let at = <usize>d.rows; at < end; at += 4) {
    const row = load<u32>(at);
    // Padding is row 0: that is no row, but there is memory in its place.
    sum ^= Head.of(row).next ^ load<u8>(p.value(row, leaf));
  }
  d.prefetched = sum;
}

/** Most rewards are f32: the usual case without a table of cases. */
function numberAt(p: Pool, row: u32, leaf: Leaf): f64 {
  const at = p.value(row, leaf);
  return leaf.dtype == F32 ? <f64>load<f32>(at) : readNumber(at, leaf.dtype);
}
