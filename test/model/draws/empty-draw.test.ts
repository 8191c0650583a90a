/** Tests that a draw without items reads nothing. */
import { expect, test } from "vitest";
import { f32, lifo, Replay } from "../../../src/index.ts";
import { scaled } from "../../support/size.ts";

test("sampling an empty table returns no items after a draw from any slot of another table", () => {
  const replay = new Replay({ spec: { a: f32() }, tables: { big: { maxSize: 4000, sampler: lifo() }, empty: { maxSize: 2 }, behind: { maxSize: 40_000 } } });
  const writer = replay.writer({ items: [{ table: "big", length: 1 }] });
  for (let a = 0; a < scaled(4000); a++) {
    writer.append({ a });
    expect(replay.table("big").sample(1).steps.a.data).toEqual(Float32Array.of(a));
    expect(replay.table("empty").sample(1)).toMatchObject({ count: 0, blocked: { by: "minSize" } });
  }
});
