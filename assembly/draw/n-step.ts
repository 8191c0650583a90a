/**
 * n-step returns over the windows of a draw (Sutton and Barto, 2018, section 7.1), with the real number of steps.
 *
 * Row j holds what the agent saw and did at time j, and what came of it: reward r_j and discount d_j (0 = terminal).
 *   return    R = r_0 + γ d_0 r_1 + … + γ^(k-1) d_0 … d_(k-2) r_(k-1)
 *   discount  γ^k d_0 … d_(k-1): what the value after step k is worth, 0 after a terminal step
 * k is n, or less where the window or the episode ends.
 */
import { readNumber } from "../rows/leaf";
import { Pool } from "../rows/pool";
import { DISCOUNT, Draw, LENGTH, RETURN, STEPS, TERMINATED, TRUNCATED } from "./draw";

/** No leaf in this role. */
const NONE: u32 = 0xffff;
/** Flags: the next observation is in the row itself; the leaf of ends says terminal (1), not discount (0 ends). */
const OWN: u32 = 1;
const TERMINAL: u32 = 2;

/**
 * O(count × n): fills RETURN, DISCOUNT, STEPS, TERMINATED and TRUNCATED.
 * `reward`, `ends`: leaf numbers (`ends` is a discount, or a terminal flag with flag 2, or NONE).
 * Where rows do not hold their own next observation, the last row of a window or episode only serves as one, and its reward is not read;
 * STEPS is then also the place of the bootstrap row, else that is STEPS - 1: `own` of the draw tells `gather_select`.
 */
export function draw_n_step(draw: usize, pool: usize, leaves: u32, n: u32, gamma: f64, flags: u32): void {
  const d = changetype<Draw>(draw);
  const p = changetype<Pool>(pool);
  const rewardLeaf = leaves & 0xffff;
  const endsLeaf = leaves >> 16;
  const own = (flags & OWN) != 0;
  d.own = u32(own);
  for (let i: u32 = 0; i < d.count; i++) {
    const window = <usize>d.rows + <usize>((i * d.width) << 2);
    const length = load<u32>(d.u32At(LENGTH, i));
    let ret: f64 = 0;
    let discount: f64 = 1;
    let steps: u32 = 0;
    let terminated = false;
    let ended = false;
    while (steps < n && steps < length) {
      const row = load<u32>(window + ((<usize>steps) << 2));
      ended = p.ends(row);
      if (!own && (ended || steps + 1 == length)) break;
      ret += discount * numberAt(p, row, rewardLeaf);
      let alive: f64 = 1;
      if (endsLeaf != NONE) {
        alive = numberAt(p, row, endsLeaf);
        if ((flags & TERMINAL) != 0) alive = alive == 0 ? 1 : 0;
      }
      discount *= gamma * alive;
      steps += 1;
      terminated = alive == 0;
      if (terminated || ended) break;
    }
    store<f64>(d.f64At(RETURN, i), ret);
    store<f64>(d.f64At(DISCOUNT, i), discount);
    store<u32>(d.u32At(STEPS, i), steps);
    store<u8>(d.column(TERMINATED) + <usize>i, terminated ? 1 : 0);
    store<u8>(d.column(TRUNCATED) + <usize>i, ended && !terminated ? 1 : 0);
  }
}

function numberAt(p: Pool, row: u32, i: u32): f64 {
  const leaf = p.leaf(i);
  return readNumber(p.value(row, leaf), leaf.dtype);
}
