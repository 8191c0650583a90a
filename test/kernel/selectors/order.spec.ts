import { ITEM_BYTES } from "../../../assembly/selectors/items";
import { ORDER_BYTES, Order } from "../../../assembly/selectors/order";
import { Dice } from "../support/dice";
import { openArena, zeroed } from "../support/memory";

function empty(slots: u32): Order {
  openArena(1 << 20);
  const order = changetype<Order>(zeroed(ORDER_BYTES));
  order.items = <u32>zeroed((slots + 1) * ITEM_BYTES);
  return order;
}

describe("order", () => {
  it("has neither an oldest nor a youngest slot if it is empty", () => {
    const order = empty(3);
    expect<u32>(order.oldest).toBe(0);
    expect<u32>(order.youngest()).toBe(0);
    expect<i32>(order.check(0, 3)).toBe(0);
  });

  it("links a single slot to itself", () => {
    const order = empty(1);
    order.insert(1);
    expect<u32>(order.oldest).toBe(1);
    expect<u32>(order.youngest()).toBe(1);
    expect<u32>(order.next(1)).toBe(1);
    order.renew();
    expect<u32>(order.oldest).toBe(1);
    order.remove(1);
    expect<u32>(order.oldest).toBe(0);
    expect<i32>(order.check(0, 1)).toBe(0);
  });

  it("matches an array in lockstep: inserts, removals anywhere, renewals", () => {
    for (let slots: u32 = 1; slots <= 9; slots++) {
      const dice = new Dice(slots);
      const order = empty(slots);
      const model: u32[] = [];
      for (let i = 0; i < 1000; i++) {
        const slot = 1 + dice.below(slots);
        const at = model.indexOf(slot);
        if (at < 0) {
          order.insert(slot);
          model.push(slot);
        } else if (dice.below(3) == 0) {
          order.renew();
          model.push(model.shift());
        } else {
          order.remove(slot);
          model.splice(at, 1);
        }
        assert(order.check(model.length, slots) == 0, "check");
        if (model.length == 0) continue;
        assert(order.oldest == model[0] && order.youngest() == model[model.length - 1], "ends");
        let walk = order.oldest;
        for (let k = 0; k < model.length; k++) {
          assert(walk == model[k], "the k-th oldest");
          walk = order.next(walk);
        }
        assert(walk == order.oldest, "a circle");
      }
      expect<i32>(order.check(model.length, slots)).toBe(0);
    }
  });

  it("check detects a wrong count and a broken link", () => {
    const order = empty(5);
    for (let slot: u32 = 1; slot <= 5; slot++) order.insert(slot);
    expect<i32>(order.check(0, 5)).toBe(1);
    expect<i32>(order.check(5, 4)).not.toBe(0);
    expect<i32>(order.check(4, 5)).toBe(5);
    expect<i32>(order.check(6, 5)).toBe(4);
    store<u32>(order.linksOf(2), 4, 4);
    expect<i32>(order.check(5, 5)).toBe(3);
  });
});
