import { E_PRIORITY, E_RATE_LIMITED } from "../../../assembly/memory/error";
import { pool_check, table_check } from "../../../assembly/persistence/check";
import { Pool, pool_live } from "../../../assembly/rows/pool";
import { Run } from "../../../assembly/rows/run";
import { stream_check, stream_end } from "../../../assembly/rows/stream";
import { FIFO, LIFO, MIN_HEAP, PRIORITIZED, UNIFORM } from "../../../assembly/selectors/kinds";
import { Item } from "../../../assembly/tables/slots";
import { Table } from "../../../assembly/tables/table";
import { writer_append_block } from "../../../assembly/writer/block";
import { writer_append } from "../../../assembly/writer/step";
import { Writer, writer_rule, writer_stream } from "../../../assembly/writer/writer";
import { Dice } from "../support/dice";
import { error_argument, openArena } from "../support/memory";
import { newPool, newTable, newWriter, numberOf, setLimits, stage } from "../support/world";

const MAX: u32 = 64;
/** The addresses of columns: three leaves and up to two rules. */
const columns: usize = memory.data(20, 16);
const numbers: usize = memory.data(4 * 64, 16);
const rewards: usize = memory.data(4 * 64, 16);
const discounts: usize = memory.data(8 * 64, 16);
const ends: usize = memory.data(64, 16);
const priorities: usize = memory.data(8 * 64, 16);

/** Fills rows with the next numbers, as columns in the order of the leaves. */
function fill(first: i32, rows: u32): void {
  store<u32>(columns, <u32>numbers);
  store<u32>(columns, <u32>rewards, 4);
  store<u32>(columns, <u32>discounts, 8);
  store<u64>(columns, 0, 12);
  for (let r: usize = 0; r < <usize>rows; r++) {
    store<i32>(numbers + (r << 2), first + <i32>r);
    store<f32>(rewards + (r << 2), <f32>(first + <i32>r) / 4);
    store<f64>(discounts + (r << 3), <f64>(first + <i32>r) / 8);
  }
}

/** A pool, two tables and a writer with a rule for each. */
class World {
  pool: Pool;
  a: Table;
  b: Table;
  writer: usize;
  layout: u32 = 0;

  constructor(dice: Dice, lanes: u32) {
    const kinds: u32[] = [UNIFORM, PRIORITIZED, FIFO, LIFO, MIN_HEAP];
    const pool = newPool(dice.below(2) == 0 ? 16 : 2000);
    const a = newTable(pool, 1 + dice.below(40), 0, kinds[dice.below(5)], FIFO);
    const b = newTable(pool, 20 + dice.below(20), 0, kinds[dice.below(2)], kinds[dice.below(5)]);
    const across = dice.below(3) == 0;
    const writer = newWriter(pool, lanes, 8 + dice.below(3), 2, across);
    writer_rule(writer, 0, <u32>changetype<usize>(a), 1 + dice.below(8), 1, 1, 1, 0);
    writer_rule(writer, 1, <u32>changetype<usize>(b), 1 + dice.below(8), 1 + dice.below(2) * dice.below(2), 2, 1, 0);
    this.pool = pool;
    this.a = a;
    this.b = b;
    this.writer = writer;
  }

  /** Makes the first rule create items with `layout`, and the second rule items with `layout >> 1`. */
  show(layout: u32): void {
    this.layout = layout;
    changetype<Writer>(this.writer).rule(0).layout = layout;
    changetype<Writer>(this.writer).rule(1).layout = layout >> 1;
  }

  check(): i32 {
    for (let lane: u32 = 0; lane < changetype<Writer>(this.writer).lanes; lane++) {
      if (stream_check(changetype<usize>(changetype<Writer>(this.writer).stream(lane))) != 0) return 1000;
    }
    const code = table_check(changetype<usize>(this.a)) + 100 * table_check(changetype<usize>(this.b));
    return code != 0 ? code : 10000 * pool_check(changetype<usize>(this.pool));
  }
}

/** Returns the kinds of the run of an item, row by row. */
function kindOf(p: Pool, item: Item): u32 {
  const kind = Run.retain(p, item.first, item.length());
  Run.release(p, item.first, item.length());
  return kind;
}

/** Returns whether two tables hold the same items of the same steps in the same slots. */
function alike(p: Pool, t: Table, q: Pool, u: Table): bool {
  if (t.count != u.count || t.steps != u.steps || t.newest != u.newest || t.slots().high != u.slots().high) return false;
  if (t.episodes().count != u.episodes().count || t.deletedEpisodes != u.deletedEpisodes) return false;
  for (let slot: u32 = 1; slot <= t.slots().high; slot++) {
    if (t.slots().priority(slot) != u.slots().priority(slot) || t.slots().key(slot) != u.slots().key(slot)) return false;
    if (!t.slots().isLive(slot)) continue;
    const item = t.slots().item(slot);
    const other = u.slots().item(slot);
    if (kindOf(p, item) != item.kind() || kindOf(q, other) != other.kind()) return false;
    if (item.length() != other.length() || item.single() != other.single() || t.slots().layout(slot) != u.slots().layout(slot)) return false;
    let row = item.first;
    let twin = other.first;
    for (let i = item.length(); i > 0; i--) {
      if (numberOf(p, row) != numberOf(q, twin) || p.episode(row) != q.episode(twin) || p.ends(row) != q.ends(twin)) return false;
      row = p.next(row);
      twin = q.next(twin);
    }
  }
  return true;
}

describe("block", () => {
  it("equals single steps, for any split into blocks, with two rules, ends and priorities", () => {
    for (let seed: u32 = 1; seed <= 60; seed++) {
      openArena(6 << 20);
      const blocks = new World(new Dice(seed), 1);
      const steps = new World(new Dice(seed), 1);
      const dice = new Dice(1000 + seed);
      let number = 0;
      for (let k = 0; k < 40; k++) {
        blocks.show(1 + dice.below(3));
        steps.show(blocks.layout);
        const rows = dice.below(MAX + 1);
        const ending = dice.below(2) == 0;
        const weighed = dice.below(2) == 0;
        fill(number, rows);
        for (let r: u32 = 0; r < rows; r++) {
          store<u8>(ends + <usize>r, dice.below(10) == 0 ? 1 : 0);
          store<f64>(priorities + ((<usize>r) << 3), dice.fraction());
        }
        const fixed = dice.fraction();
        changetype<Writer>(blocks.writer).rule(1).priority = fixed;
        store<u32>(columns, weighed ? <u32>priorities : 0, 16);
        assert(writer_append_block(blocks.writer, columns, rows, ending ? ends : 0, 0) == 0, "nothing waits");
        for (let r: u32 = 0; r < rows; r++) {
          changetype<Writer>(steps.writer).rule(1).priority = weighed ? load<f64>(priorities + ((<usize>r) << 3)) : fixed;
          writer_append(steps.writer, stage(number + r, 0.25 * <f64>(number + r), 0.125 * <f64>(number + r)));
          if (ending && load<u8>(ends + <usize>r) != 0) stream_end(writer_stream(steps.writer, 0), changetype<Writer>(steps.writer).across);
        }
        number += rows;
        assert(blocks.check() == 0, "block: check");
        assert(steps.check() == 0, "steps: check");
        assert(alike(blocks.pool, blocks.a, steps.pool, steps.a), "the first table");
        assert(alike(blocks.pool, blocks.b, steps.pool, steps.b), "the second table");
        assert(pool_live(changetype<usize>(blocks.pool)) == pool_live(changetype<usize>(steps.pool)), "rows held");
      }
      expect<i32>(blocks.check()).toBe(0);
    }
  });

  it("writes every leaf of every row", () => {
    openArena(1 << 20);
    const p = newPool();
    const t = newTable(p, 100, 0, UNIFORM, FIFO);
    const writer = newWriter(p, 1, 1, 1);
    writer_rule(writer, 0, <u32>changetype<usize>(t), 1, 1, 0, 1, 0);
    fill(100, 50);
    writer_append_block(writer, columns, 50, 0, 0);
    for (let slot: u32 = 1; slot <= 50; slot++) {
      const row = t.slots().item(slot).first;
      const number = 99 + <i32>slot;
      assert(numberOf(p, row) == number, "number");
      assert(load<f32>(p.value(row, p.leaf(1))) == <f32>number / 4, "reward");
      assert(load<f64>(p.value(row, p.leaf(2))) == <f64>number / 8, "discount");
    }
    expect<u32>(t.count).toBe(50);
  });

  it("assigns row r to lane r modulo the lanes", () => {
    openArena(1 << 20);
    const p = newPool();
    const t = newTable(p, 100, 0, UNIFORM, FIFO);
    const writer = newWriter(p, 3, 2, 1);
    writer_rule(writer, 0, <u32>changetype<usize>(t), 2, 1, 0, 1, 0);
    fill(0, 30);
    memory.fill(ends, 0, MAX);
    store<u8>(ends + 13, 1);
    writer_append_block(writer, columns, 30, ends, 0);
    expect<u32>(t.count).toBe(3 * 9 - 1, "ten steps a lane; one episode ends in lane 1");
    for (let slot: u32 = 1; slot <= t.count; slot++) {
      const first = t.slots().item(slot).first;
      const number = numberOf(p, first);
      assert(numberOf(p, p.next(first)) == number + 3 && number != 13, "two steps of one lane and episode");
    }
    expect<i32>(table_check(changetype<usize>(t)) + pool_check(changetype<usize>(p))).toBe(0);
  });

  it("holds only the last steps if no rule makes items of them", () => {
    openArena(1 << 20);
    const p = newPool();
    const writer = newWriter(p, 1, 3, 0);
    for (let k = 0; k < 20; k++) {
      fill(64 * k, 64);
      expect<i32>(writer_append_block(writer, columns, 64, 0, 0)).toBe(0);
      expect<i32>(pool_check(changetype<usize>(p))).toBe(0);
      expect<u32>(pool_live(changetype<usize>(p))).toBe(3);
    }
  });

  it("changes nothing if one priority is invalid or a limiter has no room", () => {
    openArena(1 << 20);
    const p = newPool();
    const t = newTable(p, 10, 2, PRIORITIZED, FIFO);
    setLimits(changetype<usize>(t), 0, 0, 5);
    const writer = newWriter(p, 1, 2, 1);
    writer_rule(writer, 0, <u32>changetype<usize>(t), 1, 1, 0, 1, 0);
    fill(0, 9);
    for (let r: u32 = 0; r < 9; r++) store<f64>(priorities + ((<usize>r) << 3), r == 6 ? -1 : 1);
    store<u32>(columns, <u32>priorities, 12);
    expect<i32>(writer_append_block(writer, columns, 9, 0, 0)).toBe(E_PRIORITY);
    expect<i32>(error_argument()).toBe(6, "which row");
    expect<u32>(t.count + pool_live(changetype<usize>(p))).toBe(0);
    store<f64>(priorities, 1, 48);
    expect<i32>(writer_append_block(writer, columns, 9, 0, 0)).toBe(E_RATE_LIMITED);
    expect<u32>(t.count + pool_live(changetype<usize>(p))).toBe(0);
    expect<i32>(writer_append_block(writer, columns, 5, 0, 0)).toBe(0);
    expect<u32>(t.count).toBe(5);
    expect<i32>(table_check(changetype<usize>(t))).toBe(0);
  });
});
