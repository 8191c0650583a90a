/** Tests 64-bit numbers in all JavaScript representations. */
import { expect, test } from "vitest";
import { i64, Replay, u64 } from "../../src/index.ts";

test("a 64-bit leaf accepts a bigint and an array of bigints", () => {
  const replay = new Replay({ spec: { one: i64(), two: u64(2) }, tables: { t: { maxSize: 4 } } });
  const writer = replay.writer({ items: [{ table: "t", length: 1 }] });
  writer.append({ one: -5n, two: [6n, 2n ** 64n - 1n] });
  const { one, two } = replay.table("t").sample(1).steps;
  expect(one.data).toEqual(BigInt64Array.of(-5n));
  expect(two.data).toEqual(BigUint64Array.of(6n, 2n ** 64n - 1n));
});
