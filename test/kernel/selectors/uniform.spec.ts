import { random_init } from "../../../assembly/memory/random";
import { UNIFORM } from "../../../assembly/selectors/kinds";
import { Selector } from "../../../assembly/selectors/selector";
import { Uniform, uniformBytes, uniformInit } from "../../../assembly/selectors/uniform";
import { Dice } from "../support/dice";
import { openArena, zeroed } from "../support/memory";

const random: usize = memory.data(32, 16);
const role: usize = memory.data(8, 16);
const out: usize = memory.data(4 * 64, 16);
const swaps: usize = memory.data(4 * 64, 16);

function empty(slots: u32, max: u32 = slots): Uniform {
  openArena(1 << 20);
  random_init(random, 5, 0, 0);
  const uniform = changetype<Uniform>(zeroed(uniformBytes(slots)));
  uniformInit(uniform, slots, max);
  return uniform;
}

/** Removes the slot and inserts it again as the youngest. */
function replace(uniform: Uniform, slot: u32): void {
  const selector = changetype<Selector>(role);
  selector.kind = UNIFORM;
  selector.handle = <u32>changetype<usize>(uniform);
  selector.replace(slot, 0);
}

function drawn(i: u32): u32 {
  return load<u32>(out + ((<usize>i) << 2));
}

/** Returns whether the first k entries are the k oldest items, for every k that the selector guarantees. */
function keepsItsPromise(uniform: Uniform, oldestFirst: u32[]): bool {
  for (let k = max(<i32>uniform.disorder, 1); k <= oldestFirst.length; k++) {
    for (let i = 0; i < k; i++) {
      const slot = uniform.at(i);
      const age = oldestFirst.indexOf(slot);
      if (age < 0 || age >= k) return false;
    }
  }
  return true;
}

describe("uniform", () => {
  it("draws the only slot", () => {
    const uniform = empty(1);
    uniform.insert(1);
    expect<u32>(uniform.draw(random, 1)).toBe(1);
    expect<bool>(uniform.evictsNext(1)).toBe(true);
    replace(uniform, 1);
    expect<i32>(uniform.check(1, 1)).toBe(0);
    uniform.remove(1);
    expect<i32>(uniform.check(0, 1)).toBe(0);
  });

  it("is in order of age while only the oldest slots leave", () => {
    const uniform = empty(4);
    for (let slot: u32 = 1; slot <= 4; slot++) uniform.insert(slot);
    for (let round: u32 = 0; round < 11; round++) {
      const oldest = 1 + (round % 4);
      expect<bool>(uniform.evictsNext(oldest)).toBe(true);
      replace(uniform, oldest);
      expect<u32>(uniform.disorder).toBe(0);
      expect<u32>(uniform.at(3)).toBe(oldest);
      expect<i32>(uniform.check(4, 4)).toBe(0);
    }
  });

  it("has the k oldest entries first for every k from its disorder, in lockstep with an array", () => {
    for (let slots: u32 = 1; slots <= 12; slots++) {
      const dice = new Dice(slots);
      const uniform = empty(slots);
      const model: u32[] = [];
      for (let i = 0; i < 1000; i++) {
        const slot = 1 + dice.below(slots);
        const at = model.indexOf(slot);
        if (at < 0) {
          uniform.insert(slot);
          model.push(slot);
        } else if (dice.below(2) == 0) {
          replace(uniform, slot);
          model.splice(at, 1);
          model.push(slot);
        } else {
          const leaver = dice.below(3) == 0 ? slot : model[0];
          uniform.remove(leaver);
          model.splice(model.indexOf(leaver), 1);
        }
        assert(uniform.check(model.length, slots) == 0, "check");
        assert(keepsItsPromise(uniform, model), "the first k are the k oldest");
      }
      expect<i32>(uniform.check(model.length, slots)).toBe(0);
    }
  });

  it("draws only the k oldest slots, equally often (chi-square, 6 degrees, p > 0.001)", () => {
    const uniform = empty(10);
    for (let slot: u32 = 1; slot <= 10; slot++) uniform.insert(slot);
    const counts = new StaticArray<u32>(11);
    for (let i = 0; i < 1000; i++) {
      uniform.drawMany(random, 0, 7, 49, false, out);
      for (let k: u32 = 0; k < 49; k++) counts[drawn(k)] += 1;
    }
    let chi: f64 = 0;
    for (let slot = 1; slot <= 7; slot++) chi += (<f64>counts[slot] - 7000) ** 2 / 7000;
    expect<f64>(chi).toBeLessThan(22.46);
    expect<u32>(counts[8] + counts[9] + counts[10] + counts[0]).toBe(0);
  });

  it("draws one slot from each part when stratified", () => {
    const uniform = empty(12);
    for (let slot: u32 = 1; slot <= 12; slot++) uniform.insert(slot);
    for (let round = 0; round < 100; round++) {
      uniform.drawMany(random, 0, 12, 4, true, out);
      for (let i: u32 = 0; i < 4; i++) assert((drawn(i) - 1) / 3 == i, "slot of part i");
      uniform.drawMany(random, 0, 1, 3, true, out);
      assert(drawn(0) == 1 && drawn(2) == 1, "of the oldest only");
    }
    expect<u32>(drawn(1)).toBe(1);
  });

  it("draws distinct slots in uniform order, and restores the ring", () => {
    const uniform = empty(6);
    for (let slot: u32 = 1; slot <= 6; slot++) uniform.insert(slot);
    replace(uniform, 1);
    const firsts = new StaticArray<u32>(7);
    for (let round = 0; round < 12000; round++) {
      uniform.drawDistinct(random, 0, 6, 6, out, swaps);
      let seen: u32 = 0;
      for (let i: u32 = 0; i < 6; i++) seen |= (<u32>1) << drawn(i);
      assert(seen == 0b1111110, "all six, once each");
      firsts[drawn(0)] += 1;
    }
    for (let i: u32 = 0; i < 6; i++) expect<u32>(uniform.at(i)).toBe(i == 5 ? 1 : i + 2);
    let chi: f64 = 0;
    for (let slot = 1; slot <= 6; slot++) chi += (<f64>firsts[slot] - 2000) ** 2 / 2000;
    expect<f64>(chi).toBeLessThan(20.52);
    expect<i32>(uniform.check(6, 6)).toBe(0);
  });

  it("writes no memory while only the oldest slots leave", () => {
    const uniform = empty(5, 4);
    const dice = new Dice(3);
    let oldest: u32 = 1;
    let count: u32 = 0;
    for (let k = 0; k < 200; k++) {
      // Slots are reused in order, as in a table in which only the oldest items are removed.
      if (count < 4 && dice.below(3) != 0) {
        if (count == 0) oldest = 1 + uniform.ring().index(0);
        uniform.insert(1 + ((oldest - 1 + count) % 4));
        count += 1;
      } else if (count == 4 && dice.below(2) == 0) {
        replace(uniform, oldest);
        oldest = 1 + (oldest % 4);
      } else if (count != 0) {
        uniform.remove(oldest);
        oldest = 1 + (oldest % 4);
        count -= 1;
      }
      expect<i32>(uniform.check(count, 5)).toBe(0);
      if (count != 0) uniform.drawMany(random, 0, count, 8, dice.below(2) == 0, out);
    }
    const from = changetype<usize>(uniform) + offsetof<Uniform>() + 16;
    for (let at = from; at < changetype<usize>(uniform) + uniformBytes(5); at += 4) expect<u32>(load<u32>(at)).toBe(0);
    // From here on, the inserts write entries.
    for (; count < 4; count++) uniform.insert(1 + ((oldest - 1 + count) % 4));
    uniform.remove(1 + (oldest % 4));
    expect<bool>(uniform.written != 0).toBe(true);
    expect<i32>(uniform.check(3, 5)).toBe(0);
  });

  it("check detects a wrong position", () => {
    const uniform = empty(3);
    for (let slot: u32 = 1; slot <= 3; slot++) uniform.insert(slot);
    expect<i32>(uniform.check(2, 3)).toBe(1);
    uniform.setPosition(2, 0);
    expect<i32>(uniform.check(3, 3)).toBe(4);
  });
});
