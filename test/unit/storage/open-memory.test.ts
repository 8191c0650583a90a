/** Opening a journal grows the memory once for all rows, however many steps it has. */
import { afterEach, expect, test, vi } from "vitest";
import { memory } from "../../../src/files/memory.ts";
import { f32, fifo, Replay, uniform } from "../../../src/index.ts";
import { Core } from "../../../src/memory/core.ts";

const MIB = 2 ** 20;
const ROW = 4 * 64;
const STEPS = 40_000;

afterEach(() => {
  vi.restoreAllMocks();
});

/** Writes a journal whose rows take about 10 MB, and returns its directory. */
async function written() {
  const dir = memory();
  const tables = { t: { maxSize: STEPS, sampler: uniform(), remover: fifo() } };
  const replay = await Replay.open({ spec: { x: f32(64) }, tables, dir, durability: "manual" });
  const writer = replay.writer({ items: [{ table: "t", length: 1 }] });
  const x = new Float32Array(64 * 1000);
  for (let k = 0; k < STEPS; k += 1000) writer.appendColumns({ x: x.fill(k) });
  await replay.flush();
  return dir.crash();
}

test("opening a journal grows the memory once for all its rows", async () => {
  const dir = await written();
  const grown: [Core, number][] = [];
  const { growFor: original } = Core.prototype;
  const growFor = vi.spyOn(Core.prototype, "growFor").mockImplementation(function (this: Core, bytes) {
    original.call(this, bytes);
    grown.push([this, this.u8.length]);
  });
  const replay = await Replay.open({ dir });
  expect(growFor).toHaveBeenCalledOnce();
  expect(growFor.mock.calls[0]?.[0]).toBeGreaterThan(STEPS * ROW);
  // Rows take a little more than their values: a header, and the unused end of the last block.
  expect(growFor.mock.calls[0]?.[0]).toBeLessThan(1.2 * STEPS * ROW);
  expect(replay.table("t").size).toBe(STEPS);
  // The tables may need more memory later, but far less than the rows.
  const [[core, length]] = grown as [[Core, number]];
  core.refreshIfMoved();
  expect(core.u8.length - length).toBeLessThan(0.2 * STEPS * ROW);
});

test("a journal opens even if maxBytes leaves little memory besides its rows", async () => {
  const dir = await written();
  const replay = await Replay.open({ dir, maxBytes: 13 * MIB });
  expect(replay.table("t").size).toBe(STEPS);
});

test("after growFor(n), allocations of n bytes do not move the memory", () => {
  const core = new Core(64 * MIB);
  core.growFor(20 * MIB);
  const { generation } = core;
  const { buffer } = core.u8;
  for (let k = 0; k < 20; k++) core.alloc(MIB);
  expect(core.generation).toBe(generation);
  expect(core.u8.buffer).toBe(buffer);
  core.growFor(0);
  expect(core.generation).toBe(generation);
});

test("growFor stays within maxBytes", () => {
  const core = new Core(8 * MIB);
  core.growFor(100 * MIB);
  expect(core.u8.length).toBeLessThanOrEqual(8 * MIB);
  expect(core.u8.length).toBeGreaterThan(7 * MIB);
});

test("growFor leaves the memory unchanged if the host cannot grow it", () => {
  const core = new Core(64 * MIB);
  const { length } = core.u8;
  const grow = vi.spyOn(core.x.memory, "grow").mockImplementation(() => {
    throw new RangeError("refused");
  });
  core.growFor(20 * MIB);
  expect(grow).toHaveBeenCalledOnce();
  expect(core.u8.length).toBe(length);
  core.alloc(MIB);
});
