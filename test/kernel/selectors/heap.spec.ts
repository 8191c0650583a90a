import { Heap, heapBytes, heapInit } from "../../../assembly/selectors/heap";
import { ITEM_BYTES, Items } from "../../../assembly/selectors/items";
import { Dice } from "../support/dice";
import { openArena, zeroed } from "../support/memory";

const SLOTS: u32 = 70;
let items: usize = 0;
let stamps: usize = 0;
let clock: f64 = 0;

function empty(slots: u32, greatest: bool): Heap {
  openArena(1 << 20);
  items = zeroed((slots + 1) * ITEM_BYTES);
  stamps = zeroed((slots + 1) << 3);
  clock = 0;
  const heap = changetype<Heap>(zeroed(heapBytes(slots)));
  heapInit(heap, slots, <u32>items, <u32>stamps, greatest);
  return heap;
}

function changeOf(slot: u32, priority: f64): void {
  clock += 1;
  store<f64>(Items.at(items, slot), priority);
  store<f64>(stamps + ((<usize>slot) << 3), clock);
}

function priorityOf(slot: u32): f64 {
  return Items.priority(items, slot);
}

/** Finds the slot to pick with a linear scan. */
function best(live: StaticArray<bool>, greatest: bool): u32 {
  let found: u32 = 0;
  for (let slot: u32 = 1; slot < <u32>live.length; slot++) {
    if (!live[slot]) continue;
    const p = priorityOf(slot);
    const q = priorityOf(found);
    const older = load<f64>(stamps + ((<usize>slot) << 3)) < load<f64>(stamps + ((<usize>found) << 3));
    if (found == 0 || (p == q ? older : greatest ? p > q : p < q)) found = slot;
  }
  return found;
}

/** @param unit the smallest difference between priorities, which have only five distinct values, so that ties are frequent */
function lockStep(greatest: bool, unit: f64 = 1): void {
  for (let slots: u32 = 1; slots <= SLOTS; slots += slots < 8 ? 1 : 13) {
    const dice = new Dice(slots);
    const heap = empty(slots, greatest);
    const live = new StaticArray<bool>(slots + 1);
    let count: u32 = 0;
    for (let i = 0; i < 1500; i++) {
      const slot = 1 + dice.below(slots);
      const priority = unit == 1 ? <f64>dice.below(5) : 1 + <f64>dice.below(5) * unit;
      if (!live[slot]) {
        changeOf(slot, priority);
        heap.insert(slot);
        live[slot] = true;
        count += 1;
      } else if (dice.below(2) == 0) {
        changeOf(slot, priority);
        heap.update(slot);
      } else {
        heap.remove(slot);
        live[slot] = false;
        count -= 1;
      }
      assert(heap.top() == best(live, greatest), "top");
      assert(heap.check(count, slots) == 0, "check");
    }
    expect<i32>(heap.check(count, slots)).toBe(0);
  }
}

describe("heap", () => {
  it("has no top if it is empty", () => {
    const heap = empty(1, false);
    expect<u32>(heap.top()).toBe(0);
    changeOf(1, 3);
    heap.insert(1);
    expect<u32>(heap.top()).toBe(1);
    heap.update(1);
    heap.remove(1);
    expect<u32>(heap.top()).toBe(0);
    expect<i32>(heap.check(0, 1)).toBe(0);
  });

  it("selects the least priority, in lockstep with a linear search", () => {
    lockStep(false);
  });

  it("selects the greatest priority, in lockstep with a linear search", () => {
    lockStep(true);
  });

  it("distinguishes priorities that differ only in bits outside an entry", () => {
    // With two or more slots, an entry has too few bits for the last bit of a priority.
    for (let bits = 44; bits <= 52; bits++) {
      lockStep(false, 1 / <f64>((<u64>1) << bits));
      lockStep(true, 1 / <f64>((<u64>1) << bits));
    }
  });

  it("returns all slots in order, at every size of a 4-ary tree up to 70", () => {
    for (let n: u32 = 1; n <= SLOTS; n++) {
      const dice = new Dice(100 + n);
      const heap = empty(n, false);
      for (let slot: u32 = 1; slot <= n; slot++) {
        changeOf(slot, <f64>dice.below(n));
        heap.insert(slot);
      }
      let last: f64 = -1;
      for (let left = n; left > 0; left--) {
        const slot = heap.top();
        assert(priorityOf(slot) >= last, "priorities rise");
        last = priorityOf(slot);
        heap.remove(slot);
        assert(heap.check(left - 1, n) == 0, "check");
      }
      expect<u32>(heap.count).toBe(0);
    }
  });

  it("exchanges the top for another slot, in lockstep with a linear search", () => {
    for (let slots: u32 = 1; slots <= SLOTS; slots += slots < 8 ? 1 : 13) {
      const dice = new Dice(slots);
      const heap = empty(slots, false);
      const live = new StaticArray<bool>(slots + 1);
      let free: u32 = 1;
      // All slots except one are live.
      for (let slot: u32 = 2; slot <= slots; slot++) {
        changeOf(slot, <f64>dice.below(5));
        heap.insert(slot);
        live[slot] = true;
      }
      for (let i = 0; i < 1500; i++) {
        changeOf(free, <f64>dice.below(5));
        live[free] = true;
        const expected = best(live, false);
        const removed = heap.exchange(free);
        assert(removed == expected, "removed");
        live[removed] = false;
        free = removed;
        assert(heap.check(slots - 1, slots) == 0, "check");
      }
      expect<i32>(heap.check(slots - 1, slots)).toBe(0);
    }
  });

  it("selects the least recently changed slot of equal priorities", () => {
    const heap = empty(3, true);
    for (let slot: u32 = 1; slot <= 3; slot++) {
      changeOf(slot, 1);
      heap.insert(slot);
    }
    expect<u32>(heap.top()).toBe(1);
    changeOf(1, 1);
    heap.update(1);
    expect<u32>(heap.top()).toBe(2);
  });

  it("check detects a priority that was changed outside the heap", () => {
    const heap = empty(5, false);
    for (let slot: u32 = 1; slot <= 5; slot++) {
      changeOf(slot, <f64>slot);
      heap.insert(slot);
    }
    expect<i32>(heap.check(4, 5)).toBe(1);
    expect<i32>(heap.check(5, 4)).toBe(2);
    store<f64>(items + ITEM_BYTES, 9);
    expect<i32>(heap.check(5, 5)).toBe(4);
    // Now the first entry also has the new key.
    store<u64>(heap.entry(0), heap.entryOf(1));
    expect<i32>(heap.check(5, 5)).toBe(5);
    store<f64>(items + ITEM_BYTES, 1);
    store<u64>(heap.entry(0), heap.entryOf(1));
    store<u32>(heap.position(2), 3);
    expect<i32>(heap.check(5, 5)).toBe(3);
  });
});
