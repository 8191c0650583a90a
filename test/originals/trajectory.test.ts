/** Translates TF-Agents' trajectory_test.py to our functions. */
import { expect, test } from "vitest";
import { type ColumnLike, f32, i32 } from "../../src/index.ts";
import {
  DynamicEpisodeDriver,
  first,
  fromEpisode,
  last,
  mid,
  StepType,
  singleStep,
  TFUniformReplayBuffer,
  toNStepTransition,
  toTransition,
  toTransitionSpec,
} from "../../src/tf-agents/index.ts";
import { environment, policy, SPEC } from "./mocks.ts";

const { FIRST, MID, LAST } = StepType;
const row = (...numbers: number[]) => ({ data: Float64Array.from(numbers), shape: [1, numbers.length] });
const types = (...numbers: number[]) => ({ data: Int32Array.from(numbers), shape: [1, numbers.length] });
const shown = ({ data, shape }: { readonly data: unknown; readonly shape: readonly number[] }) => ({
  data: Array.from(data as ArrayLike<number>),
  shape: [...shape],
});

test.each([
  { name: "first", make: first, stepType: FIRST, nextStepType: MID },
  { name: "mid", make: mid, stepType: MID, nextStepType: MID },
  { name: "last", make: last, stepType: MID, nextStepType: LAST },
  { name: "singleStep", make: singleStep, stepType: FIRST, nextStepType: LAST },
])("first, mid, last and singleStep set their step types: $name", ({ make, stepType, nextStepType }) => {
  const made = make([], [], [], [1, 1, 2], [1, 1, 1]);
  expect(Array.from(made.stepType as ArrayLike<number>)).toEqual([stepType, stepType, stepType]);
  expect(Array.from(made.nextStepType as ArrayLike<number>)).toEqual([nextStepType, nextStepType, nextStepType]);
});

test("fromEpisode creates trajectories from an episode's columns", () => {
  const observation = { data: Float32Array.from({ length: 20 }, (_, i) => i / 7), shape: [4, 5] };
  const reward = Float32Array.of(0.1, 0.2, 0.3, 0.4);
  const made = fromEpisode({ observation, action: [], reward });
  expect(shown(made.stepType)).toEqual({ data: [FIRST, MID, MID, MID], shape: [4] });
  expect(shown(made.nextStepType)).toEqual({ data: [MID, MID, MID, LAST], shape: [4] });
  expect(shown(made.observation)).toEqual(shown(observation));
  expect(shown(made.reward)).toEqual({ data: [...reward], shape: [4] });
  expect(shown(made.discount)).toEqual({ data: [1, 1, 1, 1], shape: [4] });
  expect([made.action, made.policyInfo]).toEqual([[], []]);
});

test("toTransition pairs each step with the next", () => {
  const { timeStep, actionStep, nextTimeStep } = toTransition({
    stepType: types(FIRST, MID, LAST),
    nextStepType: types(MID, LAST, FIRST),
    observation: row(10, 20, 30),
    action: row(11, 22, 33),
    // The last step is a boundary. Its reward, 2, is not part of a transition.
    reward: row(0, 1, 2),
    discount: row(1, 1, 0),
    policyInfo: row(1, 2, 3),
  });
  expect(shown(timeStep.stepType)).toEqual(shown(types(FIRST, MID)));
  expect(shown(timeStep.observation)).toEqual(shown(row(10, 20)));
  // A trajectory does not contain the reward and discount of its own time step, so they are zeros.
  expect(shown(timeStep.reward)).toEqual(shown(row(0, 0)));
  expect(shown(timeStep.discount)).toEqual(shown(row(0, 0)));
  expect(shown(nextTimeStep.stepType)).toEqual(shown(types(MID, LAST)));
  expect(shown(nextTimeStep.observation)).toEqual(shown(row(20, 30)));
  expect(shown(nextTimeStep.reward)).toEqual(shown(row(0, 1)));
  expect(shown(nextTimeStep.discount)).toEqual(shown(row(1, 1)));
  expect(shown(actionStep.action)).toEqual(shown(row(11, 22)));
  expect(shown(actionStep.info)).toEqual(shown(row(1, 2)));
});

const one = (number: number) => ({ data: [number], shape: [1] });

test("toNStepTransition makes a transition of one step from two steps", () => {
  const { timeStep, actionStep, nextTimeStep } = toNStepTransition(
    {
      stepType: types(FIRST, LAST),
      nextStepType: types(LAST, FIRST),
      observation: row(10, 20),
      action: row(11, 22),
      reward: row(-1, 0),
      discount: row(0.9, 0),
      policyInfo: row(10, 20),
    },
    0.5,
  );
  expect(shown(timeStep.stepType)).toEqual(one(FIRST));
  expect(shown(timeStep.observation)).toEqual(one(10));
  expect(shown(timeStep.reward)).toEqual(one(Number.NaN));
  expect(shown(timeStep.discount)).toEqual(one(Number.NaN));
  expect(shown(nextTimeStep.stepType)).toEqual(one(LAST));
  expect(shown(nextTimeStep.observation)).toEqual(one(20));
  expect(shown(nextTimeStep.reward)).toEqual(one(-1));
  expect(shown(nextTimeStep.discount)).toEqual(one(0.9));
  expect(shown(actionStep.action)).toEqual(one(11));
  expect(shown(actionStep.info)).toEqual(one(10));
});

test("toNStepTransition makes a transition of three steps from four steps", () => {
  const gamma = 0.5;
  const { timeStep, actionStep, nextTimeStep } = toNStepTransition(
    {
      stepType: types(FIRST, MID, MID, LAST),
      nextStepType: types(MID, MID, LAST, FIRST),
      observation: row(10, 20, 30, 40),
      action: row(11, 22, 33, 44),
      reward: row(-1, 1, 2, 0),
      discount: row(0.9, 0.95, 1, 0),
      policyInfo: row(10, 20, 30, 40),
    },
    gamma,
  );
  expect(shown(timeStep.stepType)).toEqual(one(FIRST));
  expect(shown(timeStep.observation)).toEqual(one(10));
  expect(shown(timeStep.reward)).toEqual(one(Number.NaN));
  expect(shown(timeStep.discount)).toEqual(one(Number.NaN));
  expect(shown(nextTimeStep.stepType)).toEqual(one(LAST));
  expect(shown(nextTimeStep.observation)).toEqual(one(40));
  expect(nextTimeStep.reward.data[0]).toBeCloseTo(-1 + 1 * gamma * 0.9 + 2 * gamma ** 2 * 0.9 * 0.95, 12);
  expect(nextTimeStep.discount.data[0]).toBeCloseTo(gamma ** 2 * 0.9 * 0.95 * 1, 12);
  expect(shown(actionStep.action)).toEqual(one(11));
  expect(shown(actionStep.info)).toEqual(one(10));
});

test("toTransition pairs the steps that a driver wrote", () => {
  const buffer = new TFUniformReplayBuffer(SPEC, { batchSize: 1 });
  const driver = new DynamicEpisodeDriver(environment(), policy, [(step) => buffer.addBatch(step as never)], { numEpisodes: 3 });
  driver.run();
  const all = buffer.gatherAll();
  const [, steps] = all.discount.shape as number[];
  // There are three episodes of two steps and a boundary each.
  expect(steps).toBe(9);
  const { timeStep, actionStep, nextTimeStep } = toTransition(all);
  const part = ({ data }: ColumnLike, from: number) => ({ data: Array.from(data as ArrayLike<number>).slice(from, from + 8), shape: [1, 8] });
  expect(shown(timeStep.observation)).toEqual(part(all.observation, 0));
  expect(shown(timeStep.stepType)).toEqual(part(all.stepType, 0));
  expect(shown(nextTimeStep.observation)).toEqual(part(all.observation, 1));
  expect(shown(nextTimeStep.stepType)).toEqual(part(all.stepType, 1));
  expect(shown(nextTimeStep.reward)).toEqual(part(all.reward, 0));
  expect(shown(nextTimeStep.discount)).toEqual(part(all.discount, 0));
  expect(shown(actionStep.action)).toEqual(part(all.action, 0));
  expect(shown(actionStep.info)).toEqual(part(all.policyInfo, 0));
});

test("toTransitionSpec returns the specs of time steps and actions", () => {
  const timeStep = { stepType: i32(), reward: f32(), discount: f32(), observation: i32() };
  const found = toTransitionSpec(SPEC);
  expect(found.timeStep).toEqual(timeStep);
  expect(found.actionStep.action).toEqual(i32());
  expect(found.nextTimeStep).toEqual(timeStep);
});
