/** Compares transitions with naive transitions in nested lists, based only on TF-Agents' documents. */
import { describe, expect, it } from "vitest";
import { Column } from "../../../src/schema/column.ts";
import { discountedReturn, fromEpisode, toNStepTransition, toTransition } from "../../../src/tf-agents/index.ts";
import { TestRandom } from "../../support/random.ts";
import { scaled } from "../../support/size.ts";

interface Step {
  readonly type: number;
  readonly next: number;
  readonly observation: readonly number[];
  readonly action: number;
  readonly reward: number;
  readonly discount: number;
}

/** Returns a row of steps: consecutive episodes, some of them truncated. */
function row(random: TestRandom, length: number): Step[] {
  let type = random.below(3);
  return Array.from({ length }, (_, t) => {
    const next = type === 2 ? 0 : random.below(3) === 0 ? 2 : 1;
    const discount = next === 2 ? random.below(2) : random.below(4) === 0 ? 0.5 : 1;
    const step = { type, next, observation: [t, random.below(100)], action: random.below(9), reward: random.below(8) / 4, discount };
    type = next;
    return step;
  });
}

const i32 = (rows: readonly Step[][], of: (step: Step) => number) => new Column(Int32Array.from(rows.flat(), of), [rows.length, rows[0]?.length ?? 0]);
const f32 = (rows: readonly Step[][], of: (step: Step) => number) => new Column(Float32Array.from(rows.flat(), of), [rows.length, rows[0]?.length ?? 0]);

function batchOf(rows: readonly Step[][]) {
  return {
    stepType: i32(rows, ({ type }) => type),
    observation: { seen: new Column(Float32Array.from(rows.flat().flatMap(({ observation }) => observation)), [rows.length, rows[0]?.length ?? 0, 2]) },
    action: i32(rows, ({ action }) => action),
    policyInfo: [] as const,
    nextStepType: i32(rows, ({ next }) => next),
    reward: f32(rows, ({ reward }) => reward),
    discount: f32(rows, ({ discount }) => discount),
  };
}

/** Returns the n-step result of all steps of a row except the last one. Rewards stop at the end of a truncated episode. */
function naiveNStep(steps: readonly Step[], gamma: number) {
  let counted = steps.slice(0, -1);
  const cut = counted.findIndex(({ type, next }) => type === 2 || next === 2);
  const stillCounts = counted.slice(0, cut + 1).every(({ discount }) => discount !== 0);
  if (cut >= 0 && stillCounts) counted = counted.slice(0, cut + 1);
  const discounted = counted.map((_, k) => counted.slice(0, k).reduce((product, { discount }) => product * discount, gamma ** k));
  const last = steps[counted.length] as Step;
  return {
    reward: counted.reduce((sum, { reward }, k) => sum + (discounted[k] as number) * reward, 0),
    discount: counted.reduce((product, { discount }) => product * discount, gamma ** (counted.length - 1)),
    type: last.type,
    observation: last.observation,
  };
}

describe("random batches equal naive transitions", () => {
  it.each(Array.from({ length: scaled(100) }, (_, seed) => seed))("seed %i: toTransition", (seed) => {
    const random = new TestRandom(seed + 1);
    const length = 1 + random.below(6);
    const rows = Array.from({ length: 1 + random.below(3) }, () => row(random, length));
    const { timeStep, actionStep, nextTimeStep } = toTransition(batchOf(rows));
    const now = rows.map((steps) => steps.slice(0, -1));
    const then = rows.map((steps) => steps.slice(1));
    expect(timeStep.stepType.toArray()).toEqual(now.map((steps) => steps.map(({ type }) => type)));
    expect(timeStep.reward.toArray()).toEqual(now.map((steps) => steps.map(() => 0)));
    expect(timeStep.observation.seen.toArray()).toEqual(now.map((steps) => steps.map(({ observation }) => observation)));
    expect(actionStep.action.toArray()).toEqual(now.map((steps) => steps.map(({ action }) => action)));
    expect(nextTimeStep.stepType.toArray()).toEqual(now.map((steps) => steps.map(({ next }) => next)));
    expect(nextTimeStep.reward.toArray()).toEqual(now.map((steps) => steps.map(({ reward }) => reward)));
    expect(nextTimeStep.discount.toArray()).toEqual(now.map((steps) => steps.map(({ discount }) => discount)));
    expect(nextTimeStep.observation.seen.toArray()).toEqual(then.map((steps) => steps.map(({ observation }) => observation)));
  });

  it.each(Array.from({ length: scaled(100) }, (_, seed) => seed))("seed %i: toNStepTransition", (seed) => {
    const random = new TestRandom(seed + 1000);
    const length = 2 + random.below(6);
    const rows = Array.from({ length: 1 + random.below(3) }, () => row(random, length));
    const gamma = random.pick([0, 0.5, 0.9, 1]);
    const { timeStep, nextTimeStep } = toNStepTransition(batchOf(rows), gamma);
    const naive = rows.map((steps) => naiveNStep(steps, gamma));
    expect(timeStep.observation.seen.toArray()).toEqual(rows.map(([first]) => first?.observation));
    for (const [i, { reward, discount }] of naive.entries()) {
      expect(nextTimeStep.reward.at(i)).toBeCloseTo(reward, 5);
      expect(nextTimeStep.discount.at(i)).toBeCloseTo(discount, 6);
    }
    expect(nextTimeStep.stepType.toArray()).toEqual(naive.map(({ type }) => type));
    expect(nextTimeStep.observation.seen.toArray()).toEqual(naive.map(({ observation }) => observation));
  });

  it.each(Array.from({ length: scaled(100) }, (_, seed) => seed))("seed %i: discountedReturn", (seed) => {
    const random = new TestRandom(seed + 2000);
    const rows = Array.from({ length: 1 + random.below(3) }, () => row(random, 1 + random.below(1) + 4));
    const [rewards, discounts] = [f32(rows, ({ reward }) => reward), f32(rows, ({ discount }) => discount)];
    const finals = rows.map(() => random.below(9));
    const naive = rows.map((steps, i) =>
      steps.map((_, t) => steps.slice(t).reduceRight((sum, { reward, discount }) => reward + discount * sum, finals[i] as number)),
    );
    const options = { timeMajor: false, finalValue: Float32Array.from(finals) };
    expect(discountedReturn(rewards, discounts, options).toArray()).toEqual(naive);
    expect(discountedReturn(rewards, discounts, { ...options, provideAllReturns: false }).toArray()).toEqual(naive.map(([first]) => first));
    const turned = (column: Column) => {
      const [n = 0, t = 0] = column.shape;
      return new Column(
        Float32Array.from({ length: n * t }, (_, i) => Number(column.data[(i % n) * t + Math.floor(i / n)])),
        [t, n],
      );
    };
    const major = discountedReturn(turned(rewards), turned(discounts), { finalValue: Float32Array.from(finals) });
    expect(major.toArray()).toEqual((naive[0] as number[]).map((_, t) => naive.map((all) => all[t])));
  });

  it.each(Array.from({ length: scaled(100) }, (_, seed) => seed))("seed %i: fromEpisode marks the first and the last step", (seed) => {
    const random = new TestRandom(seed + 3000);
    const n = random.below(6);
    const reward = Float32Array.from({ length: n }, () => random.below(9));
    const { stepType, nextStepType, discount } = fromEpisode({ observation: { x: new Float32Array(2 * n) }, action: new Int32Array(n), reward });
    expect([...stepType.data]).toEqual(Array.from({ length: n }, (_, t) => (t === 0 ? 0 : 1)));
    expect([...nextStepType.data]).toEqual(Array.from({ length: n }, (_, t) => (t === n - 1 ? 2 : 1)));
    expect([...discount.data]).toEqual(new Array(n).fill(1));
  });
});
