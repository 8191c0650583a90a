import { random_f64 } from "../../../assembly/memory/random";
import { Pool } from "../../../assembly/rows/pool";
import { Run } from "../../../assembly/rows/run";
import { FIFO, PRIORITIZED, WITH_MIN } from "../../../assembly/selectors/kinds";
import {
  table_arrange,
  table_chances,
  table_find,
  table_free_slots,
  table_high,
  table_max_size,
  table_min,
  table_move,
  table_open,
  table_slots,
  table_total,
  table_weighs,
} from "../../../assembly/tables/growing-table";
import { insertItem, Table } from "../../../assembly/tables/table";
import { openArena } from "../support/memory";
import { append, newPool, newStream, newTable } from "../support/world";

const out: usize = memory.data(256, 16);
const KEYS: u32 = 64;

function tableOf(pool: Pool, room: u32): usize {
  const table = changetype<usize>(newTable(pool, room, 0, PRIORITIZED + WITH_MIN, FIFO));
  table_open(table, KEYS);
  return table;
}

/** Inserts n items of one step. The priority of item i is `first` + i. */
function fill(pool: Pool, table: usize, n: u32, first: f64 = 1): void {
  const s = newStream(pool, 1);
  for (let i: u32 = 0; i < n; i++) {
    const row = append(s, i);
    assert(insertItem(changetype<Table>(table), row, 1, Run.retain(changetype<Table>(table).rows(), row, 1), 0, first + i) == 1, "it is in");
  }
}

function listed(n: u32): u32[] {
  const list: u32[] = [];
  for (let i: u32 = 0; i < n; i++) list.push(load<u32>(out + ((<usize>i) << 2)));
  return list;
}

function put(i: u32, slot: u32): void {
  store<u32>(out + ((<usize>i) << 2), slot);
}

function keyOf(table: usize, slot: u32): f64 {
  return changetype<Table>(table).slots().key(slot);
}

describe("a growing table", () => {
  it("lists its slots in order of age, a few at a time", () => {
    openArena(1 << 20);
    const pool = newPool();
    const table = tableOf(pool, 5);
    expect<u32>(table_slots(table, 0, 5, out)).toBe(0);
    fill(pool, table, 5);
    expect<u32>(table_slots(table, 0, 9, out)).toBe(5);
    expect<u32[]>(listed(5)).toStrictEqual([1, 2, 3, 4, 5]);
    expect<u32>(table_slots(table, 5, 9, out)).toBe(0, "nothing is younger than the youngest");
    // Two items are removed. The first new item takes the slot next to the free space, and the second one takes the slot of the oldest item.
    fill(pool, table, 2, 6);
    expect<u32>(table_slots(table, 0, 3, out)).toBe(3);
    expect<u32[]>(listed(3)).toStrictEqual([3, 4, 5]);
    expect<u32>(table_slots(table, 5, 3, out)).toBe(2);
    expect<u32[]>(listed(2)).toStrictEqual([6, 1]);
    expect<u32>(table_slots(table, 1, 3, out)).toBe(0);
  });

  it("moves with keys, ages, free slots and priorities", () => {
    openArena(1 << 20);
    const pool = newPool();
    const table = tableOf(pool, 4);
    fill(pool, table, 4);
    // The next insert enforces a size of two, so three items are removed.
    table_max_size(table, 2);
    fill(pool, table, 1, 9);
    const larger = tableOf(pool, 9);
    const keys = [keyOf(table, 4), keyOf(table, 5)];
    expect<i32>(table_move(table, larger)).toBe(0);
    expect<u32>(table_slots(larger, 0, 9, out)).toBe(2);
    expect<u32[]>(listed(2)).toStrictEqual([4, 5]);
    expect<u32>(table_find(larger, keys[0])).toBe(4);
    expect<u32>(table_find(larger, keys[1])).toBe(5);
    expect<u32>(table_high(larger)).toBe(5);
    expect<u32>(table_free_slots(larger, out)).toBe(3);
    expect<u32[]>(listed(3)).toStrictEqual([1, 2, 3]);
    expect<f64>(table_total(larger)).toBe(13);
    expect<f64>(table_min(larger, 0)).toBe(4);
    expect<f64>(table_min(larger, 1)).toBe(4);
    assert(table_weighs(larger), "some have a priority");
  });

  it("accepts a list of slots, and rejects invalid slots", () => {
    openArena(1 << 20);
    const pool = newPool();
    const table = tableOf(pool, 4);
    put(0, 3);
    put(1, 1);
    put(2, 3);
    assert(!table_arrange(table, 4, out, 3), "one twice");
    put(2, 5);
    assert(!table_arrange(table, 4, out, 3), "above the highest");
    put(2, 0);
    assert(!table_arrange(table, 4, out, 3), "no slot");
    assert(!table_arrange(table, 6, out, 2), "more than there is room for");
    expect<u32>(table_high(table)).toBe(0, "nothing changed");
    expect<u32>(table_free_slots(table, out + 64)).toBe(0);
    put(2, 4);
    assert(table_arrange(table, 4, out, 3), "three of four");
    fill(pool, table, 3);
    expect<u32>(table_slots(table, 0, 9, out)).toBe(3);
    expect<u32[]>(listed(3)).toStrictEqual([3, 1, 4]);
    assert(!table_arrange(table, 4, out, 3), "it is not empty");
  });

  it("table_chances counts hits with one random number of the table per chance", () => {
    openArena(1 << 20);
    const pool = newPool();
    const a = tableOf(pool, 4);
    const b = tableOf(pool, 4);
    let below: u32 = 0;
    for (let i = 0; i < 100; i++) if (random_f64(changetype<Table>(a).random()) < 0.3) below += 1;
    expect<u32>(table_chances(b, 100, 0.3)).toBe(below);
    expect<f64>(random_f64(changetype<Table>(b).random())).toBe(random_f64(changetype<Table>(a).random()));
    expect<u32>(table_chances(b, 100, 0)).toBe(0);
    expect<u32>(table_chances(b, 100, 1)).toBe(100);
  });
});
