/** Exports single kernels in the core's memory, for tests, benchmarks, and programs that need only a sum tree. This module is not part of the package. */
export { random_below, random_bytes, random_f64, random_init } from "./memory/random";
export { sum_tree_bytes, sum_tree_draw, sum_tree_init, sum_tree_update } from "./selectors/lone-tree";
