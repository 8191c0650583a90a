import { expect, test } from "vitest";
import { i32, Replay } from "../../../src/index.ts";
import { LocalClient, type TrajectoryColumn } from "../../../src/tf-agents/index.ts";

function column() {
  const client = new LocalClient(new Replay({ spec: { a: i32(), b: i32() }, tables: { t: { maxSize: 9 } } }));
  const writer = client.trajectoryWriter({ numKeepAliveRefs: 5 });
  for (let a = 0; a < 5; a++) writer.append(a === 2 ? { a } : { a, b: a });
  return { client, writer, all: writer.history.a.slice() };
}
const values = (of: TrajectoryColumn) => of.values().toArray();

test("a column has a length, and can be indexed, sliced and iterated", () => {
  const { all } = column();
  expect([all.length, all.at(0).length, all.at(0).isSqueezed, all.at(-1).shape]).toEqual([5, 1, true, []]);
  expect([values(all.at(-2)), values(all.slice(1, -1)), values(all.slice(null, null, -2)), values(all.list([3, 0, 0, -1]))]).toEqual([
    3,
    [1, 2, 3],
    [4, 2, 0],
    [3, 0, 0, 4],
  ]);
  // As in Python, slices are limited to existing elements.
  expect(values(all.slice(-9, 2))).toEqual([0, 1]);
  expect(values(all.slice(3).slice(1).at(0))).toBe(4);
  expect([...all].map(values)).toEqual([0, 1, 2, 3, 4]);
  expect(values(all.at(2).at(0))).toBe(2);
});

test.each([
  [(all: TrajectoryColumn) => all.at(5), RangeError, /^index must be an integer in -5 … 4, got 5$/],
  [(all: TrajectoryColumn) => all.at(-6), RangeError, /^index must be an integer in -5 … 4, got -6$/],
  [(all: TrajectoryColumn) => all.at("a" as never), TypeError, /^index must be an integer in -5 … 4, got "a"$/],
  [(all: TrajectoryColumn) => all.at(null as never), TypeError, /got null$/],
  [(all: TrajectoryColumn) => all.at(1.5), TypeError, /got 1.5$/],
  [(all: TrajectoryColumn) => all.list([0, 9]), RangeError, /^indices\[1\] must be an integer in -5 … 4, got 9$/],
  [(all: TrajectoryColumn) => all.list(3 as never), TypeError, /^indices must be an array of integers, got 3$/],
  [(all: TrajectoryColumn) => all.slice(2, 2), RangeError, /^a must .*got an array of 0$/],
  [(all: TrajectoryColumn) => all.slice(0, 3, 0), RangeError, /^step must be an integer other than 0, got 0$/],
])("an index that names no step is rejected %#", (make, kind, message) => {
  const { all } = column();
  expect(() => make(all)).toThrow(kind);
  expect(() => make(all)).toThrow(message);
});

test("a column is rejected if a step omitted the field, was released, or never existed", () => {
  const { writer } = column();
  const { a, b } = writer.history;
  expect(() => b.slice()).toThrow(/^a step of b must be one that has b, got 2$/);
  expect(() => b.at(2)).toThrow(RangeError);
  expect(values(b.slice(3))).toEqual([3, 4]);
  writer.append({ a: 5, b: 5 });
  expect(() => a.at(0)).toThrow(/^a step of a must be one of the last 5 \(or increase numKeepAliveRefs\), got 0$/);
  expect(() => a.at(6)).toThrow(/^index must be an integer in -6 … 5, got 6$/);
  expect([...a].map((one) => one && values(one))).toEqual([null, 1, 2, 3, 4, 5]);
  expect([...b].map((one) => one && values(one))).toEqual([null, 1, null, 3, 4, 5]);
});

test("a column keeps its shape after its steps are released, but has no values", () => {
  const { client, writer, all } = column();
  for (let i = 0; i < 3; i++) writer.append({ a: 9, b: 9 });
  expect([all.length, all.shape, all.dtype]).toEqual([5, [5], "i32"]);
  expect(() => all.values()).toThrow(/^a step of this column must be one of the last 5/);
  expect(() => all.at(0)).toThrow(RangeError);
  expect(() => writer.createItem("t", 1, { all })).toThrow(RangeError);
  expect(client.table("t").size).toBe(0);
});
