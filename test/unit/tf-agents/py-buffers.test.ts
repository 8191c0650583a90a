import { describe, expect, test } from "vitest";
import { type Column, f16, f32, i32, u8 } from "../../../src/index.ts";
import { PyHashedReplayBuffer, PyUniformReplayBuffer, trajectorySpec } from "../../../src/tf-agents/index.ts";
import { errorOf, expectError } from "../../support/refused.ts";
import { scaled } from "../../support/size.ts";

const SPEC = trajectorySpec({ observation: u8(84, 84, 4), action: i32() });

/** Returns step t of an episode, with the frames t - 3 … t. */
function step(t: number) {
  const observation = new Uint8Array(84 * 84 * 4);
  for (let p = 0; p < 84 * 84; p++) for (let k = 0; k < 4; k++) observation[4 * p + k] = (31 * Math.max(t + k - 3, 0) + p) % 251;
  return { stepType: [1], observation, action: [t], policyInfo: [] as const, nextStepType: [1], reward: [1], discount: [1] };
}

test("stacked frames take the bytes of their distinct frames", () => {
  const buffer = new PyHashedReplayBuffer(SPEC, { capacity: 1000, seed: 1 });
  for (let t = 0; t < 200; t++) buffer.addBatch(step(t) as never);
  expect([buffer.size, buffer.distinctFrames]).toEqual([200, 200]);
  const frame = 84 * 84;
  // The buffer stores only the distinct ones of the 4 × 200 added frames, with little overhead.
  expect(buffer.frameBytes).toBeGreaterThan(200 * frame);
  expect(buffer.frameBytes).toBeLessThan(215 * frame);
  const { observation } = buffer.getNext({ sampleBatchSize: 8 });
  expect(observation.shape).toEqual([8, 84, 84, 4]);
  const { observation: all } = buffer.gatherAll();
  expect((all as Column<"u8">).data.subarray(199 * frame * 4)).toEqual(step(199).observation);
});

test("half-float frames are rounded as in a Replay, and must be finite", () => {
  const spec = trajectorySpec({ observation: f16(8, 8, 2), action: i32() });
  const buffer = new PyHashedReplayBuffer(spec, { capacity: 10 });
  const { observation: _, ...rest } = step(0);
  buffer.addBatch({ ...rest, observation: new Float32Array(128).fill(0.1) } as never);
  const { observation } = buffer.gatherAll();
  expect((observation as Column<"f16">).data).toEqual(new Float32Array(128).fill(0.0999755859375));
  expectError(
    errorOf(() => buffer.addBatch({ ...rest, observation: new Float32Array(128).fill(7e4) } as never)),
    "INVALID_DATA",
    /observation must be finite as f16/,
  );
});

test("a frame is released with the last item that uses it", () => {
  const buffer = new PyHashedReplayBuffer(SPEC, { capacity: 10 });
  for (let t = 0; t < 500; t++) buffer.addBatch(step(t) as never);
  expect(buffer.distinctFrames).toBe(13);
  const { frameBytes } = buffer;
  for (let t = 500; t < 600; t++) buffer.addBatch(step(t) as never);
  expect(buffer.frameBytes).toBe(frameBytes);
  buffer.clear();
  expect([buffer.size, buffer.distinctFrames, buffer.frameBytes]).toEqual([0, 0, 0]);
});

test("addBatch adds nothing if memory is full", () => {
  const buffer = new PyHashedReplayBuffer(SPEC, { capacity: 1000, maxBytes: 2 ** 20 });
  let added = 0;
  const error = errorOf(() => {
    for (; added < 1000; added++) buffer.addBatch(step(added) as never);
  });
  expectError(error, "OUT_OF_MEMORY", /^maxBytes must be more than 1048576/);
  const frames = buffer.distinctFrames;
  expect([buffer.size, frames]).toEqual([added, added]);
  expectError(
    errorOf(() => buffer.addBatch(step(added + 50) as never)),
    "OUT_OF_MEMORY",
  );
  expect([buffer.size, buffer.distinctFrames]).toEqual([added, frames]);
});

test("sequencePreprocessFn and a prefetching dataset receive the stacked frames", async () => {
  const buffer = new PyHashedReplayBuffer(SPEC, { capacity: 3, seed: 1 });
  for (let t = 0; t < 3; t++) buffer.addBatch(step(t) as never);
  const passes = buffer.asDataset({
    singleDeterministicPass: true,
    sequencePreprocessFn: (items) => ({ reward: items.reward, first: items.observation }) as never,
  });
  expect([...passes].map((items) => (items as never as { first: Column<"u8"> }).first.data)).toEqual([0, 1, 2].map((t) => step(t).observation));
  let seen = 0;
  for await (const { action, observation } of buffer.asDataset({ prefetch: 3 })) {
    expect((observation as Column<"u8">).data).toEqual(step(Number(action.data[0])).observation);
    buffer.addBatch(step(3 + seen) as never);
    if (++seen === scaled(20, 5)) break;
  }
});

test("items are returned without an info, as steps or windows", () => {
  const buffer = new PyUniformReplayBuffer({ x: f32(), n: i32(2) }, { capacity: 3, seed: 1 });
  for (let t = 0; t < 5; t++) buffer.addBatch({ x: [t], n: [[t, -t]] });
  expect(buffer.getNext({ numSteps: 3 }).x.data).toEqual(Float32Array.of(2, 3, 4));
  expect(buffer.getNext({ numSteps: 2, timeStacked: false }).map(({ n }) => n.shape)).toEqual([[2], [2]]);
  expect(buffer.getNext({ sampleBatchSize: 4, numSteps: 2 }).n.shape).toEqual([4, 2, 2]);
  expect([...buffer.asDataset({ singleDeterministicPass: true, numSteps: 2 })].map(({ x }) => [...x.data])).toEqual([[2, 3], [4]]);
  // The order is by place: the two newest steps replaced the two oldest.
  expect(buffer.gatherAll().x.toArray()).toEqual([[3, 4, 2]]);
  expect([buffer.size, buffer.capacity, buffer.numFrames()]).toEqual([3, 3, 3]);
});

test("a batch of several steps is added as a whole or not at all", () => {
  const buffer = new PyUniformReplayBuffer({ x: f32() }, { capacity: 3 });
  buffer.addBatch({ x: [1, 2, 3, 4] });
  expect(buffer.gatherAll().x.toArray()).toEqual([[4, 2, 3]]);
  expectError(
    errorOf(() => buffer.addBatch({ x: [5, "6"] } as never)),
    "SPEC_MISMATCH",
  );
  expect(buffer.gatherAll().x.toArray()).toEqual([[4, 2, 3]]);
});

describe("rejects", () => {
  const one = () => new PyUniformReplayBuffer({ x: f32() }, { capacity: 3 });
  test.each<[string, () => unknown, typeof TypeError | "EMPTY", RegExp]>([
    ["no capacity", () => new PyUniformReplayBuffer({ x: f32() }, {} as never), TypeError, /^capacity is required: an integer/],
    ["capacity 0", () => new PyUniformReplayBuffer({ x: f32() }, { capacity: 0 }), RangeError, /^capacity must be an integer in 1 … \d+, got 0$/],
    ["an option", () => new PyUniformReplayBuffer({ x: f32() }, { capacity: 1, logInterval: 5 } as never), TypeError, /no option "logInterval"/],
    ["nothing stored", () => one().getNext(), "EMPTY", /empty.*addBatch/],
    ["no steps", () => one().getNext({ numSteps: 0 }), RangeError, /^numSteps must be an integer in 1/],
    ["no trajectory", () => new PyHashedReplayBuffer({ x: f32() } as never, { capacity: 1 }), RangeError, /^spec must be a spec of trajectories/],
    [
      "a scalar observation",
      () => new PyHashedReplayBuffer(trajectorySpec({ observation: u8(), action: i32() }), { capacity: 1 }),
      "SPEC_MISMATCH" as never,
      /^dataSpec\.observation must .*got an object with keys dtype, shape$/,
    ],
    [
      "a nested observation",
      () => new PyHashedReplayBuffer(trajectorySpec({ observation: { a: u8(2) }, action: i32() }), { capacity: 1 }),
      "SPEC_MISMATCH" as never,
      /^dataSpec\.observation must be one numeric leaf/,
    ],
  ])("%s", (_, call, kind, says) => expectError(errorOf(call), kind as never, says));

  test("more steps than are stored", () => {
    const buffer = one();
    buffer.addBatch({ x: [1] });
    expectError(
      errorOf(() => buffer.getNext({ numSteps: 2 })),
      "TOO_FEW",
      /^numSteps must be at most 1/,
    );
  });
});
