import { expect, test } from "vitest";
import { DynamicEpisodeDriver, DynamicStepDriver, drive, PyDriver, restart, termination, transition } from "../../../src/tf-agents/index.ts";
import { errorOf, expectError } from "../../support/refused.ts";

/** Returns an environment that counts up; every third step is the last one. */
function counter() {
  let n = 0;
  return {
    reset: () => restart(n),
    step: () => (++n % 3 === 0 ? termination(n, n) : transition(n, n)),
    getInfo: () => ({ n }),
  };
}

test("each step calls the transition, trajectory and info observers, in that order", () => {
  const told: string[] = [];
  drive(counter(), () => 5, [({ observation }) => told.push(`o${observation}`)], {
    steps: 2,
    transitionObservers: [({ timeStep, actionStep, nextTimeStep }) => told.push(`x${timeStep.observation} ${actionStep.action} ${nextTimeStep.observation}`)],
    infoObservers: [({ n }: { readonly n: number }) => told.push(`n${n}`)],
  });
  expect(told).toEqual(["x0 5 1", "o0", "n1", "x1 5 2", "o1", "n2"]);
});

test("with endEpisodeOnBoundary false, an episode counts at its last step", () => {
  const last = drive(counter(), () => 0, [], { episodes: 1, endEpisodeOnBoundary: false });
  expect(last).toMatchObject({ steps: 3, episodes: 1, timeStep: { stepType: 2 } });
  const driver = new PyDriver(counter(), () => 0, [], { maxEpisodes: 1, endEpisodeOnBoundary: false });
  expect(driver.run()).toMatchObject({ steps: 3, timeStep: { stepType: 2 } });
});

test("a run with a limit of 0 returns without a step", () => {
  const environment = { reset: () => restart(7), step: () => expect.unreachable() };
  expect(drive(environment, () => 0, [], { steps: 0 })).toMatchObject({ steps: 0, timeStep: { observation: 7 } });
  expect(new DynamicStepDriver(environment, () => 0, [], { numSteps: 0 }).run()).toMatchObject({ steps: 0 });
  expect(new DynamicEpisodeDriver(environment, () => 0).run(undefined, undefined, { numEpisodes: 0 })).toMatchObject({ episodes: 0 });
});

test("a step driver continues where it stopped, and an episode driver restarts", () => {
  const environment = counter();
  const steps = new DynamicStepDriver(environment, () => 0, [], { numSteps: 2 });
  expect(steps.run()).toMatchObject({ timeStep: { observation: 2 } });
  expect(steps.run()).toMatchObject({ steps: 2, timeStep: { observation: 4 } });
  const episodes = new DynamicEpisodeDriver(environment, () => 0);
  expect(episodes.run()).toMatchObject({ episodes: 1, steps: 2, timeStep: { stepType: 0 } });
});

test("a run waits for promises, and a signal stops it", async () => {
  const stop = new AbortController();
  const environment = { ...counter(), step: async () => transition(0, 0) };
  const driver = new PyDriver(environment, () => 0, [() => stop.abort(new Error("enough"))], { maxSteps: 9 });
  const run = driver.run(undefined, undefined, { signal: stop.signal });
  await expect(run).rejects.toThrow("enough");
});

test.each<[string, () => unknown, typeof TypeError, RegExp]>([
  ["no limit", () => new PyDriver(counter(), () => 0, []), RangeError, /^maxSteps or maxEpisodes must be at least 1, .*got 0$/],
  ["a wrong limit", () => new PyDriver(counter(), () => 0, [], { maxSteps: -1 }), RangeError, /^maxSteps must be an integer >= 0, got -1$/],
  [
    "observers",
    () => new PyDriver(counter(), () => 0, [], { maxSteps: 1, transitionObservers: [5] as never }),
    TypeError,
    /^transitionObservers must be an array of functions/,
  ],
  [
    "no info",
    () => new PyDriver({ ...counter(), getInfo: undefined as never }, () => 0, [], { maxSteps: 1, infoObservers: [() => 0] }),
    TypeError,
    /^environment must .*getInfo/,
  ],
  [
    "info observers of a step driver",
    () => new DynamicStepDriver(counter(), () => 0, [], { infoObservers: [] } as never),
    TypeError,
    /no option "infoObservers"/,
  ],
  ["no policy", () => new DynamicEpisodeDriver(counter(), 5 as never), TypeError, /^policy must .*got 5$/],
  ["a time step", () => new DynamicStepDriver(counter(), () => 0).run({} as never), TypeError, /^timeStep must be a TimeStep/],
  ["iterations", () => new DynamicStepDriver(counter(), () => 0).run(undefined, undefined, { maximumIterations: -1 }), RangeError, /^maximumIterations/],
])("invalid arguments are rejected: %s", (_, call, kind, says) => expectError(errorOf(call), kind, says));
