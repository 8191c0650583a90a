/** Checks which steps a driver's run takes, with a list of future steps and the rules in TF-Agents' documents. */
import { describe, expect, it } from "vitest";
import { type DriveState, DynamicEpisodeDriver, DynamicStepDriver, drive, type Environment, PyDriver, type TimeStep } from "../../../src/tf-agents/index.ts";
import { TestRandom } from "../../support/random.ts";
import { scaled } from "../../support/size.ts";

type Types = readonly number[];

/** Returns the step types of a row of consecutive episodes, each FIRST, MID …, LAST. */
function typesOf(random: TestRandom, steps: number): number[] {
  const types: number[] = [];
  while (types.length < steps) types.push(0, ...new Array(random.below(3)).fill(1), 2);
  return types;
}

/** Returns an environment of rows in lock-step, whose observation is the number of the step. */
function environmentOf(rows: readonly Types[]): Environment<number, number> & { readonly at: number } {
  return {
    at: -1,
    reset() {
      return this.step(0) as TimeStep<number>;
    },
    step() {
      (this as { at: number }).at++;
      const { at } = this;
      const of = (value: (type: number) => number) => Float32Array.from(rows, (types) => value(types[at] as number));
      return {
        stepType: Int32Array.from(rows, (types) => types[at] as number),
        reward: of(() => at),
        discount: of((type) => (type === 2 ? 0 : 1)),
        observation: at,
      };
    },
    currentTimeStep() {
      if (this.at < 0) return this.reset() as TimeStep<number>;
      (this as { at: number }).at--;
      return this.step(0) as TimeStep<number>;
    },
  } as Environment<number, number> & { readonly at: number };
}

interface Limits {
  readonly steps?: number;
  readonly episodes?: number;
  readonly iterations?: number;
  readonly onBoundary?: boolean;
}

/** Returns where a run that begins at step `from` ends. */
function naiveEnd(rows: readonly Types[], from: number, { steps = Infinity, episodes = Infinity, iterations = Infinity, onBoundary = true }: Limits): number {
  let [at, taken, over, turns] = [from, 0, 0, 0];
  while (taken < steps && over < episodes && turns < iterations) {
    taken += rows.filter((types) => types[at] !== 2).length;
    over += rows.filter((types) => (onBoundary ? types[at] === 2 : types[at + 1] === 2)).length;
    at++;
    turns++;
  }
  return at;
}

describe("random runs of drivers equal a naive run", () => {
  it.each(Array.from({ length: scaled(100) }, (_, seed) => seed))("seed %i", (seed) => {
    const random = new TestRandom(seed + 1);
    const rows = Array.from({ length: 1 + random.below(3) }, () => typesOf(random, 300));
    const seen: number[] = [];
    const between: string[] = [];
    const observer = ({ observation }: { readonly observation: number }) => seen.push(observation);
    const transitionObserver = ({ timeStep, nextTimeStep }: { readonly timeStep: TimeStep<number>; readonly nextTimeStep: TimeStep<number> }) =>
      between.push(`${timeStep.observation} ${nextTimeStep.observation}`);
    const environment = environmentOf(rows);
    const kind = random.below(4);
    const [steps, episodes, onBoundary] = [1 + random.below(7), 1 + random.below(3), random.below(2) === 0];
    const numbers = (from: number, to: number) => Array.from({ length: to - from }, (_, i) => from + i);
    let at = 0;
    let state: DriveState<number> | undefined;
    for (let run = 0; run < 4; run++) {
      let limits: Limits;
      const policy = () => 0;
      if (kind === 0) {
        limits = { steps, ...(run % 2 === 0 ? {} : { episodes }), onBoundary };
        const { onBoundary: _, ...limit } = limits;
        state = drive(
          environment,
          policy,
          [observer],
          { ...limit, endEpisodeOnBoundary: onBoundary, transitionObservers: [transitionObserver] },
          state,
        ) as DriveState<number>;
      } else if (kind === 1) {
        limits = { episodes, onBoundary };
        const driver = new PyDriver(environment, policy, [observer], {
          maxEpisodes: episodes,
          endEpisodeOnBoundary: onBoundary,
          transitionObservers: [transitionObserver],
        });
        state = driver.run(state?.timeStep, state?.policyState) as DriveState<number>;
      } else if (kind === 2) {
        limits = { steps, ...(run === 1 ? { iterations: 1 } : {}) };
        const driver = new DynamicStepDriver(environment, policy, [observer], { numSteps: steps, transitionObservers: [transitionObserver] });
        state = driver.run(undefined, undefined, run === 1 ? { maximumIterations: 1 } : {}) as DriveState<number>;
      } else {
        limits = { episodes };
        const driver = new DynamicEpisodeDriver(environment, policy, [observer], { transitionObservers: [transitionObserver] });
        state = driver.run(state?.timeStep, undefined, { numEpisodes: episodes }) as DriveState<number>;
      }
      const end = naiveEnd(rows, at, limits);
      expect(seen.splice(0)).toEqual(numbers(at, end));
      expect(between.splice(0)).toEqual(numbers(at, end).map((n) => `${n} ${n + 1}`));
      expect(state.timeStep.observation).toBe(end);
      at = end;
    }
  });
});
