import { Ring } from "../../../assembly/memory/ring";
import { Dice } from "../support/dice";

const at: usize = memory.data(16, 16);
const entries: usize = memory.data(64, 16);

function empty(capacity: u32): Ring {
  memory.fill(at, 0, 16);
  const ring = changetype<Ring>(at);
  ring.entries = <u32>entries;
  ring.capacity = capacity;
  return ring;
}

describe("ring", () => {
  it("holds one entry with capacity 1", () => {
    const ring = empty(1);
    expect<u32>(ring.push(7)).toBe(0);
    expect<u32>(ring.get(0)).toBe(7);
    expect<u32>(ring.replace(8)).toBe(7);
    expect<u32>(ring.get(0)).toBe(8);
    expect<u32>(ring.shift()).toBe(8);
    expect<u32>(ring.count).toBe(0);
    expect<u32>(ring.push(9)).toBe(0);
  });

  it("continues at index 0 after the last entry", () => {
    const ring = empty(3);
    for (let value: u32 = 1; value <= 3; value++) ring.push(value);
    ring.shift();
    expect<u32>(ring.push(4)).toBe(0);
    expect<u32>(ring.get(2)).toBe(4);
    expect<u32>(ring.index(2)).toBe(0);
  });

  it("rotates a full ring: the n oldest entries become the youngest", () => {
    for (let n: u32 = 0; n <= 5; n++) {
      const ring = empty(5);
      for (let value: u32 = 0; value < 5; value++) ring.push(value);
      ring.rotate(n);
      for (let i: u32 = 0; i < 5; i++) expect<u32>(ring.get(i)).toBe((i + n) % 5);
    }
  });

  it("is a queue in lockstep with an array", () => {
    const dice = new Dice(1);
    for (let capacity: u32 = 1; capacity <= 6; capacity++) {
      const ring = empty(capacity);
      const model: u32[] = [];
      for (let i: u32 = 0; i < 2000; i++) {
        if (dice.below(2) == 0 && model.length > 0) assert(ring.shift() == model.shift(), "shift");
        else if (<u32>model.length == capacity) {
          assert(ring.replace(i) == model.shift(), "replace");
          model.push(i);
        } else {
          assert(ring.push(i) < capacity, "push: an index inside");
          model.push(i);
        }
        assert(ring.count == <u32>model.length && ring.head < capacity, "count and head");
        for (let k = 0; k < model.length; k++) assert(ring.get(k) == model[k], "get");
      }
      expect<u32>(ring.count).toBe(model.length);
    }
  });
});
