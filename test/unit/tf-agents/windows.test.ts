/** Tests requests for more windows of a buffer's streams than a draw has room for. Such a bug in the host must not overwrite adjacent memory. */

import { describe, expect, test } from "vitest";
import { LENGTH, LEVEL, OF_STREAMS, SLOT, START, UNIFORM } from "../../../src/base/abi.ts";
import { f32, Replay } from "../../../src/index.ts";
import { StreamSet } from "../../../src/memory/streams.ts";
import { engineOf } from "../../../src/replay/replay.ts";
import { EpisodicReplayBuffer, TFUniformReplayBuffer } from "../../../src/tf-agents/index.ts";
import { Windows } from "../../../src/tf-agents/windows.ts";
import { errorOf, expectError } from "../../support/refused.ts";

const ITEMS = 2;
const ROWS = 6;

function scene() {
  const replay = new Replay({ spec: { v: f32() }, tables: {}, seed: 1 });
  const writer = replay.writer({ lanes: 2, keep: 8 });
  for (let t = 0; t < 8; t++) writer.append({ v: [t, 10 + t] } as never);
  const engine = engineOf(replay);
  const windows = new Windows(engine, { seed: 1, streams: writer.streams });
  const { core } = engine;
  const bytes = core.x.draw_bytes(ITEMS) + 12 * ROWS;
  const draw = core.alloc(bytes + 4096);
  core.x.draw_init(draw, ITEMS, ROWS);
  return { windows, core, draw, column: (which: number, i: number) => core.x.draw_column(draw, which) / 4 + i };
}

test.each([
  [1, -1],
  [1, ROWS + 1],
  [ITEMS, ROWS / 2 + 1],
  [ITEMS + 1, 1],
  [ITEMS + 1, 0],
  [-1, 1],
  [65536, 65536],
  [0xffffffff, 0xffffffff],
])("%i windows of %i steps exceed the draw, and nothing is written", (count, width) => {
  const { windows, core, draw } = scene();
  const before = core.u8.slice();
  expect(core.x.draw_rows(draw, OF_STREAMS, windows.streams.handle, count, width, 0)).toBe(0);
  expect(Buffer.compare(core.u8, before)).toBe(0);
  expect(core.x.streams_draw(windows.streams.handle, draw, count, width, LEVEL)).toBe(0);
  expect(Buffer.compare(core.u8, before)).toBe(0);
  expect(core.x.streams_draw(windows.streams.handle, draw, count, width, UNIFORM)).toBe(0);
});

test("windows that fit are read, and a missing stream or start is empty", () => {
  const { windows, core, draw, column } = scene();
  core.u32.set([1, 2], column(SLOT, 0));
  core.u32.set([0, 0], column(START, 0));
  expect(core.x.draw_rows(draw, OF_STREAMS, windows.streams.handle, 2, 3, 0)).toBe(2);
  expect([...core.u32.subarray(column(LENGTH, 0), column(LENGTH, 2))]).toEqual([3, 0]);
  core.u32.set([1, 0xffffffff], column(SLOT, 0));
  core.u32.set([0xffffffff, 0], column(START, 0));
  expect(core.x.draw_rows(draw, OF_STREAMS, windows.streams.handle, 2, 3, 0)).toBe(2);
  expect([...core.u32.subarray(column(LENGTH, 0), column(LENGTH, 2))]).toEqual([0, 0]);
});

test("a negative width is rejected", () => {
  const { windows } = scene();
  expectError(
    errorOf(() => windows.read([0], [0], -1, "stacked")),
    RangeError,
    /width/,
    /-1/,
  );
});

test("a stream that exceeds memory throws OUT_OF_MEMORY", () => {
  const engine = engineOf(new Replay({ spec: { v: f32() }, tables: {} }));
  const streams = new StreamSet(engine, { seed: 1, streams: 2 });
  for (const steps of [2 ** 29 + 1, 2 ** 31 + 1, 0xffffffff])
    expectError(
      errorOf(() => streams.reserve(0, steps)),
      "OUT_OF_MEMORY",
    );
});

describe("requests for more than is stored", () => {
  const spec = { v: f32(100) };
  const never = { beginEpisodeFn: () => false, endEpisodeFn: () => false };
  const max = 0xffffff;

  function buffers(steps: number) {
    const uniform = new TFUniformReplayBuffer(spec, { batchSize: 1, maxLength: steps, maxBytes: 2 ** 24 });
    for (let t = 0; t < steps; t++) uniform.addBatch({ v: new Float32Array(100) });
    const episodic = new EpisodicReplayBuffer(spec, { capacity: 2, maxBytes: 2 ** 24, ...never });
    episodic.addSequence({ v: new Float32Array(100 * steps) }, -1);
    return [uniform, episodic];
  }

  test.each([
    [256, 100_000],
    [max, max],
    [undefined, max],
  ])("%s windows of %i steps throw TOO_FEW, regardless of their size", (sampleBatchSize, numSteps) => {
    for (const buffer of buffers(3)) {
      for (const timeStacked of [true, false])
        expectError(
          errorOf(() => buffer.getNext({ sampleBatchSize, numSteps, timeStacked })),
          "TOO_FEW",
          new RegExp(`${numSteps}`),
        );
      expect(buffer.getNext({ sampleBatchSize: 2, numSteps: 3 })[0]).toMatchObject({ v: { shape: [2, 3, 100] } });
    }
  });

  test("windows of too many bytes throw OUT_OF_MEMORY", () => {
    for (const buffer of buffers(1000))
      expectError(
        errorOf(() => buffer.getNext({ sampleBatchSize: max, numSteps: 1000 })),
        "OUT_OF_MEMORY",
        /Sample fewer items/,
        /^the batch would have [0-9]+ bytes/,
      );
  });
});
