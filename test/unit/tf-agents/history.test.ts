import { expect, test } from "vitest";
import { f32, i32, Replay, shared, u8 } from "../../../src/index.ts";
import { type HistoryColumn, LocalClient } from "../../../src/tf-agents/index.ts";
import { broken } from "../../support/health.ts";

const spec = { a: i32(), b: { c: f32(2), d: i32() } } as const;

function made(keep = 5) {
  const client = new LocalClient(new Replay({ spec, tables: { t: { maxSize: 9 } } }));
  return { client, writer: client.trajectoryWriter({ numKeepAliveRefs: keep }) };
}

const step = (x: number) => ({ a: x, b: { c: [x, -x], d: 10 * x } });
const read = (column: { values(): { data: ArrayLike<number | bigint> } }) => Array.from(column.values().data, Number);

test("a history is nested like the spec, and accepts Python indices", () => {
  const { writer } = made();
  for (let x = 0; x < 5; x++) writer.append(step(x));
  const { a, b } = writer.history;
  expect([a.length, b.c.length]).toEqual([5, 5]);
  expect(read(a.slice())).toEqual([0, 1, 2, 3, 4]);
  expect(read(a.slice(-2))).toEqual([3, 4]);
  expect(read(a.slice(null, null, -2))).toEqual([4, 2, 0]);
  expect(read(a.slice(3, 99))).toEqual([3, 4]);
  expect(read(a.list([2, -1, 2]))).toEqual([2, 4, 2]);
  const last = b.c.at(-1);
  expect([last.isSqueezed, last.shape, last.dtype, read(last)]).toEqual([true, [2], "f32", [4, -4]]);
  expect(b.c.slice(1, 3).shape).toEqual([2, 2]);
  expect(b.c.slice(1, 3).values()).toEqual({ data: Float32Array.of(1, -1, 2, -2), shape: [2, 2] });
});

test("an index without a step is rejected by name", () => {
  const { writer } = made();
  expect(() => writer.history).toThrow(expect.objectContaining({ code: "EMPTY" }));
  for (let x = 0; x < 3; x++) writer.append(step(x));
  const { a } = writer.history;
  for (const bad of [() => a.at(3), () => a.at(-4), () => a.list([0, 3]), () => a.slice(-4), () => a.slice(0, 2, 0)]) expect(bad).toThrow(RangeError);
  for (const bad of [() => a.at(0.5), () => a.at("0" as never), () => a.list("01" as never), () => a.slice(0, 1.5)]) expect(bad).toThrow(/must be/);
  expect(() => a.list([0, 3])).toThrow(/^indices\[1\] must be an integer in -3 … 2, got 3$/);
  expect(() => a.slice(2, 2).values()).toThrow(/at least one step/);
});

test("a field keeps its configured number of steps, and a column is checked on use", () => {
  const { client, writer } = made(2);
  writer.configure(["b", "c"], { numKeepAliveRefs: 4, maxChunkLength: null });
  for (let x = 0; x < 4; x++) writer.append(step(x));
  const { a, b } = writer.history;
  expect(read(b.c.slice())).toHaveLength(8);
  const two = a.slice(-2);
  expect(read(two)).toEqual([2, 3]);
  expect(() => a.slice(-3).values()).toThrow(/one of the last 2 \(or increase numKeepAliveRefs\), got 1/);
  writer.append(step(4));
  expect(() => two.values()).toThrow(RangeError);
  expect(() => writer.createItem("t", 1, { two })).toThrow(/^a step of trajectory\.two must be one of the last 2/);
  expect(client.table("t").size).toBe(0);
  expect(() => writer.configure(["a"], { numKeepAliveRefs: 2, maxChunkLength: 3 })).toThrow(RangeError);
  expect(() => writer.configure(["z"], { numKeepAliveRefs: 1 })).toThrow(expect.objectContaining({ code: "NOT_FOUND" }));
});

test("configure can extend a field at any step, but does not restore released steps", () => {
  const { client, writer } = made(2);
  for (let x = 0; x < 5; x++) writer.append(step(x));
  writer.createItem("t", 1, { early: writer.history.a.slice(-2) });
  writer.configure(["a"], { numKeepAliveRefs: 40 });
  expect(() => writer.history.a.slice(-3).values()).toThrow(/or increase numKeepAliveRefs/);
  expect(read(writer.history.a.slice(-2))).toEqual([3, 4]);
  for (let x = 5; x < 20; x++) writer.append(step(x));
  expect(read(writer.history.a.slice(3))).toEqual(Array.from({ length: 17 }, (_, i) => i + 3));
  expect(() => writer.history.b.c.slice(-3).values()).toThrow(/one of the last 2/);
  expect(writer.episodeSteps).toBe(20);
  writer.createItem("t", 1, { early: writer.history.a.slice(3) });
  expect(client.table("t").stats().episodes).toBe(1);
  expect(client.replay.writers.length).toBe(1);
  writer.append({ a: 20 }, { partialStep: true });
  writer.configure(["b", "c"], { numKeepAliveRefs: 90 });
  writer.append({ b: { c: [1, 2] } } as never);
  expect(read(writer.history.a.slice(-2))).toEqual([19, 20]);
  writer.close();
  expect(broken(client.replay as never)).toEqual([]);
});

test("a history returns wide and shared leaves after its window wraps around", () => {
  const client = new LocalClient(new Replay({ spec: { wide: u8(1100), frame: shared("f", u8(3)) }, tables: { t: { maxSize: 9 } } }));
  const writer = client.trajectoryWriter({ numKeepAliveRefs: 3 });
  for (let x = 1; x < 9; x++) writer.append({ wide: new Uint8Array(1100).fill(x), frame: [x, 0, x] });
  const { wide, frame } = writer.history as { wide: HistoryColumn; frame: HistoryColumn };
  expect(read(frame.list([-1, -3]))).toEqual([8, 0, 8, 6, 0, 6]);
  const { data, shape } = wide.slice(-2).values();
  expect([shape, data[0], data[1099], data[1100], data[2199]]).toEqual([[2, 1100], 7, 7, 8, 8]);
});
