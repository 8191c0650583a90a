/** Tests that a prioritized remover draws its victims one at a time. */
import { expect, test } from "vitest";
import { f32, prioritized, Replay } from "../../src/index.ts";
import { broken } from "../support/health.ts";

test("a prioritized remover evicts only live items if weights are not powers of two", () => {
  const replay = new Replay({ spec: { a: f32() }, tables: { t: { maxSize: 300, remover: prioritized(0.7) } } });
  const writer = replay.writer();
  const keys: number[] = [];
  for (let a = 0; a < 3000; a++) {
    writer.append({ a });
    writer.createItem("t", { length: 1, priority: (a % 2) * (1 + (a % 7) / 3) });
    keys.push(writer.lastKey("t"));
  }
  expect(broken(replay)).toEqual([]);
  // Items of priority 0 stay as long as other items exist, so they fill the table.
  const live = keys.map((key) => replay.table("t").explain(key)).filter(({ state }) => state === "live");
  expect(live.map(({ priority }) => priority)).toEqual(new Array(300).fill(0));
  expect(replay.table("t").stats()).toMatchObject({ size: 300, deletes: 2700 });
});
