/** Tests batches that are refilled, whatever form they had before. */
import { expect, test } from "vitest";
import { type Batch, f32, fifo, Replay, type TransitionBatch } from "../../../src/index.ts";
import { broken } from "../../support/health.ts";
import { expectRefused } from "../../support/refused.ts";

/** Creates 40 items, one with four steps and the others with two. Step k has the value k. */
function uneven() {
  const replay = new Replay({ spec: { x: f32() }, tables: { t: { maxSize: 40 } }, seed: 3 });
  const writer = replay.writer();
  for (let k = 0; k < 60; k++) writer.append({ x: k });
  writer.createItem("t", { length: 4 });
  for (let k = 0; k < 39; k++) writer.createItem("t", { length: 2 });
  return { replay, table: replay.table("t") };
}

test("a batch narrower than the longest item can be refilled, including its keys", () => {
  const { table } = uneven();
  let into = table.sample(8);
  let found = 0;
  for (let round = 0; round < 50; round++) {
    into = table.sample(8, { into });
    expect([56, 58]).toContain(into.steps.x.data[0]);
    found += table.updatePriorities(into.info.keys, new Float64Array(8).fill(1));
  }
  expect(found).toBe(400);
});

test("a batch shorter than requested can be refilled at its real size", () => {
  const { table } = uneven();
  const short = table.sample(64, { replacement: false, mask: true });
  expect(short.count).toBe(40);
  expect(short.info.keys.length).toBe(40);
  const again = table.sample(40, { into: short, replacement: false });
  expect(table.updatePriorities(again.info.keys, new Float64Array(40).fill(1))).toBe(40);
});

test("a column that starts before the window has room for its padding", () => {
  const tables = { t: { maxSize: 64, sampler: fifo() }, other: { maxSize: 1100 } };
  const replay = new Replay({ spec: { x: f32(64) }, tables });
  const writer = replay.writer({ items: [{ table: "other", length: 1 }] });
  const value = (k: number) => new Float32Array(64).fill(k + 1);
  for (let k = 0; k < 1022; k++) writer.append({ x: value(k) });
  writer.createItem("t", { length: 2 });
  writer.createItem("t", { length: 20 });
  const columns = { x: { leaf: "x", from: -20, to: 2 } } as const;
  for (const n of [1, 8, 16]) {
    const { steps, lengths, info } = replay.table("t").sample(n, { columns });
    expect(steps.x.shape).toEqual([n, 20, 64]);
    expect([...lengths]).toEqual(Array(n).fill(2));
    expect(new Set(info.keys).size).toBe(1);
    // Only the last two of the twenty steps exist.
    expect([...steps.x.data.subarray(17 * 64, 20 * 64)]).toEqual([...value(-1), ...value(1020), ...value(1021)]);
  }
  const all = replay.table("other").sample(1022, { replacement: false });
  expect(all.steps.x.data.reduce((sum, x) => sum + x, 0)).toBe((64 * 1022 * 1023) / 2);
  expect(broken(replay)).toEqual([]);
});

test("columns that a call does not request keep their old values", () => {
  const { table } = uneven();
  const nStep = { n: 1, gamma: 1, reward: "x" } as const;
  const into = table.batch(4, { length: 2, beta: 1, nStep });
  table.sample(4, { into, beta: 1, nStep });
  const kept = [[...into.info.weights], [...into.nStep.returns], [...into.nStep.steps]];
  expect(kept[0]).toEqual([1, 1, 1, 1]);
  into.info.weights.fill(7);
  table.sample(4, { into });
  expect([...into.info.weights]).toEqual([7, 7, 7, 7]);
  expect([...into.nStep.returns]).toEqual(kept[1]);
  table.sample(4, { into, beta: 1, nStep });
  expect([...into.info.weights]).toEqual([1, 1, 1, 1]);
});

test("sample requires `length` for a detached batch of selected columns", () => {
  const { table } = uneven();
  const columns = { last: { leaf: "x", at: -1 } } as const;
  const own = table.batch(1, { length: 2, columns }).detached();
  expect(() => table.sample(1, { into: own, columns })).toThrow(/^length \(or the second dimension of into\) must be/);
  expect([...table.sample(1, { into: own, columns, length: 2 }).steps.last.data]).toHaveLength(1);
});

test.each<[string, (batch: Batch) => void]>([
  ["its memory was transferred", (batch) => structuredClone(null, { transfer: [batch.info.keys.buffer] })],
  ["it was released, and detached", (batch) => batch.release()],
])("rejects a batch without its arrays: %s", (_, spoil) => {
  const { replay, table } = uneven();
  for (const isKnown of [false, true]) {
    const into = table.sample(4, { length: 2, recycle: "detach" });
    if (isKnown) table.sample(4, { into });
    spoil(into);
    const says = /^into must be a batch (whose memory has not been transferred|that has not been released)/;
    expectRefused(replay, () => table.sample(4, { into }), "SPEC_MISMATCH", says);
    expectRefused(replay, () => table.sample(3, { into }), "SPEC_MISMATCH");
    expectRefused(replay, () => table.sample(4, { into, columns: { x: { leaf: "x" } }, length: 2 }), "SPEC_MISMATCH");
  }
});

test.each<[string, (batch: TransitionBatch) => void]>([
  ["their memory was transferred", (batch) => structuredClone(null, { transfer: [batch.keys.buffer] })],
  ["they were released, and detached", (batch) => batch.release()],
])("rejects transitions without their arrays: %s", (_, spoil) => {
  const replay = new Replay({ spec: { observation: f32(2), action: f32(), reward: f32() }, tables: { t: { maxSize: 50 } } });
  const writer = replay.writer({ items: [{ table: "t", nStep: 1 }] });
  for (let t = 0; t < 9; t++) writer.append({ observation: [t, t], action: t, reward: t });
  const view = replay.tables.t.transitions({ gamma: 0.5 });
  for (const isKnown of [false, true]) {
    const into = view.sample(4, { recycle: "detach" });
    if (isKnown) view.sample(4, { into });
    spoil(into);
    expectRefused(
      replay,
      () => view.sample(4, { into }),
      "SPEC_MISMATCH",
      /^into must be a batch (whose memory has not been transferred|that has not been released)/,
    );
    expectRefused(replay, () => view.sample(3, { into }), "SPEC_MISMATCH");
  }
});
