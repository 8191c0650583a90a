import { arena_check } from "../../../assembly/memory/arena";
import { Episodes } from "../../../assembly/tables/episodes";
import { Dice } from "../support/dice";
import { arena_left, openArena } from "../support/memory";

const at: usize = memory.data(32, 16);

function empty(bytes: u32 = 1 << 20): Episodes {
  openArena(bytes);
  memory.fill(at, 0, 32);
  const episodes = changetype<Episodes>(at);
  episodes.forget();
  return episodes;
}

describe("episodes", () => {
  it("contains none at first, and takes no memory", () => {
    const e = empty();
    expect<u32>(e.items(1)).toBe(0);
    expect<u64>(e.memberships()).toBe(0);
    expect<u32>(e.capacity).toBe(0);
    expect<bool>(e.joins(1)).toBe(false);
    expect<bool>(e.leavesSome(1)).toBe(false);
  });

  it("counts the items of an episode, and reports when the last one leaves", () => {
    const e = empty();
    e.reserve(1);
    e.add(5);
    e.add(5);
    expect<bool>(e.joins(5)).toBe(true);
    expect<u32>(e.items(5)).toBe(2);
    expect<u32>(e.count).toBe(1);
    expect<bool>(e.remove(5)).toBe(false);
    expect<bool>(e.leavesSome(5)).toBe(false, "one is left");
    expect<bool>(e.remove(5)).toBe(true);
    expect<u32>(e.items(5)).toBe(0);
    expect<bool>(e.joins(5)).toBe(false, "what went is forgotten");
    expect<u32>(e.count).toBe(0);
  });

  it("moves many items from one episode to the episode that joined last", () => {
    const e = empty();
    e.reserve(2);
    for (let i = 0; i < 9; i++) e.add(1);
    e.add(2);
    e.move(1, 8);
    expect<u32>(e.items(1)).toBe(1);
    expect<u32>(e.items(2)).toBe(9);
    expect<u64>(e.memberships()).toBe(10);
  });

  it("is a map in lockstep, through growth, removals and collisions", () => {
    const dice = new Dice(2);
    const e = empty(4 << 20);
    const model = new Map<u32, u32>();
    let sum: u64 = 0;
    for (let i = 0; i < 60000; i++) {
      // At first, more items are added than removed. Later, more are removed than added.
      const rising = i < 30000;
      const episode = 1 + dice.below(3000);
      const items = model.has(episode) ? model.get(episode) : 0;
      if ((dice.below(4) != 0) == rising) {
        assert(e.reserve(1), "room");
        if (e.joins(episode)) e.joinAgain();
        else e.add(episode);
        model.set(episode, items + 1);
        sum += 1;
      } else if (items != 0) {
        if (e.leavesSome(episode)) e.leaveAgain();
        else assert(e.remove(episode) == (items == 1), "the last one");
        if (items == 1) model.delete(episode);
        else model.set(episode, items - 1);
        sum -= 1;
      }
      const asked = 1 + dice.below(3000);
      assert(e.items(asked) == (model.has(asked) ? model.get(asked) : 0), "items");
      assert(e.count == <u32>model.size && e.count << 1 <= e.capacity, "count, at most half full");
    }
    expect<u64>(e.memberships()).toBe(sum);
    for (let episode: u32 = 1; episode <= 3000; episode++) {
      assert(e.items(episode) == (model.has(episode) ? model.get(episode) : 0), "in the end");
    }
    expect<u32>(e.capacity).toBeGreaterThan(512);
    expect<i32>(arena_check()).toBe(0);
  });

  it("reserves room for promised episodes", () => {
    const e = empty();
    e.reserve(1);
    const capacity = e.capacity;
    e.promised = capacity / 2;
    e.reserve(1);
    expect<u32>(e.capacity).toBe(capacity * 2);
  });

  it("is unchanged if memory is full", () => {
    const e = empty(4096);
    expect<bool>(e.reserve(256)).toBe(true);
    for (let episode: u32 = 1; episode <= 256; episode++) e.add(episode);
    expect<f64>(arena_left()).toBe(0);
    expect<bool>(e.reserve(1)).toBe(false);
    expect<u64>(e.memberships()).toBe(256);
    expect<u32>(e.items(256)).toBe(1);
    for (let episode: u32 = 1; episode <= 256; episode++) e.remove(episode);
    expect<u64>(e.memberships()).toBe(0);
    expect<u32>(e.count).toBe(0);
    expect<bool>(e.reserve(1)).toBe(true);
  });
});
