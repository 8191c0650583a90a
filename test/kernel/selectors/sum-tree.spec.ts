import { random_init } from "../../../assembly/memory/random";
import { sum_tree_bytes, sum_tree_draw, sum_tree_init, sum_tree_update } from "../../../assembly/selectors/lone-tree";
import { SumTree, sumTreeBytes, sumTreeInit } from "../../../assembly/selectors/sum-tree";
import { Dice } from "../support/dice";
import { openArena, zeroed } from "../support/memory";

const random: usize = memory.data(32, 16);
const slots: usize = memory.data(4 * 256, 16);
const nodes: usize = memory.data(4 * 256, 16);
const out: usize = memory.data(4 * 256, 16);
const rests: usize = memory.data(8 * 256, 16);
const saved: usize = memory.data(8 * 256, 16);

/** The value that a leaf stores for weight 0, the smallest positive weight, and the largest weight. */
const FAINT: f64 = 5e-324;
const MIN: f64 = 1.8665272370064378e-301;
const MAX: f64 = 1.0463951242053391e298;

function empty(leaves: u32, withMin: bool = false, exponent: f64 = 1): SumTree {
  openArena(1 << 20);
  random_init(random, 11, 0, 0);
  const tree = changetype<SumTree>(zeroed(sumTreeBytes(leaves, withMin)));
  sumTreeInit(tree, leaves, withMin);
  tree.setExponent(exponent);
  return tree;
}

function weight(tree: SumTree, slot: u32): f64 {
  return load<f64>(tree.leaf(slot));
}

function drawn(i: u32): u32 {
  return load<u32>(out + ((<usize>i) << 2));
}

/** Sets many leaves with one climb. */
function setMany(tree: SumTree, some: u32[], weights: f64[]): void {
  for (let i = 0; i < some.length; i++) {
    store<u32>(slots + ((<usize>i) << 2), some[i]);
    store<f64>(tree.leaf(some[i]), weights[i]);
  }
  tree.climb(slots, some.length, nodes);
}

describe("sum tree", () => {
  it("is empty on zeroed memory, at every size up to 70", () => {
    for (let n: u32 = 1; n <= 70; n++) {
      const tree = empty(n, true);
      expect<f64>(tree.total()).toBe(0);
      expect<f64>(tree.minWeight()).toBe(0);
      expect<bool>(tree.exhausted(0)).toBe(true);
      assert(tree.check(n) == 0, "check");
    }
  });

  it("sums the weights of its leaves, set singly or together, at every size up to 70", () => {
    for (let n: u32 = 1; n <= 70; n++) {
      const dice = new Dice(n);
      const tree = empty(n, true);
      let total: f64 = 0;
      for (let slot: u32 = 1; slot <= n; slot++) {
        // Sums of integers are exact in any order.
        const value = <f64>(1 + dice.below(1000));
        total += value;
        if (slot % 2 == 0) tree.set(slot, value);
        else setMany(tree, [slot], [value]);
        assert(tree.check(n) == 0, "check");
      }
      expect<f64>(tree.total()).toBe(total);
      const some: u32[] = [1, n, (n + 1) / 2, 1];
      setMany(tree, some, [7, 8, 9, 10]);
      assert(tree.check(n) == 0, "check of many");
      assert(tree.minWeight() <= 10, "the least of them");
      for (let slot: u32 = 1; slot <= n; slot++) tree.set(slot, 0);
      expect<f64>(tree.total()).toBe(0);
      assert(tree.check(n) == 0, "check of none");
    }
  });

  it("updates the sums above changed leaves before a read, for runs, gaps and many leaves", () => {
    const leaves: u32 = 9000;
    const dice = new Dice(17);
    const tree = empty(leaves, true);
    const weights = new StaticArray<f64>(<i32>leaves + 1);
    let total: f64 = 0;
    let slot: u32 = 0;
    for (let round = 0; round < 400; round++) {
      // A run sometimes has more leaves than are updated together, sometimes goes backwards, or repeats the same leaf.
      const run: u32 = round % 20 == 0 ? 3000 : dice.below(12);
      if (dice.below(3) == 0) slot = dice.below(leaves);
      for (let i: u32 = 0; i < run; i++) {
        slot = 1 + (dice.below(50) == 0 ? (slot + leaves - 2) % leaves : slot % leaves);
        const value = <f64>dice.below(1000);
        total += value - weights[slot];
        weights[slot] = value;
        tree.set(slot, value);
      }
      if (dice.below(2) == 0) {
        const other = 1 + dice.below(leaves);
        total += 5 - weights[other];
        weights[other] = 5;
        setMany(tree, [other], [5]);
      }
      const reads = dice.below(4);
      if (reads == 0) expect<f64>(tree.total()).toBe(total);
      if (reads == 1 && total > 0) assert(weights[tree.draw(random)] > 0, "only what has weight is drawn");
      if (reads == 2) {
        let least: f64 = Infinity;
        for (let k: u32 = 1; k <= leaves; k++) if (weights[k] > 0) least = min(least, weights[k]);
        expect<f64>(tree.minWeight()).toBe(least == Infinity ? 0 : least);
      }
    }
    expect<f64>(tree.total()).toBe(total);
    expect<i32>(tree.check(leaves)).toBe(0);
  });

  it("does not drift: after 20,000 changes every sum equals that of its children exactly", () => {
    const dice = new Dice(5);
    const tree = empty(67, true);
    for (let i = 0; i < 20000; i++) {
      const slot = 1 + dice.below(67);
      const value = dice.below(4) == 0 ? 0 : tree.weigh(Math.exp((dice.fraction() - 0.5) * 200));
      if (dice.below(2) == 0) tree.set(slot, value);
      else setMany(tree, [slot, 1 + dice.below(67)], [value, FAINT]);
    }
    expect<i32>(tree.check(67)).toBe(0);
    for (let slot: u32 = 1; slot <= 67; slot++) tree.set(slot, 0);
    expect<f64>(tree.total()).toBe(0);
  });

  it("draws every leaf in proportion to its weight (chi-square, 8 degrees, p > 0.001)", () => {
    const tree = empty(9);
    for (let slot: u32 = 1; slot <= 9; slot++) tree.set(slot, <f64>slot);
    const counts = new StaticArray<u32>(12);
    for (let round = 0; round < 500; round++) {
      tree.drawMany(random, 180, false, out, rests);
      for (let i: u32 = 0; i < 180; i++) counts[drawn(i)] += 1;
    }
    let chi: f64 = 0;
    for (let slot = 1; slot <= 9; slot++) {
      const want: f64 = 2000 * <f64>slot;
      chi += (<f64>counts[slot] - want) ** 2 / want;
    }
    expect<f64>(chi).toBeLessThan(26.12);
    expect<u32>(counts[0] + counts[10] + counts[11]).toBe(0);
  });

  it("draws the only leaf with a weight, at every position of every size up to 70", () => {
    for (let n: u32 = 1; n <= 70; n++) {
      const tree = empty(n);
      for (let slot: u32 = 1; slot <= n; slot++) {
        tree.set(slot, MIN);
        tree.drawMany(random, 8, true, out, rests);
        for (let i: u32 = 0; i < 8; i++) assert(drawn(i) == slot, "the only one");
        assert(tree.draw(random) == slot, "a single draw");
        tree.set(slot, 0);
      }
      expect<f64>(tree.total()).toBe(0);
    }
  });

  it("draws exactly one leaf from each equal part when stratified", () => {
    const tree = empty(64);
    for (let slot: u32 = 1; slot <= 64; slot++) tree.set(slot, 1);
    for (let round = 0; round < 50; round++) {
      tree.drawMany(random, 64, true, out, rests);
      for (let i: u32 = 0; i < 64; i++) assert(drawn(i) == i + 1, "part i is slot i + 1");
    }
    expect<u32>(drawn(63)).toBe(64);
  });

  it("never draws a faint leaf if another leaf has the least positive weight", () => {
    const tree = empty(21);
    for (let slot: u32 = 1; slot <= 21; slot++) tree.set(slot, tree.weigh(0));
    tree.set(13, MIN);
    expect<bool>(tree.exhausted(tree.floor(tree.total()))).toBe(false);
    for (let round = 0; round < 100; round++) {
      tree.drawMany(random, 64, round % 2 == 0, out, rests);
      for (let i: u32 = 0; i < 64; i++) assert(drawn(i) == 13, "the one that weighs");
    }
    expect<i32>(tree.check(21)).toBe(0);
    expect<u32>(tree.drawDistinct(random, 21, out, saved, rests, nodes)).toBe(1, "faint ones do not follow");
  });

  it("draws faint leaves equally often if all are faint (chi-square, 20 degrees, p > 0.001)", () => {
    const tree = empty(21);
    for (let slot: u32 = 1; slot <= 21; slot++) tree.set(slot, tree.weigh(0));
    expect<f64>(tree.total()).toBe(21 * FAINT);
    expect<f64>(tree.floor(tree.total())).toBe(0);
    const counts = new StaticArray<u32>(24);
    for (let round = 0; round < 1000; round++) {
      tree.drawMany(random, 42, false, out, rests);
      for (let i: u32 = 0; i < 42; i++) counts[drawn(i)] += 1;
    }
    let chi: f64 = 0;
    for (let slot = 1; slot <= 21; slot++) chi += (<f64>counts[slot] - 2000) ** 2 / 2000;
    expect<f64>(chi).toBeLessThan(45.31);
    expect<u32>(counts[0] + counts[22] + counts[23]).toBe(0);
    tree.drawMany(random, 21, true, out, rests);
    for (let i: u32 = 0; i < 21; i++) expect<u32>(drawn(i)).toBe(i + 1);
  });

  it("weigh applies the exponent, and returns FAINT below MIN and MAX above MAX", () => {
    const tree = empty(4);
    expect<f64>(tree.weigh(2.5)).toBe(2.5);
    expect<f64>(tree.weigh(0)).toBe(FAINT);
    expect<f64>(tree.weigh(MIN)).toBe(MIN);
    expect<f64>(tree.weigh(MIN * 0.999)).toBe(FAINT);
    expect<f64>(tree.weigh(f64.MAX_VALUE)).toBe(MAX);
    tree.setExponent(0.5);
    expect<f64>(tree.weigh(16)).toBe(4);
    tree.setExponent(0);
    expect<f64>(tree.weigh(16)).toBe(1);
    expect<f64>(tree.weigh(0)).toBe(FAINT, "0 stays 0 under every exponent");
    tree.setExponent(-1);
    expect<f64>(tree.weigh(4)).toBe(0.25);
  });

  it("has a highest and a lowest priority whose weights do not exceed MAX", () => {
    const exponents: f64[] = [-2, -1, -0.3, 0, 0.5, 1, 1.5, 3];
    for (let i = 0; i < exponents.length; i++) {
      const tree = empty(4, false, exponents[i]);
      const highest = tree.weigh(tree.highest);
      assert(highest > 0 && highest <= MAX, "the highest");
      if (tree.lowest > 0) assert(tree.weigh(tree.lowest) <= MAX && tree.weigh(tree.lowest) > MAX / 2, "the lowest");
    }
    expect<f64>(empty(4, false, 2).highest).toBeLessThan(1.1e149);
  });

  it("can sum the greatest weight in all leaves without overflow", () => {
    const tree = empty(70);
    for (let slot: u32 = 1; slot <= 70; slot++) tree.set(slot, MAX);
    expect<f64>(tree.total()).toBeLessThan(Infinity);
    expect<i32>(tree.check(70)).toBe(0);
    tree.drawMany(random, 256, false, out, rests);
    for (let i: u32 = 0; i < 256; i++) assert(drawn(i) >= 1 && drawn(i) <= 70, "a slot");
  });

  it("never draws a leaf of weight 0, despite rounding", () => {
    const dice = new Dice(77);
    for (let round = 0; round < 300; round++) {
      const n: u32 = 1 + dice.below(70);
      const tree = empty(n);
      random_init(random, round, 1, 2);
      for (let slot: u32 = 1; slot <= n; slot++) tree.set(slot, dice.below(3) == 0 ? tree.weigh(Math.exp((dice.fraction() - 0.5) * 80)) : 0);
      if (tree.total() == 0) continue;
      tree.drawMany(random, 128, round % 2 == 0, out, rests);
      for (let i: u32 = 0; i < 128; i++) assert(drawn(i) != 0 && drawn(i) <= n && weight(tree, drawn(i)) > 0, "weighs something");
    }
    expect<bool>(true).toBe(true);
  });

  it("draws distinct slots, up to all of them, and restores every sum", () => {
    for (let n: u32 = 1; n <= 70; n++) {
      const tree = empty(n, true);
      for (let slot: u32 = 1; slot <= n; slot++) tree.set(slot, <f64>slot * 0.1);
      const total = tree.total();
      for (let asked: u32 = 1; asked <= n + 3; asked += 1 + n / 4) {
        const count = tree.drawDistinct(random, asked, out, saved, rests, nodes);
        assert(count == min(asked, n), "as many as there are");
        for (let i: u32 = 0; i < count; i++) {
          for (let k: u32 = 0; k < i; k++) assert(drawn(i) != drawn(k), "distinct");
          assert(drawn(i) >= 1 && drawn(i) <= n, "a slot");
        }
        assert(tree.check(n) == 0 && tree.total() == total, "as before");
      }
      expect<f64>(tree.total()).toBe(total);
    }
  });

  it("draws a second distinct slot from the remaining weights (chi-square, 5 degrees, p > 0.001)", () => {
    const tree = empty(3);
    for (let slot: u32 = 1; slot <= 3; slot++) tree.set(slot, <f64>slot);
    const counts = new StaticArray<u32>(16);
    const rounds: f64 = 30000;
    for (let round: f64 = 0; round < rounds; round += 1) {
      tree.drawDistinct(random, 2, out, saved, rests, nodes);
      counts[drawn(0) * 4 + drawn(1)] += 1;
    }
    let chi: f64 = 0;
    for (let a = 1; a <= 3; a++) {
      for (let b = 1; b <= 3; b++) {
        if (a == b) continue;
        const want = (((rounds * <f64>a) / 6) * <f64>b) / <f64>(6 - a);
        chi += (<f64>counts[a * 4 + b] - want) ** 2 / want;
      }
    }
    expect<f64>(chi).toBeLessThan(20.52);
  });

  it("keeps the least weight, ignoring 0 and faint leaves", () => {
    const dice = new Dice(8);
    const tree = empty(37, true);
    for (let i = 0; i < 3000; i++) {
      const kind = dice.below(4);
      tree.set(1 + dice.below(37), kind == 0 ? 0 : kind == 1 ? FAINT : 1 + dice.fraction());
      let lowest = Infinity;
      for (let slot: u32 = 1; slot <= 37; slot++) if (weight(tree, slot) >= MIN) lowest = min(lowest, weight(tree, slot));
      assert(tree.minWeight() == (lowest == Infinity ? 0 : lowest), "least");
    }
    expect<i32>(tree.check(37)).toBe(0);
  });

  it("check detects a wrong sum, minimum or leaf", () => {
    const tree = empty(9, true);
    for (let slot: u32 = 1; slot <= 9; slot++) tree.set(slot, 1);
    expect<i32>(tree.check(9)).toBe(0);
    store<f64>(tree.leaf(5), 2);
    expect<i32>(tree.check(9)).toBe(3);
    store<f64>(tree.leaf(5), -1);
    expect<i32>(tree.check(9)).toBe(1);
    store<f64>(tree.leaf(5), 1);
    store<f64>(tree.leaf(0), 1);
    expect<i32>(tree.check(9)).toBe(2);
    store<f64>(tree.leaf(0), 0);
    store<f64>(tree.mins(1), 3);
    expect<i32>(tree.check(9)).toBe(4);
  });

  it("works without a table, through its own exports", () => {
    openArena(1 << 20);
    random_init(random, 1, 1, 1);
    const tree = zeroed(sum_tree_bytes(6));
    sum_tree_init(tree, 6, 0.5);
    for (let i: usize = 0; i < 6; i++) {
      store<u32>(slots + (i << 2), <u32>i + 1);
      store<f64>(saved + (i << 3), i == 3 ? 16 : 0);
    }
    sum_tree_update(tree, slots, saved, 6, nodes);
    expect<f64>(changetype<SumTree>(tree).total()).toBe(4);
    sum_tree_draw(tree, random, 5, out, rests);
    for (let i: u32 = 0; i < 5; i++) expect<u32>(drawn(i)).toBe(4);
  });
});
