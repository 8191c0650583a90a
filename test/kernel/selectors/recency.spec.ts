import { random_init } from "../../../assembly/memory/random";
import { Recency, recencyBytes, recencyInit } from "../../../assembly/selectors/recency";
import { Dice } from "../support/dice";
import { openArena, zeroed } from "../support/memory";

const random: usize = memory.data(32, 16);
const out: usize = memory.data(4 * 512, 16);
const probabilities: usize = memory.data(8 * 512, 16);
const rests: usize = memory.data(8 * 512, 16);
const saved: usize = memory.data(8 * 512, 16);
const nodes: usize = memory.data(4 * 512, 16);

function empty(slots: u32, exponent: f64): Recency {
  openArena(1 << 20);
  random_init(random, 3, 0, 0);
  const items = zeroed((slots + 1) * 32);
  const recency = changetype<Recency>(zeroed(recencyBytes(slots)));
  recencyInit(recency, slots, slots, <u32>items);
  recency.tree().setExponent(exponent);
  return recency;
}

function drawn(i: u32): u32 {
  return load<u32>(out + ((<usize>i) << 2));
}

function draw(recency: Recency, first: u32, count: u32, n: u32, distinct: bool, stratified: bool): u32 {
  return recency.drawMany(random, first, count, n, distinct, stratified, out, probabilities, rests, saved, nodes);
}

describe("recency", () => {
  it("draws the only slot, at any exponent", () => {
    for (let exponent: f64 = 0; exponent <= 32; exponent += 8) {
      const recency = empty(1, exponent);
      recency.insert(1);
      expect<u32>(recency.draw(random)).toBe(1);
      expect<f64>(recency.probability(1)).toBe(1);
      recency.remove(1);
      expect<i32>(recency.check(0, 1)).toBe(0);
    }
  });

  it("draws each age with its share of a window, then restores its state, at sizes up to 40", () => {
    for (let slots: u32 = 1; slots <= 40; slots++) {
      const dice = new Dice(slots);
      const exponent = <f64>dice.below(9) / 4;
      const recency = empty(slots, exponent);
      const model: u32[] = [];
      for (let i = 0; i < 200; i++) {
        const slot = 1 + dice.below(slots);
        const at = model.indexOf(slot);
        if (at < 0) {
          recency.insert(slot);
          model.push(slot);
        } else if (dice.below(2) == 0) {
          recency.remove(slot);
          model.splice(at, 1);
        }
        if (model.length == 0) continue;
        const count = 1 + dice.below(model.length);
        const first = dice.below(model.length - count + 1);
        const distinct = dice.below(3) == 0;
        const n = draw(recency, first, count, distinct ? count : 16, distinct, !distinct && dice.below(2) == 0);
        let total: f64 = 0;
        for (let place = first; place < first + count; place++) total += <f64>(model.length - place) ** -exponent;
        for (let k: u32 = 0; k < n; k++) {
          const place = model.indexOf(drawn(k));
          assert(<u32>place >= first && <u32>place < first + count, "of the window");
          const share = <f64>(model.length - place) ** -exponent / total;
          assert(Math.abs(load<f64>(probabilities + ((<usize>k) << 3)) - share) < 1e-13, "its share");
          for (let other: u32 = 0; distinct && other < k; other++) assert(drawn(other) != drawn(k), "distinct");
        }
        assert(recency.check(model.length, slots) == 0, "check");
      }
      expect<i32>(recency.check(model.length, slots)).toBe(0);
    }
  });

  it("draws the newest slot first if others weigh little, and distinct draws reach the oldest", () => {
    const recency = empty(300, 32);
    for (let slot: u32 = 1; slot <= 300; slot++) recency.insert(slot);
    expect<u32>(draw(recency, 0, 300, 300, true, false)).toBe(300);
    expect<u32>(drawn(0)).toBe(300);
    let last: u32 = 0;
    // The oldest items have the smallest shares, but are still drawn.
    for (let i: u32 = 0; i < 300; i++) last = max(last, drawn(i) < 5 ? i : 0);
    expect<bool>(last > 200).toBe(true);
    expect<u32>(draw(recency, 0, 4, 64, false, false)).toBe(64);
    for (let i: u32 = 0; i < 64; i++) assert(drawn(i) <= 4, "of the oldest");
    expect<i32>(recency.check(300, 300)).toBe(0);
  });

  it("draws each age as often as its share (chi-square, 9 degrees, p > 0.001)", () => {
    const recency = empty(20, 1);
    for (let slot: u32 = 1; slot <= 20; slot++) recency.insert(slot);
    for (let slot: u32 = 2; slot <= 20; slot += 2) recency.remove(slot);
    const counts = new StaticArray<u32>(21);
    for (let round = 0; round < 500; round++) {
      draw(recency, 0, 10, 100, false, false);
      for (let k: u32 = 0; k < 100; k++) counts[drawn(k)] += 1;
    }
    let total: f64 = 0;
    for (let age = 1; age <= 10; age++) total += 1 / <f64>age;
    let chi: f64 = 0;
    for (let age = 1; age <= 10; age++) {
      const wanted = 50000 / <f64>age / total;
      chi += (<f64>counts[21 - 2 * age] - wanted) ** 2 / wanted;
    }
    expect<f64>(chi).toBeLessThan(27.88);
  });
});
