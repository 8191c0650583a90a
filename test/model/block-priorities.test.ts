/** Tests that priorities of a block apply only to that block. */
import { expect, test } from "vitest";
import { f32, Replay } from "../../src/index.ts";

test("a step of several lanes after a block uses the rule's priority", () => {
  const replay = new Replay({ spec: { a: f32() }, tables: { t: { maxSize: 40 } } });
  const writer = replay.writer({ lanes: 2, items: [{ table: "t", length: 1, priority: 3 }] });
  writer.appendColumns({ a: new Float32Array(4) }, { priorities: { t: [5, 6, 7, 8] } });
  expect(replay.table("t").explain(writer.lastKey("t")).priority).toBe(8);
  writer.append({ a: new Float32Array(2) });
  expect(replay.table("t").explain(writer.lastKey("t")).priority).toBe(3);
});

test("a rejected block does not change the priorities of later steps", () => {
  const replay = new Replay({ spec: { a: f32() }, tables: { t: { maxSize: 40 } } });
  const writer = replay.writer({ lanes: 2, items: [{ table: "t", length: 1, priority: 3 }] });
  expect(() => writer.appendColumns({ a: new Float32Array(4) }, { ends: [1], priorities: { t: [5, 6, 7, 8] } })).toThrowError(/ends/);
  writer.append({ a: new Float32Array(2) });
  expect(replay.table("t").explain(writer.lastKey("t")).priority).toBe(3);
});
