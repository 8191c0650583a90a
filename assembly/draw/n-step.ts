/**
 * n-step returns over the windows of a draw (Sutton and Barto, 2018, section 7.1), with the real number of steps.
 *
 * Row j holds the observation and the action at time j, and their result: reward r_j, discount d_j, and whether the episode terminated, which makes d_j 0.
 *   return    R = r_0 + γ d_0 r_1 + … + γ^(k-1) d_0 … d_(k-2) r_(k-1)
 *   discount  γ^k d_0 … d_(k-1): the factor of the value after step k, 0 if the episode terminated
 * k is n, or less if the window or the episode ends earlier. Row k is the bootstrap. A final step is only a bootstrap, and records whether the episode
 * terminated.
 */

import { Prefetch } from "../memory/prefetch";
import { dtypeBytes, F32, NARROW, readNumber } from "../rows/leaf";
import { Pool } from "../rows/pool";
import { Head, LINK_END, LINK_ENDS, LINK_FINAL } from "../rows/row";
import { Items } from "../selectors/items";
import { Item } from "../tables/slots";
import { Table } from "../tables/table";
import { DISCOUNT, Draw, LENGTH, RETURN, SLOT, STEPS, TERMINATED, TRUNCATED } from "./draw";
import { prefetchRows } from "./gather";

/** Marks a role without a leaf. */
export const NONE: u32 = 0xffff;
/** The flags: each row contains its own next observation; a plain end at the bootstrap counts as truncation even after a whole return. */
const OWN: u32 = 1;
export const ENDS_BEHIND: u32 = 2;

/**
 * Fills RETURN, DISCOUNT, STEPS, TERMINATED and TRUNCATED. `reward`, `discount`, `terminatedLeaf`: numbers of leaves; `discount` and `terminatedLeaf` may be
 * NONE. If rows do not contain their own next observation, the last row of a window or episode only serves as the next observation of the row before, and its
 * reward is not read. STEPS is then also the place of the bootstrap row; otherwise that place is STEPS - 1, and `own` of the draw is set. `table`: the table of
 * the items with which the windows begin (items store how an episode ends with their last rows), or 0. Returns how many windows bootstrap from the last row of
 * an episode that ended plainly, if that row has a reward or a terminated flag, which never counts in any return. O(count × n)
 */
export function draw_n_step(draw: usize, pool: usize, table: usize, reward: u32, discount: u32, terminatedLeaf: u32, n: u32, gamma: f64, flags: u32): u32 {
  const d = changetype<Draw>(draw);
  const p = changetype<Pool>(pool);
  const t = changetype<Table>(table);
  const own = (flags & OWN) != 0;
  d.own = u32(own);
  prefetch(d, p, t);
  const width = <usize>(d.width << 2);
  const addresses = <usize>(d.addresses - d.rows);
  const terminals = d.column(TERMINATED);
  const cuts = d.column(TRUNCATED);
  const slots = d.column(SLOT);
  const items: usize = table == 0 ? 0 : changetype<usize>(t.slots().item(0));
  // Most rewards are f32.
  const rewards = p.leaf(reward);
  // If rewards have several numbers, RETURN has no meaning (draw/vector-returns.ts).
  const rewardAt = rewards.kind == NARROW ? <usize>(rewards.at - p.rowsAt) : 0;
  const plainly = rewards.dtype == F32;
  const lengths = d.column(LENGTH);
  const returns = d.column(RETURN);
  const factors = d.column(DISCOUNT);
  const taken = d.column(STEPS);
  let window = <usize>d.rows;
  let lost: u32 = 0;
  for (let i: u32 = 0; i < d.count; i++, window += width) {
    const item: usize = items == 0 ? 0 : Items.at(items, load<u32>(slots + ((<usize>i) << 2)));
    const length = load<u32>(lengths + ((<usize>i) << 2));
    const limit = min(n, own ? length : max(length, 1) - 1);
    let at = window;
    const end = window + ((<usize>limit) << 2);
    let ret: f64 = 0;
    let factor: f64 = 1;
    let alive: f64 = 1;
    let ends: u32 = 0;
    while (at < end) {
      ends = Returns.ends(item, <u32>(at - window) >> 2, load<u32>(at));
      // A final step never counts in a return. If the next row contains the next observation, the last step of an episode does not count either.
      if ((ends & LINK_FINAL) != 0 || (ends != 0 && !own)) break;
      const bytes = <usize>load<u32>(at + addresses);
      ret += factor * (plainly ? <f64>load<f32>(bytes + rewardAt) : readNumber(bytes + rewardAt, rewards.dtype));
      if (discount != NONE) alive = Returns.number(p, bytes, discount);
      if (terminatedLeaf != NONE && Returns.number(p, bytes, terminatedLeaf) != 0) alive = 0;
      factor *= gamma * alive;
      at += 4;
      // This test comes first, because its branch is predictable and the branch on `alive` is not.
      if (at == end) break;
      if (alive == 0 || ends != 0) break;
    }
    const steps = <u32>(at - window) >> 2;
    const behind = ends == 0 && steps < length;
    if (behind) ends = Returns.ends(item, steps, load<u32>(at));
    if (ends == LINK_END && !own && alive != 0) lost += Returns.says(p, load<u32>(at), reward, terminatedLeaf);
    // The return is whole, so an end at the bootstrap does not count.
    if (behind && steps == n && (ends & LINK_FINAL) == 0 && (flags & ENDS_BEHIND) == 0) ends = 0;
    if (ends == LINK_ENDS) factor = 0;
    const terminated = u8(alive == 0) | u8(ends == LINK_ENDS);
    store<f64>(returns + ((<usize>i) << 3), ret);
    store<f64>(factors + ((<usize>i) << 3), factor);
    store<u32>(taken + ((<usize>i) << 2), steps);
    store<u8>(terminals + <usize>i, terminated);
    store<u8>(cuts + <usize>i, u8(ends != 0) & (terminated ^ 1));
  }
  return lost;
}

/** Writes the address of each row's bytes and reads them, so that the misses of all rows, and of the HEADs that are needed, overlap (see prefetchItems). */
function prefetch(d: Draw, p: Pool, t: Table): void {
  const rows = d.count * d.width;
  const addresses = <usize>(d.addresses - d.rows);
  const end = <usize>d.rows + ((<usize>rows) << 2);
  for (let at = <usize>d.rows; at < end; at += 4) {
    const row = load<u32>(at);
    store<u32>(at + addresses, row == 0 ? 0 : <u32>p.bytes(row));
  }
  prefetchRows(d, 0, rows);
  let sum: u32 = 0;
  const slots = d.column(SLOT);
  const items: usize = changetype<usize>(t) == 0 ? 0 : changetype<usize>(t.slots().item(0));
  for (let i: u32 = 0; i < d.count; i++) {
    if (items != 0 && changetype<Item>(Items.at(items, load<u32>(slots + ((<usize>i) << 2)))).settled()) continue;
    const last = max(load<u32>(d.u32At(LENGTH, i)), 1) - 1;
    sum ^= Head.of(load<u32>(<usize>d.rows + ((<usize>(i * d.width + last)) << 2))).next;
  }
  Prefetch.keep(sum);
}

@unmanaged
export class Returns {
  /**
   * Returns how an episode ends with the k-th row of an item, or with any row: two bits of the row's link. Most items store these bits, which saves a cache
   * miss.
   */
  @inline
  static ends(item: usize, k: u32, row: u32): u32 {
    if (item == 0 || !changetype<Item>(item).single()) return Head.of(row).next & LINK_ENDS;
    return k + 1 < changetype<Item>(item).length() ? 0 : changetype<Item>(item).ends(row);
  }

  /** Returns 1 if a row has a reward other than 0, or if its terminated flag is set; else 0. */
  static says(p: Pool, row: u32, reward: u32, terminatedLeaf: u32): u32 {
    const leaf = p.leaf(reward);
    const value = p.value(row, leaf);
    const each = dtypeBytes(leaf.dtype);
    for (let at: u32 = 0; at < leaf.bytes; at += each) if (readNumber(value + <usize>at, leaf.dtype) != 0) return 1;
    return u32(terminatedLeaf != NONE && Returns.number(p, p.bytes(row), terminatedLeaf) != 0);
  }

  /** Returns the value of leaf i as a number. `bytes`: the address of the row's bytes. The usual type, f32, needs no call. */
  @inline
  static number(p: Pool, bytes: usize, i: u32): f64 {
    const leaf = p.leaf(i);
    const at = bytes + <usize>(leaf.at - p.rowsAt);
    return leaf.dtype == F32 ? <f64>load<f32>(at) : readNumber(at, leaf.dtype);
  }
}
