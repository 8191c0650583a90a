/** Measures prioritized replay: the tree on its own, and the cycle of a learner. */
import { readFileSync } from "node:fs";
import { EXPONENT, fullRing, prioritizedTable, priority, tableWith } from "../filled.mjs";
import { dist, prioritized } from "../package.mjs";
import { Random } from "../random.mjs";
import { ColumnRing } from "../rivals/column-ring.mjs";
import { BatchSumTree, SumTree } from "../rivals/sum-tree.mjs";
import { BATCH, STEPS } from "../source.mjs";

const UNIT = "µs/batch";
const LEAVES = 2 ** 20;
const BETA = 0.4;
const FEW = 32;
/** The number of precomputed batches of priorities. It is a power of two, so that a mask limits an index. */
const SETS = 16;

function priorities() {
  const random = new Random(11);
  return Array.from({ length: SETS }, () => Float64Array.from({ length: BATCH }, () => priority(random)));
}

/** Returns a side that uses the sum tree of the core without a table. */
function coreTree() {
  const instance = (file, imports) => new WebAssembly.Instance(new WebAssembly.Module(readFileSync(new URL(file, dist))), imports);
  const core = instance("core.wasm", {}).exports;
  core.arena_init(2 ** 14, 0);
  const x = { ...core, ...instance("kernels.wasm", { env: { memory: core.memory } }).exports };
  const tree = x.arena_alloc(x.sum_tree_bytes(LEAVES));
  const state = x.arena_alloc(x.random_bytes());
  const [slots, nodes] = [x.arena_alloc(4 * BATCH), x.arena_alloc(4 * BATCH)];
  const [weights, rests] = [x.arena_alloc(8 * BATCH), x.arena_alloc(8 * BATCH)];
  x.sum_tree_init(tree, LEAVES, 1);
  x.random_init(state, 5, 0, 0);
  const u32 = new Uint32Array(x.memory.buffer, slots, BATCH);
  const f64 = new Float64Array(x.memory.buffer, weights, BATCH);
  const random = new Random(9);
  for (let first = 1; first <= LEAVES; first += BATCH) {
    for (let i = 0; i < BATCH; i++) {
      u32[i] = first + i;
      f64[i] = priority(random);
    }
    x.sum_tree_update(tree, slots, weights, BATCH, nodes);
  }
  const sets = priorities();
  return (n) => {
    for (let k = 0; k < n; k++) {
      x.sum_tree_draw(tree, state, BATCH, slots, rests);
      f64.set(sets[k & (SETS - 1)]);
      x.sum_tree_update(tree, slots, weights, BATCH, nodes);
    }
    return u32[0];
  };
}

function filled(tree) {
  const random = new Random(9);
  tree.fill(Float64Array.from({ length: tree.leaves }, () => priority(random)));
  return tree;
}

function jsTree(tree) {
  filled(tree);
  const random = new Random(5);
  const slots = new Int32Array(BATCH);
  const sets = priorities();
  return (n) => {
    for (let k = 0; k < n; k++) {
      tree.draw(random, BATCH, slots);
      tree.update(slots, sets[k & (SETS - 1)], BATCH);
    }
    return slots;
  };
}

/** Returns a side that samples with importance weights, and then updates the priorities of the sampled items by key. */
export function cycle(table) {
  const into = table.batch(BATCH, { length: 2, beta: BETA });
  const options = { into, beta: BETA };
  const sets = priorities();
  return (n) => {
    let found = 0;
    for (let k = 0; k < n; k++) found += table.updatePriorities(table.sample(BATCH, options).info.keys, sets[k & (SETS - 1)]);
    return found;
  };
}

/** Returns a rival that runs the same cycle on a handwritten ring. The ring has no keys, so an update of an overwritten step goes unnoticed. */
export function ringCycle(steps, Tree) {
  const ring = fullRing(steps);
  const tree = filled(new Tree(2 ** Math.ceil(Math.log2(steps)), BATCH));
  // Nothing is stored past the end of the ring, and the pair at its seam is invalid.
  for (let slot = steps; slot < tree.leaves; slot++) tree.nodes[tree.leaves + slot] = 0;
  tree.nodes[tree.leaves + ((ring.head + steps - 1) % steps)] = 0;
  tree.fill(tree.nodes.slice(tree.leaves));
  const random = new Random(5);
  const slots = new Int32Array(BATCH);
  const out = ColumnRing.batch(BATCH);
  const [probabilities, importance, weights] = [new Float64Array(BATCH), new Float64Array(BATCH), new Float64Array(BATCH)];
  const sets = priorities();
  return (n) => {
    for (let k = 0; k < n; k++) {
      tree.draw(random, BATCH, slots);
      ring.gather(slots, BATCH, out);
      const total = tree.total;
      let max = 0;
      for (let i = 0; i < BATCH; i++) {
        const probability = tree.weight(slots[i]) / total;
        const weight = (ring.size * probability) ** -BETA;
        probabilities[i] = probability;
        importance[i] = weight;
        if (weight > max) max = weight;
      }
      for (let i = 0; i < BATCH; i++) importance[i] /= max;
      const errors = sets[k & (SETS - 1)];
      for (let i = 0; i < BATCH; i++) weights[i] = errors[i] ** EXPONENT;
      tree.update(slots, weights, BATCH);
    }
    return importance;
  };
}

/** Returns a side that draws batches of FEW items. */
function drawing(table) {
  const options = { into: table.batch(FEW, { length: 2 }) };
  return (n) => {
    let count = 0;
    for (let k = 0; k < n; k++) count += table.sample(FEW, options).count;
    return count;
  };
}

/** Returns a side that draws from a table with `maxTimesSampled`. No item reaches the limit, so the side shows what checking the limit costs. */
function limited() {
  return drawing(tableWith(STEPS, { sampler: prioritized(EXPONENT), maxTimesSampled: 1_000_000 }).table);
}

function tree(name, rivalName, Rival, rest) {
  return { name, unit: UNIT, rivalName, ours: coreTree, rival: () => jsTree(new Rival(LEAVES, BATCH)), ...rest };
}

function whole(name, rivalName, Rival, rest) {
  return { name, unit: UNIT, rivalName, ours: () => cycle(prioritizedTable(STEPS).table), rival: () => ringCycle(STEPS, Rival), ...rest };
}

export const cases = [
  tree("sum tree only", "JavaScript tree, batched", BatchSumTree, { limit: 1.8 }),
  tree("sum tree only, plain tree", "JavaScript tree, plain", SumTree, { again: true }),
  whole("prioritized cycle", "JavaScript tree, batched, and column ring", BatchSumTree, { limit: 1.2 }),
  {
    name: `prioritized sample of ${FEW}, maxTimesSampled`,
    unit: UNIT,
    rivalName: "without maxTimesSampled",
    limit: 0.67,
    ours: limited,
    rival: () => drawing(prioritizedTable(STEPS).table),
  },
  whole("prioritized cycle, plain tree", "JavaScript tree, plain, and column ring", SumTree, { again: true }),
];
