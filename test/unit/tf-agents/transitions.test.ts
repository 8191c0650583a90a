import { describe, expect, test } from "vitest";
import { f32, i32, u8 } from "../../../src/index.ts";
import {
  asHalfTransition,
  asNStepTransition,
  asTrajectory,
  asTransition,
  discountedReturn,
  experienceToTransitions,
  fromEpisode,
  list,
  replace,
  TFUniformReplayBuffer,
  toNStepTransition,
  toTransition,
  toTransitionSpec,
  trajectorySpec,
  transition,
} from "../../../src/tf-agents/index.ts";
import { errorOf, expectError } from "../../support/refused.ts";

const column = (data: Float32Array<ArrayBuffer> | Int32Array<ArrayBuffer> | Uint8Array<ArrayBuffer>, ...shape: number[]) => ({ data, shape });
/** A batch of shape [1, 3]: an episode and its boundary step. */
const batch = {
  stepType: [[0, 1, 2]],
  observation: { at: column(Float32Array.of(1, -1, 2, -2, 3, -3), 1, 3, 2) },
  action: column(Int32Array.of(5, 6, 7), 1, 3),
  policyInfo: [],
  nextStepType: [[1, 2, 0]],
  reward: [[1, 2, 4]],
  discount: [[1, 1, 1]],
} as const;
const SPEC = trajectorySpec({ observation: { at: f32(2) }, action: i32() });
/** The same batch, with explicit dtypes. */
const typed = {
  ...batch,
  stepType: column(Int32Array.of(0, 1, 2), 1, 3),
  nextStepType: column(Int32Array.of(1, 2, 0), 1, 3),
  reward: column(Float32Array.of(1, 2, 4), 1, 3),
  discount: column(Float32Array.of(1, 1, 1), 1, 3),
};

test("toTransition and toNStepTransition accept the items of a buffer", () => {
  const buffer = new TFUniformReplayBuffer(SPEC, { batchSize: 1, maxLength: 10, seed: 1 });
  for (let t = 0; t < 3; t++)
    buffer.addBatch({ stepType: [1], observation: { at: [[t, -t]] }, action: [t], policyInfo: [], nextStepType: [1], reward: [t], discount: [1] } as never);
  const [items] = buffer.getNext({ sampleBatchSize: 4, numSteps: 3 });
  const { timeStep, actionStep, nextTimeStep } = toTransition(items);
  expect(timeStep.observation.at.shape).toEqual([4, 2, 2]);
  expect(nextTimeStep.observation.at.toArray()[0]).toEqual([
    [1, -1],
    [2, -2],
  ]);
  expect([...(actionStep.action.data as Int32Array)].slice(0, 2)).toEqual([0, 1]);
  const n = toNStepTransition(items, 0.5);
  expect(n.nextTimeStep.reward.toArray()).toEqual([0.5, 0.5, 0.5, 0.5]);
});

test("toTransition copies columns, and leaves its input unchanged", () => {
  const { timeStep, nextTimeStep } = toTransition(typed);
  (timeStep.observation.at.data as Float32Array).fill(9);
  expect([...typed.observation.at.data]).toEqual([1, -1, 2, -2, 3, -3]);
  expect((nextTimeStep.observation.at.data as Float32Array)[0]).toBe(2);
});

test("toNStepTransition ends its sum at the boundary of an episode", () => {
  const { nextTimeStep } = toNStepTransition(batch, 0.5);
  // The episode has two steps; the boundary's reward is ignored.
  expect([nextTimeStep.reward.data[0], nextTimeStep.discount.data[0], nextTimeStep.stepType.data[0]]).toEqual([2, 0.5, 2]);
  const longer = { ...fourSteps([0, 1, 2, 0], [1, 2, 0, 1]) };
  const cut = toNStepTransition(longer, 0.5).nextTimeStep;
  expect([cut.reward.data[0], cut.discount.data[0], cut.stepType.data[0]]).toEqual([2, 0.5, 2]);
  // A single boundary step also makes a transition.
  const boundary = toNStepTransition(fourSteps([2, 0, 1, 1], [0, 1, 1, 1]), 0.5).nextTimeStep;
  expect([boundary.reward.data[0], boundary.discount.data[0], boundary.stepType.data[0]]).toEqual([1, 1, 0]);
});

function fourSteps(stepType: number[], nextStepType: number[]) {
  return { stepType: [stepType], observation: [], action: [], policyInfo: [], nextStepType: [nextStepType], reward: [[1, 2, 4, 8]], discount: [[1, 1, 1, 1]] };
}

test("toTransition cuts vector rewards and text like other columns", () => {
  const many = { ...typed, reward: column(Float32Array.of(1, 2, 3, 4, 5, 6), 1, 3, 2), policyInfo: { said: { data: ["a", "b", "c"], shape: [1, 3] } } };
  const { timeStep, actionStep, nextTimeStep } = toTransition(many);
  expect((nextTimeStep.reward as { toArray(): unknown }).toArray()).toEqual([
    [
      [1, 2],
      [3, 4],
    ],
  ]);
  expect([...timeStep.reward.data]).toEqual([0, 0, 0, 0]);
  expect(actionStep.info).toMatchObject({ said: { data: ["a", "b"] } });
});

test("squeezeTimeDim turns two steps into a transition without a time dimension", () => {
  const two = asTrajectory(SPEC, typed, { sequenceLength: 3 });
  expect(two.observation.at.data).toBe(typed.observation.at.data);
  const pair = fromEpisode({ observation: { at: column(Float32Array.of(1, 2), 2, 1) }, action: Int32Array.of(1, 2), reward: [1, 2] });
  expect(pair.nextStepType.toArray()).toEqual([1, 2]);
  const { nextTimeStep } = experienceToTransitions({ ...slice2(), policyInfo: [] }, { squeezeTimeDim: true });
  expect(nextTimeStep.observation.at.shape).toEqual([1, 2]);
});

function slice2() {
  return {
    ...typed,
    stepType: [[0, 1]],
    nextStepType: [[1, 1]],
    reward: [[1, 1]],
    discount: [[1, 1]],
    action: column(Int32Array.of(1, 2), 1, 2),
    observation: { at: column(Float32Array.of(1, 2, 3, 4), 1, 2, 2) },
  };
}

test("converters omit leaves that the spec does not have", () => {
  const more = { ...typed, observation: { ...typed.observation, extra: column(Uint8Array.of(1, 2, 3), 1, 3) } };
  expect(Object.keys(asTrajectory(SPEC, more).observation)).toEqual(["at"]);
  const half = asHalfTransition(SPEC, typed);
  expect((half.nextTimeStep.observation as { shape: number[] }).shape).toEqual([1, 3]);
  const n = asNStepTransition(SPEC, typed, { gamma: 0.9, n: 2 });
  expect(asNStepTransition(SPEC, n as never, { gamma: 0.9 })).toEqual(n);
  const prepended = asTransition(SPEC, typed, { prependT0ToNextTimeStep: true });
  expect((prepended.nextTimeStep.observation as { at: { toArray(): unknown } }).at.toArray()).toEqual([
    [
      [1, -1],
      [2, -2],
      [3, -3],
    ],
  ]);
});

test("toTransitionSpec returns the spec of transitions", () => {
  const { timeStep, actionStep, nextTimeStep } = toTransitionSpec(SPEC);
  expect(nextTimeStep).toBe(timeStep);
  expect(actionStep).toEqual({ action: i32(), state: [], info: [] });
});

test("outerDims of transition sets the batch size independently of the rewards", () => {
  expect(transition(0, Float32Array.of(1, 2), 1, { outerDims: [] })).toMatchObject({ stepType: 1, discount: 1 });
  expect(transition(0, Float32Array.of(1, 2, 3, 4), 1, { outerDims: [2] })).toMatchObject({ stepType: Int32Array.of(1, 1), discount: Float32Array.of(1, 1) });
});

describe("rejects", () => {
  test.each<[string, () => unknown, typeof TypeError | "SPEC_MISMATCH", RegExp]>([
    ["no trajectory", () => toTransition({} as never), TypeError, /^trajectory must .*got an object without keys$/],
    ["one dimension", () => toTransition({ ...batch, discount: [1, 1, 1] }), RangeError, /^trajectory\.discount must .*\[batch, time\].*got \[3\]$/],
    ["none", () => toTransition({ ...batch, discount: 1 }), RangeError, /^trajectory\.discount must be of shape \[batch\] or \[batch, time\], got \[\]$/],
    ["a length", () => toTransition({ ...batch, reward: [[1, 2]] }), "SPEC_MISMATCH", /^trajectory\.reward must .*\[1, 3, …\].*got \[1, 2\]$/],
    ["plain actions", () => toTransition({ ...batch, action: [[1, 2, 3]] }), TypeError, /^trajectory\.action\.0\.0 must .*got 1$/],
    [
      "a wrong column",
      () => toTransition({ ...batch, action: column(Int32Array.of(1), 1, 3) }),
      "SPEC_MISMATCH",
      /^trajectory\.action must be a column of 3 elements, .*\[1, 3\].*got Int32Array\(1\)$/,
    ],
    [
      "ragged rewards",
      () => toTransition({ ...batch, reward: [[1, 2, 3], [1]] }),
      "SPEC_MISMATCH",
      /^trajectory\.reward must be nested arrays of shape \[2, 3\]/,
    ],
    ["three squeezed", () => experienceToTransitions(batch, { squeezeTimeDim: true }), "SPEC_MISMATCH", /^experience must .*got 3$/],
    [
      "one step",
      () => toNStepTransition(fromEpisode({ observation: [], action: [], reward: [1], discount: [[1]] as never }), 1),
      "SPEC_MISMATCH",
      /^trajectory/,
    ],
    ["gamma", () => toNStepTransition(batch, Number.NaN), RangeError, /^gamma must be a finite number, got NaN$/],
    [
      "whole rewards",
      () => toNStepTransition({ ...typed, reward: column(Int32Array.of(1, 2, 3), 1, 3) }, 1),
      "SPEC_MISMATCH",
      /^trajectory\.reward must be a column of f32 or f64, got Int32Array\(3\)$/,
    ],
    ["no steps summed", () => discountedReturn([], []), "SPEC_MISMATCH", /^rewards must .*got \[0\]$/],
    ["other discounts", () => discountedReturn([1, 2], [1]), "SPEC_MISMATCH", /^discounts must be of shape \[2\], got \[1\]$/],
    ["a final value", () => discountedReturn([[1], [2]], [[1], [1]], { finalValue: [1, 2] }), "SPEC_MISMATCH", /^finalValue must .*\[1\], got \[2\]$/],
    ["an option", () => discountedReturn([1], [1], { major: true } as never), TypeError, /no option "major"/],
    ["a reward without time", () => fromEpisode({ observation: [], action: [], reward: 1 }), RangeError, /^episode\.reward must .*got 1$/],
    [
      "an episode's lengths",
      () => fromEpisode({ observation: Float32Array.of(1, 2, 3), action: Int32Array.of(1, 2), reward: [1, 2] }),
      "SPEC_MISMATCH",
      /^episode\.observation must .*\[2, …\].*got \[3\]$/,
    ],
    ["a spec", () => toTransitionSpec({ a: f32() } as never), RangeError, /^spec must/],
    ["a field", () => replace(typed, { state: [] } as never), RangeError, /^each of fields must be one of stepType, observation, action, .*got "state"$/],
    [
      "another shape",
      () => asTrajectory(trajectorySpec({ observation: { at: f32(3) }, action: i32() }), typed),
      "SPEC_MISMATCH",
      /^value\.observation\.at must .*f32.*\[1, 3, 3\], got \[1, 3, 2\]/,
    ],
    [
      "another dtype",
      () => asTrajectory(trajectorySpec({ observation: { at: u8(2) }, action: i32() }), typed),
      "SPEC_MISMATCH",
      /^value\.observation\.at must be a column of u8/,
    ],
    ["a length", () => asTrajectory(SPEC, typed, { sequenceLength: 2 }), "SPEC_MISMATCH", /^value\..* must be a column of .*\[batch, 2/],
    ["neither", () => asTransition(SPEC, { x: 1 } as never), TypeError, /^value must/],
    [
      "time prepended to none",
      () => asTransition(SPEC, typed, { squeezeTimeDim: true, prependT0ToNextTimeStep: true }),
      RangeError,
      /^prependT0ToNextTimeStep must be false/,
    ],
    ["dims", () => asTrajectory(SPEC, typed, { numOuterDims: 3 as never }), RangeError, /^numOuterDims must be an integer in 1 … 2, got 3$/],
    ["outer dims", () => transition(0, 1, 1, { outerDims: [1, 2] as never }), RangeError, /^outerDims must be \[\] or \[rows\]/],
  ])("%s", (_, call, kind, says) => expectError(errorOf(call), kind as never, says));
});

test("toTransitionSpec accepts a list", () => {
  expect(() => toTransitionSpec(trajectorySpec({ observation: list(f32(), f32()), action: i32() }))).not.toThrow();
});

test.each([
  ["one frame", 1],
  ["two frames", 2],
  ["three frames", 3],
] as const)("prependT0ToNextTimeStep with %s returns as many observations, but none for one frame", (_, frames) => {
  const rows = 4;
  const ones = () =>
    column(
      Int32Array.from({ length: rows * frames }, () => 1),
      rows,
      frames,
    );
  const floats = () =>
    column(
      Float32Array.from({ length: rows * frames }, () => 1),
      rows,
      frames,
    );
  const observation = {
    at: column(
      Float32Array.from({ length: rows * frames * 2 }, (_, i) => i),
      rows,
      frames,
      2,
    ),
  };
  const value = { stepType: ones(), nextStepType: ones(), action: ones(), policyInfo: [], reward: floats(), discount: floats(), observation };
  const { nextTimeStep, timeStep } = asTransition(SPEC, value as never, { prependT0ToNextTimeStep: true });
  const { at } = nextTimeStep.observation as typeof observation;
  // The shape equals that of tf.concat of the first of the frames - 1 steps, if any, and all of these steps.
  expect(at.shape).toEqual([rows, frames === 1 ? 0 : frames, 2]);
  expect([...at.data]).toEqual(frames === 1 ? [] : [...observation.at.data]);
  expect((timeStep.reward as never as { readonly shape: readonly number[] }).shape).toEqual([rows, frames - 1]);
});
