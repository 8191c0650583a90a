/** Compares probabilities and importance weights of prioritized replay with exact rationals, and tests the growth of beta. */
import { describe, expect, test } from "vitest";
import { type NormalizeByMax, PrioritizedEpisodicReplayBuffer, PrioritizedReplayBuffer } from "../../../src/pfrl/index.ts";
import { TestRandom } from "../../support/random.ts";

/** An exact fraction of integers, which can represent every double. */
class Rational {
  readonly n: bigint;
  readonly d: bigint;

  constructor(n: bigint, d = 1n) {
    const g = gcd(n < 0n ? -n : n, d);
    this.n = n / g;
    this.d = d / g;
  }

  static of(x: number): Rational {
    let d = 1n;
    let y = x;
    while (!Number.isInteger(y)) {
      y *= 2;
      d *= 2n;
    }
    return new Rational(BigInt(y), d);
  }

  plus(o: Rational): Rational {
    return new Rational(this.n * o.d + o.n * this.d, this.d * o.d);
  }

  times(o: Rational): Rational {
    return new Rational(this.n * o.n, this.d * o.d);
  }

  over(o: Rational): Rational {
    return new Rational(this.n * o.d, this.d * o.n);
  }

  get number(): number {
    const scale = 1n << 200n;
    return Number((this.n * scale) / this.d) / 2 ** 200;
  }
}

function gcd(a: bigint, b: bigint): bigint {
  let [x, y] = [a, b];
  while (y !== 0n) [x, y] = [y, x % y];
  return x === 0n ? 1n : x;
}

const ONE = new Rational(1n);
const MODES: readonly NormalizeByMax[] = [true, "batch", "memory", false];

/** Implements the documented formula: p = u / N + (1 - u) × priority / sum. */
function probabilitiesOf(priorities: readonly number[], u: number): Rational[] {
  const exact = priorities.map(Rational.of);
  const sum = exact.reduce((total, one) => total.plus(one));
  const ratio = Rational.of(u);
  const rest = ONE.plus(ratio.times(new Rational(-1n)));
  return exact.map((one) => ratio.over(new Rational(BigInt(priorities.length))).plus(rest.times(one.over(sum))));
}

/** Computes (p / m)^-beta with an exact quotient. */
function weightOf(p: Rational, mode: NormalizeByMax, drawn: readonly Rational[], all: readonly Rational[], length: number, beta: number): number {
  const min = (list: readonly Rational[]) => list.reduce((a, b) => (a.n * b.d <= b.n * a.d ? a : b));
  const base = mode === false ? p.times(new Rational(BigInt(length))) : p.over(min(mode === "memory" ? all : drawn));
  return base.number ** -beta;
}

describe.each(MODES)("normalizeByMax %s", (normalizeByMax) => {
  test("n-step transitions have exact probabilities and weights", () => {
    const buffer = new PrioritizedReplayBuffer(40, { normalizeByMax, numSteps: 2, betaSteps: 30, alpha: 0.7, eps: 0.001, errorMax: null, seed: 4 });
    const random = new TestRandom(8);
    let beta = 0.4;
    for (let round = 0; round < 60; round++) {
      for (let i = 0; i < 3; i++) buffer.append({ state: round, action: i, reward: 0, nextState: 0, isStateTerminal: random.next() < 0.2 });
      if (buffer.length < 5) continue;
      const { keys, priorities } = buffer.priorities();
      const exact = probabilitiesOf([...priorities], 0);
      const batch = buffer.sample(5);
      const places = [...batch.keys].map((key) => keys.indexOf(key));
      const drawn = places.map((place) => exact[place] as Rational);
      expect(new Set(places).size).toBe(5);
      places.forEach((place, i) => {
        expect(batch.probabilities[i]).toBeCloseTo((exact[place] as Rational).number, 14);
        expect(batch.weights[i]).toBeCloseTo(weightOf(exact[place] as Rational, normalizeByMax, drawn, exact, buffer.length, beta), 10);
      });
      beta = Math.min(1, beta + 0.6 / 30);
      expect(buffer.beta).toBeCloseTo(beta, 12);
      const errors = Array.from({ length: 5 }, () => random.next() * 3);
      expect(buffer.updateErrors(errors)).toBe(5);
      const after = buffer.priorities();
      places.forEach((place, i) => {
        expect(after.priorities[place]).toBeCloseTo(((errors[i] as number) + 0.001) ** 0.7, 12);
      });
      expect(buffer.maxPriority).toBeGreaterThanOrEqual(Math.max(...after.priorities));
    }
    expect(buffer.beta).toBe(1);
  });

  test.each([0, 0.3, 1])("episodes with uniformRatio %s have exact probabilities and weights", (uniformRatio) => {
    const buffer = new PrioritizedEpisodicReplayBuffer({
      capacity: 60,
      normalizeByMax,
      uniformRatio,
      betaSteps: 10,
      defaultPriorityFunc: (episode) => episode.length,
    });
    const random = new TestRandom(21);
    for (let round = 0; round < 30; round++) {
      const length = 1 + random.below(6);
      for (let i = 0; i < length; i++) buffer.append({ state: round, action: i, reward: 0, nextState: 0, isStateTerminal: i === length - 1 });
      if (buffer.nEpisodes < 3) continue;
      const { beta } = buffer;
      const { keys, priorities } = buffer.priorities();
      const exact = probabilitiesOf([...priorities], uniformRatio);
      const batch = buffer.sampleEpisodes(3, 2);
      const places = [...batch.keys].map((key) => keys.indexOf(key));
      const drawn = places.map((place) => exact[place] as Rational);
      places.forEach((place, i) => {
        expect(batch.probabilities[i]).toBeCloseTo((exact[place] as Rational).number, 14);
        expect(batch.weights[i]).toBeCloseTo(weightOf(exact[place] as Rational, normalizeByMax, drawn, exact, buffer.length, beta), 10);
      });
      buffer.updateErrors([random.next(), 1, 2]);
    }
  });
});

test("beta grows to 1 in betaSteps, or stays at beta0 if betaSteps is null", () => {
  const betas = (options: object, samples: number) => {
    const buffer = new PrioritizedReplayBuffer({ waitPriorityAfterSampling: false, ...options });
    buffer.append({ state: 0, action: 0, reward: 0 });
    return Array.from({ length: samples }, () => {
      buffer.sample(1);
      return buffer.beta;
    });
  };
  expect(betas({ beta0: 0.4, betaSteps: 4 }, 6)).toEqual([0.55, 0.55 + 0.15, 0.55 + 0.15 + 0.15, 1, 1, 1].map((beta) => expect.closeTo(beta, 12)));
  expect(betas({ beta0: 0.7, betaSteps: null }, 3)).toEqual([0.7, 0.7, 0.7]);
  expect(betas({ beta0: 0.1, betaSteps: 0.5 }, 1)).toEqual([1]);
  expect(betas({}, 1)).toEqual([0.4 + 0.6 / 2e5]);
});

test("priorityFromErrors returns the errors to the power of alpha", () => {
  const buffer = new PrioritizedReplayBuffer({ alpha: 0.6, eps: 0, errorMax: null });
  const errors = Array.from({ length: 50 }, (_, i) => (i + 1) / 7);
  for (const [i, priority] of buffer.priorityFromErrors(errors).entries()) expect(priority).toBeCloseTo((errors[i] as number) ** 0.6, 13);
  expect(buffer.bytes).toBe(0);
});
