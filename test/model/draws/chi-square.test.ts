/** Compares the frequencies of draws and evictions with exact probabilities. Fixed seeds make the results reproducible. */
import { describe, expect, test } from "vitest";
import { fifo, lifo, prioritized, type Selector, uniform } from "../../../src/index.ts";
import { chiSquare } from "../../support/chi-square.ts";
import { plain, Rig, type RigOptions } from "../rig.ts";
import { weightOf } from "../twin-table.ts";

const MIN_P = 1e-4;
const DISTINCT = 1;
const STRATIFIED = 2;

/** Returns a table whose items have these priorities, and their keys in order. */
function filled(options: RigOptions, priorities: readonly number[]): { rig: Rig; keys: number[] } {
  const rig = new Rig(options);
  rig.append(1);
  const keys = priorities.map((priority) => {
    rig.create(1, priority);
    return rig.newest();
  });
  return { rig, keys };
}

function shares(selector: Selector, priorities: readonly number[]): number[] {
  const weights = priorities.map((priority) => weightOf(selector, priority));
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  return weights.map((weight) => (total === 0 ? 1 / weights.length : weight / total));
}

const FEW = [1, 2, 0, 4, 0.5];
const MANY = Array.from({ length: 120 }, (_, i) => (i % 5 === 0 ? 0 : 1 + (i % 11)));
const SAMPLERS: readonly Selector[] = [uniform(), prioritized(1), prioritized(0.5), prioritized(2), prioritized(0), prioritized(-1)];

describe("chiSquare", () => {
  test("returns the p-values of published tables", () => {
    // 3.841 is the 5 % point of one degree of freedom, 18.307 of ten.
    expect(chiSquare([1000 + 1, 1000 - 1], [0.5, 0.5])).toBeCloseTo(0.9643, 3);
    const off = Math.sqrt(3.841 * 500);
    expect(chiSquare([1000 + off, 1000 - off], [0.5, 0.5])).toBeCloseTo(0.05, 4);
    const eleven = Array.from({ length: 11 }, (_, i) => 1000 + (i === 0 ? 10 : i === 1 ? -10 : 0) * Math.sqrt(18.307 / 0.2));
    expect(chiSquare(eleven, new Array(11).fill(1 / 11))).toBeCloseTo(0.05, 4);
    expect(chiSquare([1, 1000], [0, 1])).toBe(0);
  });
});

describe("draws with replacement match their shares", () => {
  for (const sampler of SAMPLERS) {
    for (const priorities of [FEW, MANY, [0, 0, 0, 0, 0, 0, 0]]) {
      test(`${sampler.kind} ${sampler.exponent ?? ""} of ${priorities.length}`, () => {
        const { rig, keys } = filled({ ...plain(sampler, fifo(), 128), seed: 17 }, priorities);
        const place = new Map(keys.map((key, i) => [key, i]));
        const counts = keys.map(() => 0);
        for (let batch = 0; batch < 200; batch++) {
          rig.sample(1024);
          for (let i = 0; i < 1024; i++) (counts[place.get(rig.f64[rig.keys + i] as number) as number] as number)++;
          rig.settle();
        }
        expect(chiSquare(counts, shares(sampler, priorities))).toBeGreaterThan(MIN_P);
      });
    }
  }
});

/** Returns the probabilities of the ordered outcomes of k draws without replacement. Keys are the outcomes as text. */
function outcomes(weights: readonly number[], k: number, taken: readonly number[] = []): Map<string, number> {
  if (taken.length === k) return new Map([[taken.join(), 1]]);
  const total = weights.reduce((sum, weight, i) => sum + (taken.includes(i) ? 0 : weight), 0);
  const found = new Map<string, number>();
  for (const [i, weight] of weights.entries()) {
    if (taken.includes(i) || weight === 0) continue;
    for (const [text, p] of outcomes(weights, k, [...taken, i])) found.set(text, (weight / total) * p);
  }
  return found;
}

/** Returns the p-value of a tally of ordered outcomes. Outcomes without a probability must not occur. */
function verdict(tally: ReadonlyMap<string, number>, wanted: ReadonlyMap<string, number>): number {
  expect([...tally.keys()].filter((text) => !wanted.has(text))).toEqual([]);
  const texts = [...wanted.keys()];
  return chiSquare(
    texts.map((text) => tally.get(text) ?? 0),
    texts.map((text) => wanted.get(text) as number),
  );
}

describe("draws without replacement match exact probabilities", () => {
  const priorities = [1, 5, 0, 2, 3];
  for (const sampler of [uniform(), prioritized(1), prioritized(0.5)]) {
    const weights = priorities.map((priority) => weightOf(sampler, priority));
    for (const k of [2, 4]) {
      const wanted = outcomes(weights, k);

      test(`${k} of five in one batch, ${sampler.kind} ${sampler.exponent ?? ""}`, () => {
        const { rig, keys } = filled({ ...plain(sampler, fifo(), 8), seed: 23 }, priorities);
        const tally = new Map<string, number>();
        for (let round = 0; round < 60_000; round++) {
          const count = rig.sample(k, DISTINCT);
          const text = Array.from({ length: count }, (_, i) => keys.indexOf(rig.f64[rig.keys + i] as number)).join();
          tally.set(text, (tally.get(text) ?? 0) + 1);
          rig.settle();
        }
        expect(verdict(tally, wanted)).toBeGreaterThan(MIN_P);
      });

      test(`${k} of five that are evicted after one draw, ${sampler.kind} ${sampler.exponent ?? ""}`, () => {
        const { rig } = filled({ ...plain(sampler, fifo(), 8), maxTimesSampled: 1, seed: 29 }, []);
        const tally = new Map<string, number>();
        for (let round = 0; round < 20_000; round++) {
          rig.x.table_clear(rig.table);
          const keys = priorities.map((priority) => {
            rig.create(1, priority);
            return rig.newest();
          });
          const count = rig.sample(k);
          const text = Array.from({ length: count }, (_, i) => keys.indexOf(rig.f64[rig.keys + i] as number)).join();
          tally.set(text, (tally.get(text) ?? 0) + 1);
          rig.settle();
        }
        expect(verdict(tally, wanted)).toBeGreaterThan(MIN_P);
      });
    }
  }
});

describe("stratified draws", () => {
  for (const sampler of [uniform(), prioritized(1), prioritized(0.5)]) {
    test(`the i-th draw comes from the i-th part, ${sampler.kind} ${sampler.exponent ?? ""}`, () => {
      const n = 3;
      const { rig, keys } = filled({ ...plain(sampler, fifo(), 8), seed: 31 }, FEW);
      const counts = Array.from({ length: n }, () => FEW.map(() => 0));
      for (let round = 0; round < 40_000; round++) {
        rig.sample(n, STRATIFIED);
        for (let i = 0; i < n; i++) ((counts[i] as number[])[keys.indexOf(rig.f64[rig.keys + i] as number)] as number)++;
        rig.settle();
      }
      let before = 0;
      const ranges = shares(sampler, FEW).map((share) => {
        before += share;
        return [before - share, before] as const;
      });
      for (const [i, seen] of counts.entries()) {
        const wanted = ranges.map(([from, to]) => n * Math.max(Math.min(to, (i + 1) / n) - Math.max(from, i / n), 0));
        expect(
          chiSquare(
            seen,
            wanted.map((p) => (p < 1e-12 ? 0 : p)),
          ),
        ).toBeGreaterThan(MIN_P);
      }
    });
  }
});

describe("evicted items", () => {
  test("a uniform remover selects each item equally often, including the new one", () => {
    const size = 6;
    const { rig, keys } = filled({ ...plain(lifo(), uniform(), size), seed: 37 }, new Array(size).fill(1));
    const counts = new Array(size + 1).fill(0);
    let live = keys;
    for (let round = 0; round < 100_000; round++) {
      rig.create(1, 1);
      live = [...live, rig.newest()];
      const victim = live.findIndex((key) => !rig.has(key));
      counts[victim]++;
      live.splice(victim, 1);
    }
    expect(rig.broken()).toBe("0 0 0 0");
    expect(chiSquare(counts, new Array(size + 1).fill(1 / (size + 1)))).toBeGreaterThan(MIN_P);
  });

  for (const remover of [prioritized(1), prioritized(0.5), prioritized(-1)]) {
    test(`a prioritized remover selects each item in proportion to its weight, exponent ${remover.exponent}`, () => {
      const priorities = [...FEW, 3];
      const { rig } = filled({ ...plain(fifo(), remover, FEW.length), seed: 41 }, []);
      const counts = priorities.map(() => 0);
      for (let round = 0; round < 30_000; round++) {
        rig.x.table_clear(rig.table);
        const keys = priorities.map((priority) => {
          rig.create(1, priority);
          return rig.newest();
        });
        (counts[keys.findIndex((key) => !rig.has(key))] as number)++;
      }
      expect(rig.broken()).toBe("0 0 0 0");
      expect(chiSquare(counts, shares(remover, priorities))).toBeGreaterThan(MIN_P);
    });
  }
});
