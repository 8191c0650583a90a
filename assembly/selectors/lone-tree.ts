/** Exports a sum tree without a table, for tests, benchmarks, and programs that need only a tree. */
import { SumTree, sumTreeBytes, sumTreeInit } from "./sum-tree";

/** Returns the number of bytes of a tree with leaves 1 … `leaves`. */
export function sum_tree_bytes(leaves: u32): u32 {
  return sumTreeBytes(leaves, false);
}

/** Initializes an empty tree in zeroed memory. */
export function sum_tree_init(tree: usize, leaves: u32, exponent: f64): void {
  const t = changetype<SumTree>(tree);
  sumTreeInit(t, leaves, false);
  t.setExponent(exponent);
}

/** Sets priorities (f64 × n) of leaves (u32 × n); `nodes` is scratch for u32 × n. O(n log leaves) */
export function sum_tree_update(tree: usize, slots: usize, priorities: usize, n: u32, nodes: usize): void {
  const t = changetype<SumTree>(tree);
  for (let i: usize = 0; i < <usize>n; i++) store<f64>(t.leaf(load<u32>(slots + (i << 2))), t.weigh(load<f64>(priorities + (i << 3))));
  t.climb(slots, n, nodes);
}

/** Makes n draws with replacement into `out` (u32 × n); `rests` is scratch for f64 × n. The tree must not be empty. O(n log leaves) */
export function sum_tree_draw(tree: usize, random: usize, n: u32, out: usize, rests: usize): void {
  changetype<SumTree>(tree).drawMany(random, n, false, out, rests);
}
