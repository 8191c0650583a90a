import { pool_check } from "../../../assembly/persistence/check";
import { Pool, pool_live } from "../../../assembly/rows/pool";
import { Head, HOLDS } from "../../../assembly/rows/row";
import { Run } from "../../../assembly/rows/run";
import { SHORTEST, SLIDES, Sliding } from "../../../assembly/rows/sliding";
import { Stream, stream_check, stream_clear, stream_end } from "../../../assembly/rows/stream";
import { Dice } from "../support/dice";
import { openArena } from "../support/memory";
import { append, newPool, newStream } from "../support/world";

/** An item of a world: the numbers of its steps, and how they are held. */
class Window {
  stream: i32;
  from: i32;
  length: u32;
  run: u32;

  constructor(stream: i32, from: i32, length: u32, run: u32) {
    this.stream = stream;
    this.from = from;
    this.length = length;
    this.run = run;
  }
}

/** A world of two streams in one pool with interleaved steps, and items of their last steps. `check` recounts the expected holds of each row. */
class World {
  pool: Pool;
  streams: Stream[] = [];
  /** The rows of all steps that each stream ever had. */
  rows: u32[][] = [[], []];
  /** The first step that each stream still holds. */
  held: i32[] = [0, 0];
  keep: i32;
  items: Window[] = [];

  constructor(keep: i32) {
    this.pool = newPool();
    this.keep = keep;
    for (let i = 0; i < 2; i++) this.streams.push(newStream(this.pool, keep));
  }

  append(i: i32): void {
    this.rows[i].push(append(this.streams[i], this.rows[i].length));
    this.held[i] = max(this.held[i], this.rows[i].length - this.keep);
  }

  clear(i: i32): void {
    stream_end(changetype<usize>(this.streams[i]), 0);
    this.held[i] = this.rows[i].length;
  }

  create(i: i32, length: u32): void {
    const from = this.rows[i].length - <i32>length;
    if (from < this.held[i]) return;
    const first = this.rows[i][from];
    const plain = length < SHORTEST ? Run.retain(this.pool, first, length) : Sliding.retain(this.streams[i], this.pool, first, length);
    this.items.push(new Window(i, from, length, plain));
    Run.retain(this.pool, first, length);
    const again = Run.retain(this.pool, first, length);
    assert((plain & ~SLIDES) == again, "what run it is");
    Run.release(this.pool, first, length);
    Run.release(this.pool, first, length);
  }

  remove(at: i32): void {
    const item = this.items[at];
    const first = this.rows[item.stream][item.from];
    if ((item.run & SLIDES) != 0) Sliding.release(this.pool, first, item.length, item.run);
    else Run.release(this.pool, first, item.length);
    this.items.splice(at, 1);
  }

  /** Returns whether each row has the expected number of holds. */
  check(): bool {
    let live: u32 = 0;
    for (let i = 0; i < 2; i++) {
      if (stream_check(changetype<usize>(this.streams[i])) != 0) return false;
      const rows = this.rows[i];
      const counts = new Array<u32>(rows.length).fill(0);
      const windows = new Array<u32>(rows.length).fill(0);
      const lengths = new Array<u32>(rows.length).fill(0);
      for (let t = this.held[i]; t < rows.length; t++) counts[t] += 1;
      for (let k = 0; k < this.items.length; k++) {
        const item = this.items[k];
        if (item.stream != i) continue;
        for (let t: u32 = 0; t < item.length; t++) counts[item.from + t] += 1;
        if ((item.run & SLIDES) == 0) continue;
        windows[item.from] += 1;
        if (windows[item.from] > 1 && lengths[item.from] != item.length) return false;
        lengths[item.from] = item.length;
      }
      // A window that follows another one holds only its last row.
      const holds = counts.slice();
      for (let t = 0; t < rows.length; t++) {
        if (windows[t] == 0) continue;
        const follows = Head.of(rows[t]).follows;
        if (follows > windows[t] || (follows > 0 && (t == 0 || follows > windows[t - 1] || lengths[t - 1] != lengths[t]))) return false;
        for (let k = 0; k < <i32>lengths[t] - 1; k++) holds[t + k] -= follows;
      }
      for (let t = 0; t < rows.length; t++) {
        if (counts[t] == 0) continue;
        live += 1;
        if (holds[t] == 0 || (Head.of(rows[t]).refs & HOLDS) != holds[t] || Head.of(rows[t]).windows != windows[t]) return false;
      }
    }
    return live == pool_live(changetype<usize>(this.pool)) && pool_check(changetype<usize>(this.pool)) == 0;
  }
}

/** Returns how often the newest row of a stream is held. */
function holdsOf(row: u32): u32 {
  return Head.of(row).refs & HOLDS;
}

describe("sliding windows", () => {
  beforeEach(() => {
    openArena(1 << 20);
  });

  it("hold shared rows once, and release one row when the oldest window leaves", () => {
    const world = new World(6);
    for (let k = 0; k < 40; k++) {
      world.append(0);
      world.create(0, 6);
      if (world.items.length > 5) world.remove(0);
    }
    const rows = world.rows[0];
    // The stream also holds the last six rows.
    for (let k = 40 - 10; k < 40; k++) expect<u32>(holdsOf(rows[k])).toBe(k < 34 ? 1 : 2);
    expect<u32>(pool_live(changetype<usize>(world.pool))).toBe(10);
    expect<bool>(world.check()).toBe(true);
    while (world.items.length > 0) {
      world.remove(world.items.length - 1);
      expect<bool>(world.check()).toBe(true);
    }
    expect<u32>(pool_live(changetype<usize>(world.pool))).toBe(6);
  });

  it("are held separately after a window in the middle leaves", () => {
    const world = new World(5);
    for (let k = 0; k < 8; k++) {
      world.append(0);
      world.create(0, 5);
    }
    expect<i32>(world.items.length).toBe(4);
    world.remove(1);
    expect<bool>(world.check()).toBe(true);
    expect<u32>(holdsOf(world.rows[0][3])).toBe(3, "two windows and the stream");
    world.remove(0);
    expect<bool>(world.check()).toBe(true);
    world.remove(1);
    world.remove(0);
    expect<bool>(world.check()).toBe(true);
    expect<u32>(pool_live(changetype<usize>(world.pool))).toBe(5);
  });

  it("do not follow a window that has left, or a window of another length", () => {
    const world = new World(9);
    for (let k = 0; k < 5; k++) world.append(0);
    world.create(0, 5);
    world.remove(0);
    world.append(0);
    world.create(0, 5);
    expect<u32>(holdsOf(world.rows[0][2])).toBe(2);
    world.append(0);
    world.create(0, 6);
    expect<u32>(holdsOf(world.rows[0][2])).toBe(3);
    world.append(0);
    world.create(0, 6);
    expect<u32>(holdsOf(world.rows[0][2])).toBe(4);
    expect<u32>(holdsOf(world.rows[0][4])).toBe(4);
    world.append(0);
    world.create(0, 6);
    expect<u32>(holdsOf(world.rows[0][4])).toBe(4);
    expect<bool>(world.check()).toBe(true);
  });

  it("share one row for up to three equal windows, and a fourth holds its rows separately", () => {
    const world = new World(5);
    for (let k = 0; k < 12; k++) {
      world.append(0);
      for (let i = 0; i < 4; i++) world.create(0, 5);
      expect<bool>(world.check()).toBe(true);
    }
    expect<u32>(holdsOf(world.rows[0][7])).toBe(1 + 3 + 5);
    // The items of one table are removed before the items of the other.
    for (let k = 0; k < 7; k++) {
      world.remove(3 * k);
      expect<bool>(world.check()).toBe(true);
    }
  });

  it("have the counted number of holds, in any order of changes", () => {
    for (let seed = 1; seed <= 60; seed++) {
      openArena(1 << 20);
      const dice = new Dice(seed);
      const world = new World(8 + dice.below(3));
      const lengths: u32[] = [4 + dice.below(4), 2 + dice.below(7)];
      const most = <i32>(1 + dice.below(24));
      const mode = dice.below(4);
      for (let k = 0; k < 150; k++) {
        const i = dice.below(2) & dice.below(2);
        world.append(i);
        for (let n = dice.below(4); n > 0; n--) world.create(i, lengths[dice.below(3) == 0 ? 1 : 0]);
        if (dice.below(40) == 0) world.clear(i);
        while (world.items.length > most || (world.items.length > 0 && dice.below(20) == 0)) {
          const last = world.items.length - 1;
          world.remove(mode == 0 ? 0 : mode == 1 ? last : mode == 2 ? dice.below(last + 1) : min(last, dice.below(3)));
        }
        assert(world.check(), `seed ${seed}, step ${k}`);
      }
      while (world.items.length > 0) world.remove(dice.below(world.items.length));
      for (let i = 0; i < 2; i++) stream_clear(changetype<usize>(world.streams[i]));
      expect<u32>(pool_live(changetype<usize>(world.pool))).toBe(0);
    }
  });
});
