import { describe, expect, test } from "vitest";
import {
  drive,
  type Environment,
  PyDriver,
  ReverbAddEpisodeObserver,
  restart,
  StepType,
  type TimeStep,
  type Trajectory,
  termination,
  transition,
} from "../../../src/tf-agents/index.ts";
import { errorOf, expectError } from "../../support/refused.ts";
import { items, replayOf, type Steps } from "./support.ts";

/** Returns an environment that counts up; every third step is the last one. */
function counter(): Environment<number[], number> & { resets: number } {
  let n = 0;
  return {
    resets: 0,
    reset() {
      this.resets++;
      return [n, -n];
    },
    step(action) {
      n++;
      return { observation: [n, -n], reward: action, terminated: n % 3 === 0, truncated: false };
    },
  };
}

const seen: Trajectory[] = [];
const note = (trajectory: Trajectory) => {
  seen.push(trajectory);
};
const trajectories = () => seen.splice(0).map(({ stepType, nextStepType, reward, discount, action }) => [stepType, nextStepType, reward, discount, action]);

test("every step produces a trajectory, and every episode adds a boundary", () => {
  const env = counter();
  const state = drive(env, ([n]) => (n as number) * 10, [note], { episodes: 1 });
  expect(trajectories()).toEqual([
    [0, 1, 0, 1, 0],
    [1, 1, 10, 1, 10],
    [1, 2, 20, 0, 20],
    [2, 0, 0, 1, 30],
  ]);
  expect(state).toMatchObject({ steps: 3, episodes: 1, timeStep: { stepType: StepType.FIRST } });
  expect(env.resets).toBe(2);
});

test("a drive continues where the previous one stopped", () => {
  const env = counter();
  const whole = drive(counter(), () => 1, [note], { steps: 7 });
  const all = trajectories();
  let state = drive(env, () => 1, [note], { steps: 2 });
  state = drive(env, () => 1, [note], { steps: 5 }, state as never);
  expect(trajectories()).toEqual(all);
  expect([state, whole]).toMatchObject([{ steps: 5 }, { steps: 7, episodes: 2 }]);
  expect(env.resets).toBe(3);
});

test("the first limit that is reached ends the drive", () => {
  expect(drive(counter(), () => 0, [], { steps: 2, episodes: 9 })).toMatchObject({ steps: 2, episodes: 0 });
  expect(drive(counter(), () => 0, [], { steps: 99, episodes: 2 })).toMatchObject({ steps: 6, episodes: 2 });
  expect(drive(counter(), () => 0, [], { steps: 0 })).toMatchObject({ steps: 0 });
});

test("an episode observer writes whole episodes", () => {
  const replay = replayOf();
  const observer = new ReverbAddEpisodeObserver<Steps>(replay, { tableName: "t", maxSequenceLength: 9 });
  drive(counter(), () => 1, [observer], { episodes: 2 });
  expect(items(replay)).toEqual(["1 1 1 0", "1 1 1 0"]);
  expect(observer.cachedSteps).toBe(0);
});

test("a policy object keeps its state and returns info", () => {
  const policy = {
    initialState: () => 5,
    action: (_: TimeStep<number[]>, state: unknown) => ({ action: state as number, state: (state as number) + 1, info: { state } }),
  };
  const { policyState } = drive(counter(), policy, [note], { steps: 3 }) as { policyState: unknown };
  expect(policyState).toBe(8);
  expect(seen.splice(0).map(({ action, policyInfo }) => [action, policyInfo])).toEqual([5, 6, 7].map((n) => [n, { state: n }]));
});

test("the state of a policy restarts with each episode", () => {
  let made = 0;
  const policy = {
    initialState: () => ++made * 100,
    action: (_: TimeStep<number[]>, state: unknown) => ({ action: state as number, state: (state as number) + 1 }),
  };
  drive(counter(), policy, [note], { steps: 5 });
  expect(seen.splice(0).map(({ action }) => action)).toEqual([100, 101, 102, 103, 200, 201]);
});

test("a truncated episode keeps its discount", () => {
  const env = { reset: () => 0, step: () => ({ observation: 1, reward: 2, terminated: false, truncated: true }) };
  drive(env, () => 0, [note], { steps: 1 });
  expect(trajectories()).toEqual([[0, 2, 2, 1, 0]]);
});

test("a batch of environments steps together, and the environment restarts its rows", () => {
  const types = [Int32Array.of(1, 2), Int32Array.of(2, 0), Int32Array.of(0, 1)];
  let i = 0;
  const env: Environment<number, number> = {
    reset: () => restart(0, { batchSize: 2 }),
    step: () => ({ stepType: types[i] as Int32Array, reward: Float32Array.of(i, i++), discount: Float32Array.of(1, 1), observation: i }),
  };
  const state = drive(env, () => 0, [note], { steps: 4 });
  expect(state).toMatchObject({ steps: 4, episodes: 2 });
  expect(seen.splice(0).map(({ stepType }) => [...(stepType as Int32Array)])).toEqual([
    [0, 0],
    [1, 2],
    [2, 0],
  ]);
});

describe("promises", () => {
  test("of environment, policy and observers are awaited in order", async () => {
    const order: string[] = [];
    const later = <T>(name: string, value: T) => new Promise<T>((resolve) => setTimeout(() => [order.push(name), resolve(value)], 1));
    const env: Environment<number, number> = { reset: () => later("reset", restart(0)), step: () => later("step", termination(1, 1)) };
    const run = drive(env, () => later("policy", 3), [() => later("first", 0), () => later("second", 0)], { steps: 1 });
    expect(run).toBeInstanceOf(Promise);
    expect(await run).toMatchObject({ steps: 1 });
    expect(order).toEqual(["reset", "policy", "step", "first", "second"]);
  });

  test("that reject end the drive", async () => {
    const env = { reset: async () => 0, step: () => transition(0, 0) };
    await expect(drive(env, () => 0, [() => Promise.reject(new Error("full"))], { steps: 3 })).rejects.toThrow("full");
  });

  test("a signal ends the drive between two steps", async () => {
    const stop = new AbortController();
    const env = { reset: async () => 0, step: async () => transition(0, 0) };
    let steps = 0;
    const run = drive(env, () => 0, [() => (++steps === 3 ? stop.abort(new Error("enough")) : undefined)], { steps: 1e9, signal: stop.signal });
    await expect(run).rejects.toThrow("enough");
    expect(steps).toBe(3);
  });
});

test.each([
  [{}, RangeError, /^limit must set steps or episodes/],
  [{ steps: -1 }, RangeError, /^limit\.steps/],
  [{ episodes: 1.5 }, TypeError, /^limit\.episodes/],
  [{ step: 1 }, TypeError, /has no option "step"/],
] as const)("the limit %j is rejected", (limit, kind, says) => {
  expectError(
    errorOf(() => drive(counter(), () => 0, [], limit as object)),
    kind,
    says,
  );
});

test("invalid observers, signals and missing steps are rejected", () => {
  const limit = { steps: 1 };
  expectError(
    errorOf(() => drive(counter(), () => 0, note as never, limit)),
    TypeError,
    /^observers must be an array of functions/,
  );
  expectError(
    errorOf(() => drive(counter(), () => 0, [], { ...limit, signal: 5 as never })),
    TypeError,
    /^limit\.signal must be an AbortSignal/,
  );
  expectError(
    errorOf(() => drive({ reset: () => 0, step: () => undefined as never }, () => 0, [], limit)),
    TypeError,
    /environment's step is required/,
  );
});

test("a step without the form of a TimeStep is rejected", () => {
  const env = { reset: () => 0, step: () => ({ observation: 0, reward: 1, done: true }) };
  expectError(
    errorOf(() => drive(env as never, () => 0, [], { steps: 1 })),
    TypeError,
    /environment's step must be a TimeStep/,
  );
});

/** Returns an environment that reuses its arrays for all observations, and optionally its object for all time steps. */
function reusing(asTimeStep: boolean): Environment<{ at: Float32Array; list: number[] }, number> {
  const observation = { at: new Float32Array(1), list: [0] };
  const step = { ...restart(observation) } as { -readonly [K in keyof TimeStep]: TimeStep[K] };
  const put = (n: number) => {
    observation.at[0] = observation.list[0] = n;
    return observation;
  };
  let n = 0;
  return {
    reset() {
      n = 0;
      return asTimeStep ? (Object.assign(step, restart(put(0))) as TimeStep<typeof observation>) : put(0);
    },
    step() {
      put(++n);
      if (!asTimeStep) return { observation, reward: n, terminated: n === 3, truncated: false };
      return Object.assign(step, n === 3 ? termination(observation, n) : transition(observation, n)) as TimeStep<typeof observation>;
    },
  };
}

describe.each([false, true])("an environment that reuses its arrays (as time steps: %s)", (asTimeStep) => {
  const firsts: number[][] = [];
  const noteFirst = ({ observation }: { observation: { at: Float32Array; list: number[] } }) => {
    firsts.push([observation.at[0] as number, observation.list[0] as number]);
  };
  const wanted = [0, 1, 2, 3, 0].map((n) => [n, n]);

  test("drive passes observers the observation before each step", () => {
    drive(reusing(asTimeStep), () => 0, [noteFirst], { steps: 4 });
    expect(firsts.splice(0)).toEqual(wanted);
  });

  test("PyDriver passes both ends of each transition, and continues where it stopped", () => {
    const both: number[][] = [];
    const transitionObservers = [
      ({ timeStep, nextTimeStep }: { timeStep: TimeStep; nextTimeStep: TimeStep }) => {
        both.push([timeStep, nextTimeStep].map(({ observation }) => (observation as { at: Float32Array }).at[0] as number));
      },
    ];
    const driver = new PyDriver(reusing(asTimeStep), () => 0, [noteFirst], { maxSteps: 2, transitionObservers });
    const state = driver.run() as { timeStep: TimeStep<{ at: Float32Array; list: number[] }> };
    driver.run(state.timeStep);
    expect(firsts.splice(0)).toEqual(wanted);
    expect(both).toEqual([
      [0, 1],
      [1, 2],
      [2, 3],
      [3, 0],
      [0, 1],
    ]);
  });
});
