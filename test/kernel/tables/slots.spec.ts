import { E_OUT_OF_MEMORY } from "../../../assembly/memory/error";
import { PLAIN, SINGLE } from "../../../assembly/rows/run";
import { FREE, layKeys, MAX_LENGTH, Slots, slotsBytes, slotsInit } from "../../../assembly/tables/slots";
import { Dice } from "../support/dice";
import { arena_left, error_code, openArena, zeroed } from "../support/memory";

const at: usize = memory.data(64, 16);

function empty(capacity: u32, withStamps: bool = false): Slots {
  openArena(1 << 20);
  memory.fill(at, 0, 64);
  const s = changetype<Slots>(at);
  slotsInit(s, <u32>zeroed(<u32>slotsBytes(capacity, withStamps)), capacity, withStamps);
  return s;
}

/** Takes a slot and assigns a priority, like a table. */
function take(s: Slots): u32 {
  const slot = s.take();
  if (slot != 0) s.item(slot).priority = 1;
  return slot;
}

function free(s: Slots, slot: u32): void {
  s.item(slot).priority = FREE;
  s.free(slot);
}

describe("slots", () => {
  it("reuses slot 1 of capacity 1 with new keys", () => {
    const s = empty(1);
    let last: f64 = 0;
    for (let i = 0; i < 100; i++) {
      const slot = take(s);
      assert(slot == 1 && take(s) == 0, "one slot");
      const key = s.key(slot);
      assert(key > last && s.find(key) == 1 && s.find(last) == 0, "a new key, the old one gone");
      last = key;
      free(s, slot);
      assert(s.find(key) == 0, "gone");
    }
    expect<u32>(s.high).toBe(1);
  });

  it("takes slots in order, then freed slots, oldest freed first", () => {
    const s = empty(4);
    for (let slot: u32 = 1; slot <= 4; slot++) expect<u32>(take(s)).toBe(slot);
    expect<u32>(take(s)).toBe(0);
    free(s, 3);
    free(s, 1);
    free(s, 4);
    expect<u32>(take(s)).toBe(3);
    expect<u32>(take(s)).toBe(1);
    free(s, 2);
    expect<u32>(take(s)).toBe(4);
    expect<u32>(take(s)).toBe(2);
    expect<u32>(take(s)).toBe(0);
  });

  it("never repeats a key", () => {
    const dice = new Dice(6);
    const s = empty(7);
    const keys = new Set<f64>();
    const live: u32[] = [];
    let taken = 0;
    for (let i = 0; i < 5000; i++) {
      if (live.length == 0 || (live.length < 7 && dice.below(2) == 0)) {
        const slot = take(s);
        assert(slot != 0 && live.indexOf(slot) < 0, "a free slot");
        live.push(slot);
        keys.add(s.key(slot));
        taken += 1;
      } else {
        free(s, live.splice(dice.below(live.length), 1)[0]);
      }
      for (let k = 0; k < live.length; k++) assert(s.find(s.key(live[k])) == live[k], "found");
    }
    expect<i32>(keys.size).toBe(taken);
  });

  it("finds nothing for a number that was never a key", () => {
    const s = empty(5);
    const slot = take(s);
    const key = s.key(slot);
    expect<f64>(key).toBe(8 + 1, "generation 1 × 8 + slot 1");
    const strangers: f64[] = [NaN, Infinity, -Infinity, -key, key + 0.5, key + 1, key + 8, key - 1, 0, -0, 9007199254740992, 1e300, f64.MIN_VALUE];
    for (let i = 0; i < strangers.length; i++) expect<u32>(s.find(strangers[i])).toBe(0);
    expect<u32>(s.find(key)).toBe(slot);
  });

  it("retires a slot after its last generation", () => {
    const s = empty(2);
    take(s);
    take(s);
    s.item(1).generation = s.lastGeneration - 1;
    expect<bool>(s.renews(1)).toBe(true);
    free(s, 1);
    expect<u32>(take(s)).toBe(1);
    expect<bool>(s.renews(1)).toBe(false);
    expect<f64>(s.key(1)).toBe(4294967295.0 * 4 + 1);
    free(s, 1);
    expect<u32>(s.retired).toBe(1);
    expect<u32>(take(s)).toBe(0);
    free(s, 2);
    expect<u32>(take(s)).toBe(2, "the other one goes on");
  });

  it("creates keys that no other table of a Replay has", () => {
    for (let tables: u32 = 1; tables < 6; tables++) {
      for (let number: u32 = 0; number < tables; number++) {
        const s = empty(3);
        layKeys(s, 3, number, tables);
        for (let k: u32 = 1; k <= 3; k++) {
          const slot = take(s);
          expect<u32>(s.find(s.key(slot))).toBe(slot);
          for (let other: u32 = 0; other < tables; other++) {
            const stranger = s.key(slot) - s.base + <f64>(other << 2);
            expect<u32>(s.find(stranger)).toBe(other == number ? slot : 0, "of another table");
          }
        }
      }
    }
  });

  it("keeps every key exact in a double, at every capacity", () => {
    const s = changetype<Slots>(at);
    for (let bits: u32 = 0; bits < 28; bits++) {
      const capacity: u32 = 1 << bits;
      slotsInit(s, 0, capacity, false);
      const highest = <u64>s.lastGeneration * <u64>s.scale + capacity;
      assert(s.scale > <f64>capacity, "slots fit below the generation");
      assert(highest <= 9007199254740991, "53 bits");
      assert(bits + 1 <= 21 ? s.lastGeneration == u32.MAX_VALUE : highest > 1 << 52, "no generation is given away");
    }
    expect<u64>(slotsBytes(3, false)).toBe(4 * 32);
    expect<u64>(slotsBytes(3, true)).toBe(4 * 40);
  });

  it("distinguishes live, pending and free slots by priority", () => {
    const s = empty(3, true);
    for (let i = 0; i < 3; i++) s.take();
    s.item(1).priority = 0;
    s.item(2).priority = -0;
    s.item(3).priority = FREE;
    expect<bool>(s.isLive(1)).toBe(true);
    expect<bool>(s.isPending(1)).toBe(false);
    expect<bool>(s.isLive(2)).toBe(false);
    expect<bool>(s.isPending(2)).toBe(true, "-0 waits");
    expect<bool>(s.isUsed(2)).toBe(true);
    expect<bool>(s.isLive(3) || s.isPending(3) || s.isUsed(3)).toBe(false);
    expect<usize>(s.stampAt(0)).toBe(changetype<usize>(s.item(4)), "stamps follow the items");
  });

  it("packs length and kind into a word", () => {
    const s = empty(1);
    const item = s.item(take(s));
    item.timesSampled = 9;
    item.begin(77, MAX_LENGTH, PLAIN | SINGLE);
    expect<u32>(item.first).toBe(77);
    expect<u32>(item.length()).toBe(MAX_LENGTH);
    expect<bool>(item.plain() && item.single()).toBe(true);
    expect<u32>(item.episodes()).toBe(1);
    expect<u32>(item.timesSampled).toBe(0);
    item.begin(77, 5, 0);
    expect<bool>(item.plain() || item.single()).toBe(false);
    expect<u32>(item.episodes()).toBe(5);
    expect<u32>(item.generation).toBe(1);
  });

  it("reserves room for layouts only on request, then for every slot", () => {
    for (let capacity: u32 = 1; capacity <= 5000; capacity += 4999) {
      const s = empty(capacity);
      const left = arena_left();
      expect<u32>(s.layout(capacity)).toBe(0);
      s.setLayout(capacity, 0);
      expect<f64>(arena_left()).toBe(left);
      expect<bool>(s.reserveLayouts() && s.reserveLayouts()).toBe(true);
      expect<f64>(left - arena_left()).toBe(<f64>(((capacity + 1) * 4 + 4095) & ~4095));
      for (let slot: u32 = 1; slot <= capacity; slot++) s.setLayout(slot, u32.MAX_VALUE - slot);
      for (let slot: u32 = 1; slot <= capacity; slot++) assert(s.layout(slot) == u32.MAX_VALUE - slot, "any u32");
    }
    const s = empty(5000);
    openArena(4096);
    expect<bool>(s.reserveLayouts()).toBe(false);
    expect<i32>(error_code()).toBe(E_OUT_OF_MEMORY);
    expect<u32>(s.layouts).toBe(0);
  });
});
