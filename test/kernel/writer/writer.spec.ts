import { arena_alloc } from "../../../assembly/memory/arena";
import { E_LENGTH, E_OUT_OF_MEMORY, E_PRIORITY, E_RATE_LIMITED } from "../../../assembly/memory/error";
import { pool_check, table_check } from "../../../assembly/persistence/check";
import { stream_length } from "../../../assembly/rows/held-stream";
import { pool_live } from "../../../assembly/rows/pool";
import { LINK_FINAL } from "../../../assembly/rows/row";
import { stream_end } from "../../../assembly/rows/stream";
import { FIFO, PRIORITIZED, UNIFORM } from "../../../assembly/selectors/kinds";
import { table_close, table_move, table_open } from "../../../assembly/tables/growing-table";
import { table_clear, table_counter } from "../../../assembly/tables/inspect";
import { beginsEpisode, burnInOf } from "../../../assembly/tables/slots";
import { Table } from "../../../assembly/tables/table";
import { writer_finish } from "../../../assembly/writer/ends";
import { table_insert } from "../../../assembly/writer/item";
import { SEQUENCE } from "../../../assembly/writer/rule";
import { writer_append } from "../../../assembly/writer/step";
import { writer_rule, writer_stream } from "../../../assembly/writer/writer";
import { arena_left, error_argument, error_code, error_value, openArena } from "../support/memory";
import { newPool, newTable, newWriter, numberOf, setLimits, stage } from "../support/world";

/** The index of the layout counter for `table_counter`, as in src/base/abi.ts. */
const LAYOUT: u32 = 10;

function address(t: Table): u32 {
  return <u32>changetype<usize>(t);
}

/** Returns the number of a column layout. Numbers below 2^16 are reserved for items of whole steps, and also encode sequences. */
function layoutOf(i: u32): u32 {
  return i == 1 ? u32.MAX_VALUE : i << 16;
}

function check(t: Table): i32 {
  const code = table_check(changetype<usize>(t));
  return code != 0 ? code : 100 * pool_check(<usize>t.pool);
}

describe("writer", () => {
  beforeEach(() => {
    openArena(1 << 20);
  });

  it("creates an item of the last `length` steps every `stride` steps, counted per episode", () => {
    const p = newPool();
    const t = newTable(p, 100, 0, UNIFORM, FIFO);
    const writer = newWriter(p, 1, 3, 1);
    writer_rule(writer, 0, address(t), 3, 2, 5, 1, 0);
    const firsts: i32[] = [];
    for (let i = 0; i < 20; i++) {
      const before = t.count;
      expect<i32>(writer_append(writer, stage(i))).toBe(0);
      if (t.count != before) {
        const item = t.slots().item(t.newest);
        assert(item.length() == 3 && t.slots().layout(t.newest) == 5 && item.plain(), "three steps");
        firsts.push(numberOf(p, item.first));
      }
      if (i == 8) stream_end(writer_stream(writer, 0), 0);
    }
    // Steps 0 … 8 are an episode, and 9 … 19 are another.
    const want: i32[] = [0, 2, 4, 6, 9, 11, 13, 15, 17];
    expect<i32>(firsts.length).toBe(want.length);
    for (let i = 0; i < want.length; i++) expect<i32>(firsts[i]).toBe(want[i]);
    expect<i32>(check(t)).toBe(0);
  });

  it("holds only steps that an item or the writer needs", () => {
    const p = newPool();
    const t = newTable(p, 5, 0, UNIFORM, FIFO);
    const writer = newWriter(p, 1, 2, 1);
    writer_rule(writer, 0, address(t), 2, 1, 0, 1, 0);
    for (let i = 0; i < 3000; i++) {
      writer_append(writer, stage(i));
      assert(pool_live(changetype<usize>(p)) == (i < 6 ? i + 1 : 6), "five items of two are six steps");
      if (i % 97 == 0) assert(check(t) == 0, "check");
    }
    expect<i32>(check(t)).toBe(0);
  });

  it("writes to several tables from one step", () => {
    const p = newPool();
    const a = newTable(p, 4, 0, UNIFORM, FIFO);
    const b = newTable(p, 9, 0, PRIORITIZED, FIFO);
    const writer = newWriter(p, 1, 4, 2);
    writer_rule(writer, 0, address(a), 1, 1, 0, 1, 0);
    expect<i32>(writer_rule(writer, 1, address(b), 4, 1, 0, 2.5, 0)).toBe(0);
    for (let i = 0; i < 50; i++) {
      writer_append(writer, stage(i));
      assert(check(a) == 0 && check(b) == 0, "check");
    }
    expect<u32>(a.count).toBe(4);
    expect<u32>(b.count).toBe(9);
    expect<f64>(b.sampler().tree().total()).toBe(9 * 2.5);
  });

  it("rejects lengths that exceed the available steps", () => {
    const p = newPool();
    const t = newTable(p, 4, 0, UNIFORM, FIFO);
    const writer = newWriter(p, 1, 3, 0);
    const lengths: u32[] = [0, 1, 3, 4, u32.MAX_VALUE];
    for (let i = 0; i < lengths.length; i++) {
      expect<i32>(table_insert(changetype<usize>(t), writer_stream(writer, 0), lengths[i], 0, 1)).toBe(E_LENGTH, "there are no steps");
      expect<f64>(error_value()).toBe(<f64>lengths[i]);
    }
    for (let i = 0; i < 5; i++) writer_append(writer, stage(i));
    expect<i32>(table_insert(changetype<usize>(t), writer_stream(writer, 0), 3, 0, 1)).toBe(1);
    expect<i32>(table_insert(changetype<usize>(t), writer_stream(writer, 0), 4, 0, 1)).toBe(E_LENGTH);
    expect<i32>(error_argument()).toBe(3);
    expect<u32>(t.count).toBe(1);
    expect<i32>(check(t)).toBe(0);
  });

  it("rejects priorities that the table does not accept", () => {
    const p = newPool();
    const t = newTable(p, 4, 0, PRIORITIZED, FIFO);
    const writer = newWriter(p, 1, 3, 1);
    writer_rule(writer, 0, address(t), 1, 1, 0, 1, 0);
    writer_append(writer, stage(0));
    const wrong: f64[] = [-1, NaN, Infinity, -Infinity, f64.MAX_VALUE, -1e-300];
    for (let i = 0; i < wrong.length; i++) {
      expect<i32>(table_insert(changetype<usize>(t), writer_stream(writer, 0), 1, 0, wrong[i])).toBe(E_PRIORITY);
      expect<i32>(writer_rule(writer, 0, address(t), 1, 1, 0, wrong[i], 0)).toBe(E_PRIORITY);
    }
    expect<i32>(table_insert(changetype<usize>(t), writer_stream(writer, 0), 1, 0, 0)).toBe(1);
    expect<i32>(table_insert(changetype<usize>(t), writer_stream(writer, 0), 1, 0, -0)).toBe(1, "-0 is 0");
    expect<i32>(check(t)).toBe(0);
  });

  it("keeps the column layout of each item when slots are reused, down to capacity 1", () => {
    for (let capacity: u32 = 1; capacity <= 3; capacity++) {
      const p = newPool();
      const t = newTable(p, capacity, 1, UNIFORM, FIFO);
      const writer = newWriter(p, 1, 3, 1);
      writer_rule(writer, 0, address(t), 1, 1, 0, 1, 0);
      writer_append(writer, stage(0));
      for (let i: u32 = 0; i < 20; i++) {
        if (i % 3 == 0) expect<i32>(writer_append(writer, stage(i))).toBe(0);
        // An item of one row replaces another in place. When episodes change, an item of two rows takes a slot from the queue of free slots.
        else expect<i32>(table_insert(address(t), writer_stream(writer, 0), 1 + (i & 1), layoutOf(i), 1)).toBe(1);
        expect<u32>(t.slots().layout(t.newest)).toBe(i % 3 == 0 ? 0 : layoutOf(i));
        if (i % 6 == 2) stream_end(writer_stream(writer, 0), 1);
        expect<i32>(check(t)).toBe(0);
      }
      expect<f64>(table_counter(address(t), LAYOUT)).toBe(-1, "several");
      table_clear(address(t));
      for (let slot: u32 = 1; slot <= t.slots().high; slot++) expect<u32>(t.slots().layout(slot)).toBe(0);
      expect<f64>(table_counter(address(t), LAYOUT)).toBe(0);
      table_insert(address(t), writer_stream(writer, 0), 1, layoutOf(7), 1);
      expect<f64>(table_counter(address(t), LAYOUT)).toBe(<f64>layoutOf(7));
      expect<i32>(check(t)).toBe(0);
      t.layout = layoutOf(8);
      expect<i32>(check(t)).toBe(11);
    }
  });

  it("creates sequences of each episode that record burn-in and the start of the episode", () => {
    const p = newPool();
    const t = newTable(p, 100, 0, UNIFORM, FIFO);
    const writer = newWriter(p, 1, 8, 1);
    writer_rule(writer, 0, address(t), 6, 3, 2, 1, SEQUENCE);
    const steps: u32[] = [9, 1, 5, 3];
    for (let episode = 0; episode < steps.length; episode++) {
      for (let i: u32 = 0; i < steps[episode]; i++) writer_append(writer, stage(i));
      writer_finish(writer, 0, stage(99), LINK_FINAL);
    }
    // Including their final steps, the episodes have 10, 2, 6 and 4 rows.
    const lengths: u32[] = [6, 6, 4, 2, 6, 4];
    const isFirst: bool[] = [true, false, false, true, true, true];
    expect<u32>(t.count).toBe(6);
    for (let k = 0; k < 6; k++) {
      const layout = t.slots().layout(k + 1);
      expect<u32>(
        t
          .slots()
          .item(k + 1)
          .length(),
      ).toBe(lengths[k]);
      expect<bool>(beginsEpisode(layout)).toBe(isFirst[k]);
      expect<u32>(burnInOf(layout)).toBe(isFirst[k] ? 0 : 2);
      expect<u32>(t.slots().columns(k + 1)).toBe(0, "whole steps");
    }
    expect<f64>(table_counter(address(t), LAYOUT)).toBe(0, "whole steps");
    expect<i32>(check(t)).toBe(0);
  });

  it("moves layouts with their items into a table with more room", () => {
    const p = newPool();
    const t = newTable(p, 4, 0, UNIFORM, FIFO);
    table_open(address(t), 5000);
    const writer = newWriter(p, 1, 3, 1);
    writer_rule(writer, 0, address(t), 1, 1, 0, 1, 0);
    writer_append(writer, stage(0));
    for (let k: u32 = 1; k < 4; k++) table_insert(address(t), writer_stream(writer, 0), 1, 100 + k, 1);
    const u = newTable(p, 4000, 0, UNIFORM, FIFO);
    table_open(address(u), 5000);
    const left = arena_left();
    expect<i32>(table_move(address(t), address(u))).toBe(0);
    expect<f64>(left - arena_left()).toBe(12288, "4 granules taken, 1 given back");
    for (let k: u32 = 1; k < 4; k++) expect<u32>(u.slots().layout(k + 1)).toBe(100 + k);
    expect<u32>(u.slots().layout(1)).toBe(0);
    expect<i32>(check(u)).toBe(0);
    const v = newTable(p, 4500, 0, UNIFORM, FIFO);
    while (arena_alloc(1) != 0) {}
    expect<i32>(table_move(address(u), address(v))).toBe(E_OUT_OF_MEMORY);
    expect<u32>(v.count).toBe(0);
    expect<i32>(check(u)).toBe(0);
    table_clear(address(u));
    table_close(address(u));
    expect<f64>(arena_left()).toBeGreaterThanOrEqual(16384);
  });

  it("rejects the first layout if memory is full", () => {
    const p = newPool();
    const t = newTable(p, 100, 1, UNIFORM, FIFO);
    const writer = newWriter(p, 1, 3, 1);
    writer_rule(writer, 0, address(t), 1, 1, 0, 1, 0);
    writer_append(writer, stage(0));
    while (arena_alloc(1) != 0) {}
    expect<i32>(table_insert(address(t), writer_stream(writer, 0), 1, 1, 1)).toBe(E_OUT_OF_MEMORY);
    expect<i32>(writer_rule(writer, 0, address(t), 1, 1, 1, 1, 0)).toBe(E_OUT_OF_MEMORY);
    expect<u32>(t.count).toBe(1);
    expect<i32>(table_insert(address(t), writer_stream(writer, 0), 1, 0, 1)).toBe(1);
    expect<i32>(check(t)).toBe(0);
  });

  it("lets items wait up to the limit, then rejects the step as a whole", () => {
    const p = newPool();
    const t = newTable(p, 8, 2, UNIFORM, FIFO);
    setLimits(changetype<usize>(t), 0, 0, 1);
    const writer = newWriter(p, 1, 2, 1);
    writer_rule(writer, 0, address(t), 1, 1, 0, 1, 0);
    expect<i32>(writer_append(writer, stage(0))).toBe(0);
    expect<i32>(writer_append(writer, stage(1))).toBe(1, "waits");
    expect<i32>(writer_append(writer, stage(2))).toBe(1);
    const live = pool_live(changetype<usize>(p));
    expect<i32>(writer_append(writer, stage(3))).toBe(E_RATE_LIMITED);
    expect<i32>(error_code()).toBe(E_RATE_LIMITED);
    expect<u32>(pool_live(changetype<usize>(p))).toBe(live, "nothing changed");
    expect<u32>(t.pending).toBe(2);
    expect<u32>(stream_length(writer_stream(writer, 0))).toBe(2);
    expect<i32>(check(t)).toBe(0);
  });
});
