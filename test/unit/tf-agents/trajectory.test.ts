import { describe, expect, expectTypeOf, test } from "vitest";
import { f32, i32, Replay } from "../../../src/index.ts";
import {
  boundary,
  first,
  fromTransition,
  isBoundary,
  isFirst,
  isLast,
  isMid,
  last,
  mid,
  restart,
  StepType,
  singleStep,
  termination,
  trajectorySpec,
  transition,
  truncation,
} from "../../../src/tf-agents/index.ts";

const { FIRST, MID, LAST } = StepType;

describe("time steps", () => {
  test("have the step type, reward and discount of their kind", () => {
    expect(restart("o")).toEqual({ stepType: FIRST, reward: 0, discount: 1, observation: "o" });
    expect(transition("o", 2)).toEqual({ stepType: MID, reward: 2, discount: 1, observation: "o" });
    expect(transition("o", 2, 0.5).discount).toBe(0.5);
    expect(termination("o", 2)).toEqual({ stepType: LAST, reward: 2, discount: 0, observation: "o" });
    expect(truncation("o", 2)).toEqual({ stepType: LAST, reward: 2, discount: 1, observation: "o" });
  });

  test("of a batch have one value per row", () => {
    const rows = { stepType: Int32Array.of(0, 0), reward: Float32Array.of(0, 0), discount: Float32Array.of(1, 1), observation: "o" };
    expect(restart("o", { batchSize: 2 })).toEqual(rows);
    expect(termination("o", [1, 2])).toEqual({ stepType: Int32Array.of(2, 2), reward: [1, 2], discount: Float32Array.of(0, 0), observation: "o" });
    expect(transition("o", [1, 2], [1, 0.5]).discount).toEqual([1, 0.5]);
  });
});

test.each([
  ["first", first, FIRST, MID],
  ["mid", mid, MID, MID],
  ["last", last, MID, LAST],
  ["singleStep", singleStep, FIRST, LAST],
  ["boundary", boundary, LAST, FIRST],
] as const)("%s sets stepType and nextStepType", (_, make, stepType, nextStepType) => {
  expect(make("o", "a", [], 2, 0.5)).toEqual({ stepType, observation: "o", action: "a", policyInfo: [], nextStepType, reward: 2, discount: 0.5 });
  const batch = make("o", "a", [], [2, 3], [0.5, 1]);
  expect([batch.stepType, batch.nextStepType]).toEqual([Int32Array.of(stepType, stepType), Int32Array.of(nextStepType, nextStepType)]);
});

test("fromTransition combines the observation before with the reward and discount after", () => {
  const made = fromTransition(restart("before"), "a", truncation("after", 3, 0.9));
  expect(made).toEqual({ stepType: FIRST, observation: "before", action: "a", policyInfo: [], nextStepType: LAST, reward: 3, discount: 0.9 });
  const answered = fromTransition(restart("before"), { action: 1, state: 2, info: { logits: 3 } }, transition("after", 3));
  expect(answered).toMatchObject({ action: 1, policyInfo: { logits: 3 } });
});

test.each([
  // Each row is [trajectory, isFirst, isMid, isLast, isBoundary].
  [first, true, false, false, false],
  [mid, false, true, false, false],
  [last, false, false, true, false],
  [singleStep, true, false, true, false],
  [boundary, false, false, false, true],
] as const)("isFirst, isMid, isLast and isBoundary classify a trajectory", (make, ...is) => {
  const one = make(0, 0, 0, 0, 1);
  expect([isFirst(one), isMid(one), isLast(one), isBoundary(one)]).toEqual(is);
  const batch = make(0, 0, 0, [0, 0], [1, 1]);
  expect([isFirst(batch), isMid(batch), isLast(batch), isBoundary(batch)]).toEqual(is.map((flag) => Uint8Array.of(Number(flag), Number(flag))));
});

test("isFirst, isMid and isLast accept columns of a sampled batch", () => {
  const column = (shape: number[], ...values: number[]) => ({ data: Int32Array.from(values), shape });
  expect(isFirst({ stepType: column([], 0) })).toBe(true);
  expect(isLast({ stepType: column([2], 0, 1), nextStepType: column([2], 1, 2) })).toEqual(Uint8Array.of(0, 1));
  expect(isMid({ stepType: column([2, 1], 1, 1), nextStepType: column([2, 1], 1, 2) })).toEqual(Uint8Array.of(1, 0));
});

test("isFirst, isMid and isLast accept time steps, and isBoundary accepts a bigint", () => {
  expect([restart(0), transition(0, 0), termination(0, 0)].map((one) => [isFirst(one), isMid(one), isLast(one)])).toEqual([
    [true, false, false],
    [false, true, false],
    [false, false, true],
  ]);
  expect(isBoundary({ ...boundary(0, 0, 0, 0, 1), stepType: 2n as never })).toBe(true);
});

test("trajectorySpec returns a spec for a Replay, and types its batches", () => {
  const spec = trajectorySpec({ observation: { image: f32(2) }, action: i32(), policyInfo: { logits: f32(3) } });
  const replay = new Replay({ spec, tables: { t: { maxSize: 9 } } });
  const writer = replay.writer({ items: [{ table: "t", length: 1 }] });
  writer.append(first({ image: [1, 2] }, 1, { logits: [1, 2, 3] }, 0, 1) as never);
  const { steps } = replay.table("t").sample(1);
  expect(steps.policyInfo.logits.shape).toEqual([1, 1, 3]);
  expectTypeOf(steps.observation.image.data).toExtend<Float32Array>();
  expectTypeOf(steps.nextStepType.data).toExtend<Int32Array>();
});
