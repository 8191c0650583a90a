/**
 * Implements trees of f64 sums in JavaScript: a binary heap of sums in one Float64Array, with the root at 1. This is the layout of the sum trees of dopamine
 * (Apache-2.0) and dqn_zoo (Apache-2.0), reimplemented. Parents are recomputed from their children, so that sums do not drift. `SumTree` is the usual
 * implementation: one walk per draw, one climb per update. `BatchSumTree` is the fastest implementation that we found: the whole batch walks one level at a
 * time, so that its cache misses overlap. It avoids branches, which would be unpredictable. Four children per node, separate levels, and branches within the
 * batch were slower.
 */
export class SumTree {
  /** @param leaves a power of two */
  constructor(leaves) {
    this.leaves = leaves;
    this.nodes = new Float64Array(2 * leaves);
  }

  get total() {
    return this.nodes[1];
  }

  weight(slot) {
    return this.nodes[this.leaves + slot];
  }

  /** Draws n leaves in proportion to their weights, and writes their numbers to `out`. */
  draw(random, n, out) {
    const { nodes, leaves, total } = this;
    for (let i = 0; i < n; i++) {
      let rest = random.next() * total;
      let node = 1;
      while (node < leaves) {
        node *= 2;
        const left = nodes[node];
        if (rest >= left) {
          rest -= left;
          node++;
        }
      }
      out[i] = node - leaves;
    }
  }

  /** Sets the weights of n leaves. */
  update(slots, weights, n) {
    for (let i = 0; i < n; i++) this.set(slots[i], weights[i]);
  }

  set(slot, weight) {
    const { nodes, leaves } = this;
    let node = leaves + slot;
    nodes[node] = weight;
    for (node >>= 1; node > 0; node >>= 1) nodes[node] = nodes[2 * node] + nodes[2 * node + 1];
  }

  /** Sets the leaves 0 … weights.length - 1, and all nodes above them. */
  fill(weights) {
    const { nodes, leaves } = this;
    nodes.set(weights, leaves);
    for (let node = leaves - 1; node > 0; node--) nodes[node] = nodes[2 * node] + nodes[2 * node + 1];
  }
}

export class BatchSumTree extends SumTree {
  #rests;
  #at;

  /** @param batch the maximum number of draws or updates per call */
  constructor(leaves, batch) {
    super(leaves);
    this.#rests = new Float64Array(batch);
    this.#at = new Int32Array(batch);
  }

  draw(random, n, out) {
    const { nodes, leaves, total } = this;
    const rests = this.#rests;
    const at = this.#at;
    for (let i = 0; i < n; i++) {
      rests[i] = random.next() * total;
      at[i] = 1;
    }
    for (let width = 1; width < leaves; width *= 2) {
      for (let i = 0; i < n; i++) {
        const node = at[i] * 2;
        const left = nodes[node];
        const rest = rests[i];
        const over = +(rest >= left);
        at[i] = node + over;
        rests[i] = rest - left * over;
      }
    }
    for (let i = 0; i < n; i++) out[i] = at[i] - leaves;
  }

  update(slots, weights, n) {
    const { nodes, leaves } = this;
    const at = this.#at;
    for (let i = 0; i < n; i++) {
      const node = leaves + slots[i];
      nodes[node] = weights[i];
      at[i] = node;
    }
    for (let width = leaves; width > 1; width >>= 1) {
      for (let i = 0; i < n; i++) {
        const node = at[i] >> 1;
        at[i] = node;
        nodes[node] = nodes[2 * node] + nodes[2 * node + 1];
      }
    }
  }
}
