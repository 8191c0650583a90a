import { E_FINAL, E_NO_EPISODE, E_RATE_LIMITED, E_REWARD } from "../../../assembly/memory/error";
import { pool_check, table_check } from "../../../assembly/persistence/check";
import { stream_length } from "../../../assembly/rows/held-stream";
import { Pool, pool_live } from "../../../assembly/rows/pool";
import { Head, LINK_ENDS, LINK_FINAL, LINK_ROW } from "../../../assembly/rows/row";
import { stream_check, stream_clear } from "../../../assembly/rows/stream";
import { FIFO, UNIFORM } from "../../../assembly/selectors/kinds";
import { Table } from "../../../assembly/tables/table";
import { writer_close, writer_end, writer_finish } from "../../../assembly/writer/ends";
import { table_insert } from "../../../assembly/writer/item";
import { writer_append } from "../../../assembly/writer/step";
import { writer_barren, writer_init, writer_rule, writer_stream } from "../../../assembly/writer/writer";
import { error_code, openArena } from "../support/memory";
import { newPool, newTable, newWriter, numberOf, REWARD, setLimits, stage } from "../support/world";

const TAILS: u32 = 1;
const LARGEST: u32 = 2;

function address(t: Table): u32 {
  return <u32>changetype<usize>(t);
}

function check(t: Table, writer: usize): i32 {
  const code = table_check(changetype<usize>(t));
  if (code != 0) return code;
  return 100 * pool_check(<usize>t.pool) + 1000 * stream_check(writer_stream(writer, 0));
}

/** Returns a writer whose rule creates transitions of n steps. */
function transitions(p: Pool, t: Table, n: u32): usize {
  const writer = newWriter(p, 1, n + 1, 1);
  writer_rule(writer, 0, address(t), n + 1, 1, 0, 1, TAILS);
  return writer;
}

describe("the end of an episode", () => {
  beforeEach(() => {
    openArena(1 << 20);
  });

  it("creates one transition per step, for every length and every n", () => {
    const p = newPool();
    for (let n: u32 = 1; n < 6; n++) {
      const t = newTable(p, 1000, 0, UNIFORM, FIFO);
      const writer = transitions(p, t, n);
      let step = 0;
      let slot: u32 = 1;
      for (let steps: u32 = 1; steps < 12; steps++) {
        const first = step;
        for (let i: u32 = 0; i < steps; i++) assert(writer_append(writer, stage(step++)) == 0, "taken");
        assert(writer_finish(writer, 0, stage(step++), steps % 2 == 0 ? LINK_ENDS : LINK_FINAL) == 0, "ended");
        for (let i: u32 = 0; i < steps; i++, slot++) {
          const item = t.slots().item(slot);
          assert(numberOf(p, item.first) == first + <i32>i, "one of each step, in order");
          assert(item.length() == min(n, steps - i) + 1, "of n steps, or up to the end");
        }
        assert(t.count == slot - 1, "and no more");
        assert(check(t, writer) == 0, "check");
      }
      writer_close(writer);
      stream_clear(writer_stream(writer, 0));
    }
  });

  it("marks the final step, and keeps it available until the next step", () => {
    const p = newPool();
    const t = newTable(p, 10, 0, UNIFORM, FIFO);
    const writer = newWriter(p, 1, 4, 0);
    const marks: u32[] = [LINK_FINAL, LINK_ENDS];
    for (let i = 0; i < 2; i++) {
      writer_append(writer, stage(1));
      writer_append(writer, stage(2));
      writer_finish(writer, 0, stage(3), marks[i]);
      expect<u32>(stream_length(writer_stream(writer, 0))).toBe(3);
      expect<i32>(table_insert(changetype<usize>(t), writer_stream(writer, 0), 2, 0, 1)).toBe(1);
      expect<i32>(table_insert(changetype<usize>(t), writer_stream(writer, 0), 1, 0, 1)).toBe(E_FINAL);
      const item = t.slots().item(t.newest);
      const last = p.next(item.first);
      expect<u32>(Head.of(last).next & ~LINK_ROW).toBe(marks[i]);
      expect<bool>(p.isFinal(last) && p.ends(last) && !p.isFinal(item.first)).toBe(true);
    }
    writer_append(writer, stage(4));
    expect<u32>(stream_length(writer_stream(writer, 0))).toBe(1);
    expect<u32>(pool_live(changetype<usize>(p))).toBe(5, "two items of two, and the step at hand");
    expect<i32>(check(t, writer)).toBe(0);
  });

  it("needs an open episode, and a second end is rejected", () => {
    const p = newPool();
    const t = newTable(p, 10, 0, UNIFORM, FIFO);
    const writer = transitions(p, t, 2);
    expect<i32>(writer_finish(writer, 0, stage(1), LINK_ENDS)).toBe(E_NO_EPISODE);
    writer_append(writer, stage(1));
    expect<i32>(writer_finish(writer, 0, stage(2), LINK_ENDS)).toBe(0);
    expect<i32>(writer_finish(writer, 0, stage(3), LINK_ENDS)).toBe(E_NO_EPISODE);
    writer_end(writer, 0);
    expect<u32>(t.count).toBe(1);
    expect<u32>(Head.of(p.next(t.slots().item(t.newest).first)).next & ~LINK_ROW).toBe(LINK_ENDS, "the mark stays as it was");
    expect<i32>(check(t, writer)).toBe(0);
  });

  it("creates all items or none", () => {
    const p = newPool();
    const t = newTable(p, 10, 1, UNIFORM, FIFO);
    // The queue has room for three.
    setLimits(changetype<usize>(t), 1, 0, 3);
    const writer = transitions(p, t, 5);
    for (let i = 0; i < 5; i++) writer_append(writer, stage(i));
    expect<i32>(writer_finish(writer, 0, stage(5), LINK_FINAL)).toBe(E_RATE_LIMITED);
    expect<u32>(t.count + t.pending).toBe(0);
    expect<u32>(stream_length(writer_stream(writer, 0))).toBe(5);
    expect<i32>(check(t, writer)).toBe(0);
  });

  it("by writer_close uses the newest step as the final step", () => {
    const p = newPool();
    const t = newTable(p, 100, 0, UNIFORM, FIFO);
    const writer = transitions(p, t, 3);
    for (let i = 0; i < 6; i++) writer_append(writer, stage(i));
    writer_close(writer);
    expect<u32>(t.count).toBe(5);
    for (let i: u32 = 0; i < 5; i++) {
      const item = t.slots().item(i + 1);
      assert(numberOf(p, item.first) == <i32>i && item.length() == min(3, 5 - i) + 1, "of each step but the last");
    }
    expect<u32>(pool_live(changetype<usize>(p))).toBe(6);
  });

  it("is counted by writer_barren if the rules made no item", () => {
    const p = newPool();
    const t = newTable(p, 100, 0, UNIFORM, FIFO);
    const writer = newWriter(p, 1, 3, 1);
    writer_rule(writer, 0, address(t), 3, 1, 0, 1, 0);
    for (let steps = 1; steps < 5; steps++) {
      for (let i = 0; i < steps; i++) writer_append(writer, stage(i));
      writer_end(writer, 0);
      writer_end(writer, 0);
    }
    expect<u32>(writer_barren(writer)).toBe(2);
  });

  it("a rule can use the largest priority of the live items", () => {
    const p = newPool();
    const t = newTable(p, 2, 0, UNIFORM, FIFO);
    const writer = newWriter(p, 1, 2, 1);
    writer_rule(writer, 0, address(t), 1, 1, 0, 1, LARGEST);
    writer_append(writer, stage(0));
    expect<f64>(t.slots().priority(t.newest)).toBe(1);
    table_insert(changetype<usize>(t), writer_stream(writer, 0), 1, 0, 7);
    for (let i = 1; i < 5; i++) {
      writer_append(writer, stage(i));
      expect<f64>(t.slots().priority(t.newest)).toBe(7);
    }
    expect<i32>(check(t, writer)).toBe(0);
  });

  it("requires finite rewards if the reward leaf is set", () => {
    const p = newPool();
    const t = newTable(p, 10, 0, UNIFORM, FIFO);
    const writer = newWriter(p, 1, 2, 1);
    writer_init(writer, <u32>changetype<usize>(p), 1, 1, 2, 0, 0, REWARD + 1);
    writer_rule(writer, 0, address(t), 2, 1, 0, 1, TAILS);
    const wrong: f64[] = [NaN, Infinity, -Infinity, 1e39];
    for (let i = 0; i < wrong.length; i++) expect<i32>(writer_append(writer, stage(1, wrong[i]))).toBe(E_REWARD);
    expect<i32>(error_code()).toBe(E_REWARD);
    expect<u32>(pool_live(changetype<usize>(p))).toBe(0);
    expect<i32>(writer_append(writer, stage(1, 2))).toBe(0);
  });
});
