/**
 * Finds slots by their place in the order of insertion, counted from the oldest of the k youngest on. A uniform selector uses these functions when removals
 * from the middle have disturbed the order of its own ring.
 */
import { Order } from "./order";

/** Converts the n places (u32, below k) at `out` to slots. `keys` is scratch for u64 × n. O(k + n log n) */
export function slotsOfPlaces(order: Order, k: u32, n: u32, out: usize, keys: usize): void {
  for (let i: usize = 0; i < <usize>n; i++) store<u64>(keys + (i << 3), ((<u64>load<u32>(out + (i << 2))) << 32) | <u64>i);
  sort(keys, n);
  let slot = order.youngest();
  let place = k - 1;
  for (let i = n; i > 0; i--) {
    const key = load<u64>(keys + ((<usize>(i - 1)) << 3));
    for (const wanted = <u32>(key >> 32); place > wanted; place--) slot = order.prev(slot);
    store<u32>(out + ((<usize>(<u32>key)) << 2), slot);
  }
}

/** Sorts n numbers in ascending order in place, with a heap (Williams, 1964). O(n log n) */
function sort(keys: usize, n: u32): void {
  for (let i = n >> 1; i > 0; i--) sift(keys, i - 1, n);
  for (let end = n; end > 1; end--) {
    const last = keys + ((<usize>(end - 1)) << 3);
    const top = load<u64>(keys);
    store<u64>(keys, load<u64>(last));
    store<u64>(last, top);
    sift(keys, 0, end - 1);
  }
}

function sift(keys: usize, i: u32, n: u32): void {
  const key = load<u64>(keys + ((<usize>i) << 3));
  for (let child: u32 = 2 * i + 1; child < n; child = 2 * i + 1) {
    let below = load<u64>(keys + ((<usize>child) << 3));
    if (child + 1 < n) {
      const right = load<u64>(keys + ((<usize>(child + 1)) << 3));
      if (right > below) {
        below = right;
        child += 1;
      }
    }
    if (below <= key) break;
    store<u64>(keys + ((<usize>i) << 3), below);
    i = child;
  }
  store<u64>(keys + ((<usize>i) << 3), key);
}
