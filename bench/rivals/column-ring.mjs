/**
 * Implements the ring that a careful programmer writes for one spec: typed-array columns, with fields known at compile time. It checks nothing, and has no
 * keys, priorities, episodes or draw counts. It is a textbook circular buffer as a struct of arrays.
 */
export class ColumnRing {
  constructor(capacity) {
    this.capacity = capacity;
    this.observation = new Float32Array(4 * capacity);
    this.action = new Int32Array(capacity);
    this.reward = new Float32Array(capacity);
    this.discount = new Float32Array(capacity);
    this.stepType = new Int32Array(capacity);
    this.head = 0;
    this.size = 0;
  }

  append(o0, o1, o2, o3, action, reward, discount, stepType) {
    const at = this.head;
    const { observation } = this;
    const o = 4 * at;
    observation[o] = o0;
    observation[o + 1] = o1;
    observation[o + 2] = o2;
    observation[o + 3] = o3;
    this.action[at] = action;
    this.reward[at] = reward;
    this.discount[at] = discount;
    this.stepType[at] = stepType;
    this.head = at + 1 === this.capacity ? 0 : at + 1;
    if (this.size < this.capacity) this.size++;
  }

  /** Draws n pairs of adjacent steps uniformly, and writes the index of each pair's first step to `out`. */
  draw(random, n, out) {
    const { size, capacity } = this;
    const oldest = size === capacity ? this.head : 0;
    for (let i = 0; i < n; i++) {
      const at = oldest + random.below(size - 1);
      out[i] = at >= capacity ? at - capacity : at;
    }
  }

  /** Copies the pairs that begin at `starts`, one column after the other, so that the cache misses of a column overlap. */
  gather(starts, n, out) {
    const { capacity, observation } = this;
    const last = capacity - 1;
    const toObservation = out.observation;
    for (let i = 0, to = 0; i < n; i++, to += 8) {
      const at = starts[i];
      const a = 4 * at;
      const b = at === last ? 0 : a + 4;
      toObservation[to] = observation[a];
      toObservation[to + 1] = observation[a + 1];
      toObservation[to + 2] = observation[a + 2];
      toObservation[to + 3] = observation[a + 3];
      toObservation[to + 4] = observation[b];
      toObservation[to + 5] = observation[b + 1];
      toObservation[to + 6] = observation[b + 2];
      toObservation[to + 7] = observation[b + 3];
    }
    floats(this.reward, starts, n, last, out.reward);
    floats(this.discount, starts, n, last, out.discount);
    integers(this.action, starts, n, last, out.action);
    integers(this.stepType, starts, n, last, out.stepType);
  }

  /** Returns arrays for n pairs. */
  static batch(n) {
    return {
      observation: new Float32Array(8 * n),
      action: new Int32Array(2 * n),
      reward: new Float32Array(2 * n),
      discount: new Float32Array(2 * n),
      stepType: new Int32Array(2 * n),
    };
  }
}

/** Each class of arrays has its own function, because a shared function would be slower for both. */
function floats(from, starts, n, last, to) {
  for (let i = 0; i < n; i++) {
    const at = starts[i];
    to[2 * i] = from[at];
    to[2 * i + 1] = from[at === last ? 0 : at + 1];
  }
}

function integers(from, starts, n, last, to) {
  for (let i = 0; i < n; i++) {
    const at = starts[i];
    to[2 * i] = from[at];
    to[2 * i + 1] = from[at === last ? 0 : at + 1];
  }
}
