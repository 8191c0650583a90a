/** Translates TF-Agents' dynamic_step_driver_test.py to our driver. */
import { expect, test } from "vitest";
import { type ColumnLike, f32, i32 } from "../../src/index.ts";
import {
  DynamicStepDriver,
  isBoundary,
  isFirst,
  restart,
  TFUniformReplayBuffer,
  type TimeStep,
  termination,
  trajectorySpec,
} from "../../src/tf-agents/index.ts";
import { environment, policy, SPEC } from "./mocks.ts";

/** Returns the number of rows of a batch whose flag is set. */
const sum = (flags: boolean | Uint8Array) => (flags as Uint8Array).reduce((all, flag) => all + flag, 0);
/** Returns an observer that counts the boundary trajectories that it receives. */
function episodes() {
  const counted = {
    episodes: 0,
    observer(trajectory: { stepType: never }) {
      counted.episodes += sum(isBoundary(trajectory));
    },
  };
  return counted;
}

test("five runs of one step observe two ends of episodes", () => {
  const counted = episodes();
  const driver = new DynamicStepDriver(environment(), policy, [counted.observer as never]);
  let state: unknown;
  for (let i = 0; i < 5; i++) state = runOn(driver, state);
  expect(counted.episodes).toBe(2);
});

test("one run of five steps observes two ends of episodes", () => {
  const counted = episodes();
  new DynamicStepDriver(environment(), policy, [counted.observer as never], { numSteps: 5 }).run();
  expect(counted.episodes).toBe(2);
});

test("each observer receives all trajectories, and a transition observer receives five steps", () => {
  const [one, other] = [episodes(), episodes()];
  let steps = 0;
  const observe = ({ nextTimeStep }: { nextTimeStep: TimeStep }) => {
    steps += 1 - sum(isFirst(nextTimeStep));
  };
  new DynamicStepDriver(environment(), policy, [one.observer as never, other.observer as never], {
    numSteps: 5,
    transitionObservers: [observe],
  } as never).run();
  expect([one.episodes, other.episodes, steps]).toEqual([2, 2, 5]);
});

/** The first eight trajectories of the mocks: six steps, and the two boundaries between their episodes. */
const EIGHT = {
  stepType: [0, 1, 2, 0, 1, 2, 0, 1],
  observation: [0, 1, 3, 0, 1, 3, 0, 1],
  action: [1, 2, 1, 1, 2, 1, 1, 2],
  policyInfo: [2, 4, 2, 2, 4, 2, 2, 4],
  nextStepType: [1, 2, 0, 1, 2, 0, 1, 2],
  reward: [1, 1, 0, 1, 1, 0, 1, 1],
  discount: [1, 0, 1, 1, 0, 1, 1, 0],
};
function filling(numSteps: number) {
  const buffer = new TFUniformReplayBuffer(SPEC, { batchSize: 1 });
  const driver = new DynamicStepDriver(environment(), policy, [(step) => buffer.addBatch(step as never)], { numSteps });
  const all = () => Object.fromEntries(Object.entries(buffer.gatherAll()).map(([name, column]) => [name, Array.from((column as ColumnLike).data as never)]));
  return { driver, all };
}

test("six runs of one step fill a buffer like one run of six steps", () => {
  const { driver, all } = filling(1);
  let state: unknown;
  for (let i = 0; i < 6; i++) state = runOn(driver, state);
  expect(all()).toEqual(EIGHT);
});

test("one run of six steps fills a buffer with eight trajectories", () => {
  const { driver, all } = filling(6);
  driver.run();
  expect(all()).toEqual(EIGHT);
});

/** Runs the driver again with a policy state, and returns the new policy state. The driver keeps the current time step of the environment. */
function runOn(driver: { run(timeStep: undefined, policyState?: unknown): unknown }, policyState: unknown): unknown {
  return (driver.run(undefined, policyState) as { readonly policyState: unknown }).policyState;
}

test("episodes of one step become single-step trajectories after boundaries are dropped", () => {
  const contexts = [
    [5, -5],
    [2, -2],
  ];
  const observation = () => Float32Array.from(contexts.flat());
  let over = true;
  const reset = () => {
    over = false;
    return restart(observation(), { batchSize: 2 });
  };
  const bandit = {
    reset,
    step(actions: ArrayLike<number>) {
      if (over) return reset();
      over = true;
      const rewards = contexts.map((context, row) => context[actions[row] as number] as number);
      return termination(observation(), rewards);
    },
  };
  const spec = trajectorySpec({ observation: f32(2), action: i32() });
  const buffer = new TFUniformReplayBuffer(spec, { batchSize: 2, maxLength: 4 });
  const add = (step: never) => void (sum(isBoundary(step)) === 0 && buffer.addBatch(step));
  let k = 0;
  const arms = { action: () => ({ action: Int32Array.of((k >> 1) % 2, 1 - ((k++ >> 1) % 2)), state: [], info: [] }) };
  new DynamicStepDriver(bandit as never, arms as never, [add as never], { numSteps: 8 }).run();
  const { stepType, nextStepType, reward } = buffer.gatherAll();
  expect(stepType.toArray()).toEqual([Array(4).fill(0), Array(4).fill(0)]);
  expect(nextStepType.toArray()).toEqual([Array(4).fill(2), Array(4).fill(2)]);
  expect(reward.toArray()).toEqual([
    [5, -5, 5, -5],
    [-2, 2, -2, 2],
  ]);
});
