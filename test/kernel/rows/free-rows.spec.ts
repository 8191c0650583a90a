import { GRANULE_BITS } from "../../../assembly/memory/layout";
import { FreeRows } from "../../../assembly/rows/free-rows";
import { PLACE_BITS } from "../../../assembly/rows/row";
import { Dice } from "../support/dice";
import { openArena, zeroed } from "../support/memory";

const at: usize = memory.data(24, 16);
let first: u32 = 0;

/** Returns an empty queue that writes into a block of 1,000 rows from row `first` on. */
function empty(): FreeRows {
  openArena(1 << 20);
  memory.fill(at, 0, 24);
  first = (<u32>(zeroed(1000 * 12) >> GRANULE_BITS)) << PLACE_BITS;
  return changetype<FreeRows>(at);
}

/** Returns the rows of the runs in order. */
function walk(free: FreeRows): u32[] {
  const rows: u32[] = [];
  for (let run = free.first; run != 0; run = free.after(run)) {
    for (let row = run; row <= free.endOf(run); row++) rows.push(row);
  }
  return rows;
}

function same(free: FreeRows, model: u32[]): bool {
  const rows = walk(free);
  if (rows.length != model.length || free.count != <u32>model.length) return false;
  for (let i = 0; i < rows.length; i++) if (rows[i] != model[i]) return false;
  return model.length == 0 || free.first == model[0];
}

describe("the queue of free rows", () => {
  it("returns the only row and is empty again", () => {
    const free = empty();
    for (let i = 0; i < 3; i++) {
      free.push(first);
      expect<u32>(free.first).toBe(first);
      expect<u32>(free.count).toBe(1);
      expect<u32>(i == 1 ? free.takeMany(5) : free.take()).toBe(i == 1 ? 1 : first);
      expect<u32>(free.first).toBe(0);
      expect<u32>(free.count).toBe(0);
    }
  });

  it("returns adjacent rows together if they were freed in order", () => {
    const free = empty();
    for (let i: u32 = 0; i < 5; i++) free.push(first + i);
    free.push(first + 9);
    free.push(first + 8);
    expect<u32>(free.takeMany(3)).toBe(3);
    expect<u32>(free.first).toBe(first + 3);
    expect<u32>(free.takeMany(9)).toBe(2);
    expect<u32>(free.first).toBe(first + 9);
    expect<u32>(free.takeMany(9)).toBe(1);
    expect<u32>(free.take()).toBe(first + 8);
    expect<u32>(free.count).toBe(0);
  });

  it("is a queue in lockstep with an array, for any order of frees", () => {
    for (let seed: u32 = 1; seed <= 12; seed++) {
      const dice = new Dice(seed);
      const free = empty();
      const model: u32[] = [];
      // Few rows make few long runs, many rows make many short ones.
      const rows: u32 = seed < 6 ? seed : seed * 5;
      const held: u32[] = [];
      for (let i: u32 = 0; i < rows; i++) held.push(first + i);
      for (let i = 0; i < 2000; i++) {
        if (held.length > 0 && (model.length == 0 || dice.below(2) == 0)) {
          // Queues a random row, and up to three rows after it as long as they are held.
          let k = <i32>dice.below(held.length);
          for (let n = dice.below(4) + 1; n > 0 && k < held.length; n--) {
            const row = held[k];
            held.splice(k, 1);
            free.push(row);
            model.push(row);
            k = held.indexOf(row + 1);
            if (k < 0) break;
          }
        } else if (dice.below(2) == 0) {
          const row = free.take();
          assert(row == model.shift(), "the oldest");
          held.push(row);
        } else {
          let row = free.first;
          for (let n = free.takeMany(1 + dice.below(6)); n > 0; n--) {
            assert(row == model.shift(), "neighbours, oldest first");
            held.push(row++);
          }
        }
        if (dice.below(16) == 0) held.sort((a, b) => <i32>a - <i32>b);
        assert(same(free, model), "what the runs name");
      }
      expect<u32>(free.count).toBe(model.length);
    }
  });
});
