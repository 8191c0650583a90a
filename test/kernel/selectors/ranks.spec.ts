import { Items } from "../../../assembly/selectors/items";
import { Order } from "../../../assembly/selectors/order";
import { Ranks, ranksBytes, ranksInit } from "../../../assembly/selectors/ranks";
import { Dice } from "../support/dice";
import { openArena, zeroed } from "../support/memory";

const out: usize = memory.data(4 * 512, 16);
const ORDER: usize = memory.data(8, 16);

let order = changetype<Order>(0);
let ranks = changetype<Ranks>(0);

function begin(slots: u32, items: u32 = slots): void {
  openArena(1 << 20);
  memory.fill(ORDER, 0, 8);
  order = changetype<Order>(ORDER);
  order.items = <u32>zeroed((slots + 1) * 32);
  ranks = changetype<Ranks>(zeroed(ranksBytes(slots, items)));
  ranksInit(ranks, slots, items);
}

function insert(slot: u32): void {
  order.insert(slot);
  ranks.insert(slot);
}

function remove(slot: u32): void {
  order.remove(slot);
  ranks.remove(slot, order.oldest, order.youngest());
}

function turn(): void {
  const slot = order.oldest;
  order.renew();
  ranks.turn(slot, order.next(slot));
}

function check(count: u32): i32 {
  return ranks.check(count, order.oldest, Items.links(<usize>order.items, 0));
}

/** Returns whether `rank` and `find` agree with the model for every position, and all invariants hold. */
function matches(model: u32[]): bool {
  for (let i = 0; i < model.length; i++) {
    store<u32>(out + ((<usize>i) << 2), i);
    if (ranks.rank(model[i]) != i) return false;
  }
  ranks.find(out, model.length);
  for (let i = 0; i < model.length; i++) if (load<u32>(out + ((<usize>i) << 2)) != model[i]) return false;
  return check(model.length) == 0;
}

describe("ranks", () => {
  it("finds the only slot", () => {
    begin(1);
    insert(1);
    expect<bool>(matches([1])).toBe(true);
    turn();
    expect<bool>(matches([1])).toBe(true);
    remove(1);
    expect<i32>(check(0)).toBe(0);
  });

  it("keeps no bits while items leave only at the ends", () => {
    begin(100);
    const model: u32[] = [];
    for (let slot: u32 = 1; slot <= 100; slot++) {
      insert(slot);
      model.push(slot);
    }
    for (let round: u32 = 0; round < 500; round++) {
      turn();
      model.push(model.shift());
    }
    remove(model.pop());
    remove(model.shift());
    expect<u32>(ranks.sparse).toBe(0);
    expect<bool>(matches(model)).toBe(true);
  });

  it("finds all positions in lockstep with an array, at every size up to 40 and around whole words", () => {
    const sizes: u32[] = [62, 63, 64, 65, 127, 128, 129, 200];
    for (let k: u32 = 1; k <= 40; k++) sizes.push(k);
    let sparse = 0;
    let dense = 0;
    for (let s = 0; s < sizes.length; s++) {
      const slots = sizes[s];
      const dice = new Dice(slots);
      begin(slots);
      const model: u32[] = [];
      for (let i = 0; i < 1500; i++) {
        const slot = 1 + dice.below(slots);
        const at = model.indexOf(slot);
        if (at < 0) {
          insert(slot);
          model.push(slot);
        } else if (dice.below(3) != 0) {
          turn();
          model.push(model.shift());
        } else {
          // Usually, few slots in the middle are removed. Occasionally, the ends move past all holes.
          const leaver = i % 400 < 200 || dice.below(9) == 0 ? slot : dice.below(2) == 0 ? model[0] : model[model.length - 1];
          remove(leaver);
          model.splice(model.indexOf(leaver), 1);
        }
        if (ranks.sparse != 0) sparse += 1;
        else dense += 1;
        assert(i % 7 != 0 || matches(model), "places");
        assert(check(model.length) == 0, "check");
      }
      expect<bool>(matches(model)).toBe(true);
    }
    expect<bool>(sparse > 10000 && dense > 10000).toBe(true);
  });
});
