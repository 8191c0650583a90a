import { expect, test } from "vitest";
import { ObjectStore } from "../../../src/schema/object-store.ts";
import { TestRandom } from "../../support/random.ts";

test("ObjectStore keeps the values of live rows, and releases others gradually", () => {
  const random = new TestRandom(15);
  const live = new Set<number>();
  const twin = new Map<number, readonly unknown[]>();
  const store = new ObjectStore((row) => live.has(row));
  for (let call = 0; call < 4000; call++) {
    if (live.size > 100) for (const row of [...live].slice(0, random.below(3))) live.delete(row);
    let row = 1 + random.below(300);
    while (live.has(row)) row++;
    live.add(row);
    // A reused row must not show its former contents.
    const values = random.below(3) === 0 ? undefined : [call, "x"];
    if (values === undefined) twin.delete(row);
    else twin.set(row, values);
    store.set(row, values);
    expect(store.get(row)).toBe(values);
    if (call % 50 !== 0) continue;
    for (const held of live) expect(store.get(held)).toBe(twin.get(held));
    expect(store.size).toBeLessThanOrEqual(2 * live.size + 2);
  }
  live.clear();
  for (let i = 0; i < 500; i++) store.set(1, undefined);
  expect(store.size).toBe(0);
});
