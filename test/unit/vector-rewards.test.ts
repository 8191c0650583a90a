/** Tests rewards with several components: the return of each component is computed separately. */
import { describe, expect, expectTypeOf, test } from "vitest";
import { bool, type Column, f16, f32, f64, i32, mixture, prioritized, Replay, sampleToInsertRatio } from "../../src/index.ts";
import { TestRandom } from "../support/random.ts";
import { errorOf, expectError } from "../support/refused.ts";
import { scaled } from "../support/size.ts";

/** The number of components of a wide reward. Leaves of at least 256 bytes are stored differently. */
const WIDE = 64;
const parts = { observation: f32(2), action: i32(), other: f32(2) };

// biome-ignore lint/suspicious/noExplicitAny: the options vary
type Loose = any;
interface World {
  readonly replays: readonly Replay[];
  /** The stored reward component of each Replay except the first. */
  readonly components: readonly number[];
  readonly size: number;
}
type AnyBatch = { readonly [name: string]: Column | ArrayLike<number> };

/** Creates equal Replays. The first one stores all components of the reward, and each of the others stores only one component. */
function world(seed: number): void {
  const random = new TestRandom(seed);
  const lanes = 1 + random.below(3);
  const dtype = random.pick(["f32", "f64"] as const);
  const [K, components] = seed % 10 === 5 ? [WIDE, [0, 20, 63]] : [3, [0, 1, 2]];
  const [leaf, number] = random.pick([
    [f32(K), f32()],
    [f64(K), f64()],
    [f16(K), f16()],
  ] as const);
  const rule = random.pick([
    { table: "t", nStep: 1 + random.below(4) },
    { table: "t", length: 2 + random.below(4) },
    { table: "t", sequence: { length: 3 + random.below(3), burnIn: random.below(2) } },
  ]);
  const ends = random.below(2) === 0;
  const replays = [-1, ...components].map((_, k) => {
    const spec = { ...parts, ...(ends && { discount: f32(), terminated: bool() }), reward: k === 0 ? leaf : number };
    const limiter = seed % 4 === 0 ? { rateLimiter: sampleToInsertRatio(1, 5, 20) } : {};
    return new Replay({ spec, tables: { t: { maxSize: 30, sampler: prioritized(0.6), ...limiter } }, seed, logger: null }) as Replay;
  });
  const writers = replays.map((replay) => replay.writer({ lanes, items: [rule as never], autoreset: "sameStep" }));
  for (let step = 0; step < 60; step++) {
    const rewards = Array.from({ length: lanes }, () => Array.from({ length: K }, () => random.below(64) / 8));
    const discount = random.pick([1, 1, 0.5, 0]);
    const terminated = random.below(10) === 0;
    for (const [k, writer] of writers.entries()) {
      const reward = k === 0 ? rewards.flat() : rewards.map((all) => all[components[k - 1] as number] as number);
      const place = Array.from({ length: 2 * lanes }, (_, i) => step + i);
      const one = { observation: place, other: place, action: Array(lanes).fill(step), reward };
      const last = ends && { discount: Array(lanes).fill(discount), terminated: Array(lanes).fill(terminated) };
      const single = { action: step, ...(k > 0 && { reward: reward[0] }), ...(ends && { discount, terminated }) };
      writer.append({ ...one, ...last, ...(lanes === 1 && single) } as never);
    }
    if (random.below(7) > 0) continue;
    const end = { lane: random.below(lanes), final: { observation: [0, 0] }, terminated: random.below(2) === 0 };
    for (const writer of writers) writer.endEpisode(end as never);
  }
  const made = { replays, components, size: K };
  compareTransitions(made, random, dtype);
  compareWindows(made, random);
  compareSequences(made, random, dtype);
  compareGoals(made, random, dtype);
}

type Drawn = (replay: Replay, k: number, round: number) => AnyBatch;

/** Draws the same batch from each Replay, and checks that all numbers are equal and that returns are equal per component. */
function compare({ replays, components, size }: World, names: readonly string[], draw: Drawn): void {
  for (let round = 0; round < 3 && replays[0]?.table("t").ready(7); round++) {
    const [batch, ...others] = replays.map((replay, k) => draw(replay, k, round));
    const returns = [...dataOf(batch?.returns)];
    expect(returns.length).toBe(size * dataOf(others[0]?.returns).length);
    for (const [k, other] of others.entries()) {
      expect(returns.filter((_, i) => i % size === components[k])).toEqual([...dataOf(other.returns)]);
      for (const name of names) expect([...dataOf(batch?.[name])]).toEqual([...dataOf(other[name])]);
    }
  }
}

const dataOf = (column: Column | ArrayLike<number> | undefined): Float64Array => ((column as Column).data ?? column) as Float64Array;

function compareTransitions(world: World, random: TestRandom, dtype: "f32" | "f64"): void {
  const options = { gamma: 0.9, dtype, ...(random.below(2) === 0 && { n: 1 }) };
  const views = world.replays.map((replay) => replay.table("t").transitions(options as never));
  const intos = views.map((view) => view.batch(7, { beta: 0.5 }));
  compare(world, ["discounts", "steps", "terminated", "truncated", "weights", "observation"], (_, k, round) => {
    const batch = views[k]?.sample(7, { beta: 0.5, ...(round % 2 === 1 && { into: intos[k] as unknown as object }) }) as unknown as AnyBatch;
    if (k === 0) expect((batch.returns as Column).shape).toEqual([7, world.size]);
    return batch;
  });
}

function compareWindows(world: World, random: TestRandom): void {
  const nStep = { n: 1 + random.below(3), gamma: 0.9, reward: "reward", ...(random.below(2) === 0 && { nextState: "own" as const }) };
  const offset = random.pick(["start", "end", "uniform"] as const);
  const intos: unknown[] = [];
  compare(world, ["discounts", "steps", "terminated", "truncated"], (replay, k, round) => {
    const batch: Loose = replay.table("t").sample(7, { nStep, offset, ...(intos[k] !== undefined && round === 2 && { into: intos[k] as object }) } as never);
    intos[k] = batch;
    return batch.nStep as unknown as AnyBatch;
  });
}

function compareSequences(world: World, random: TestRandom, dtype: "f32" | "f64"): void {
  const options = { gamma: 0.9, dtype, n: 1 + random.below(4), ...(random.below(2) === 0 && { length: 3 }) };
  const views = world.replays.map((replay) => replay.table("t").sequences(options as never));
  const intos = views.map((view) => view.batch(7));
  const names = ["discounts", "bootstraps", "mask", "learningMask", "isFirst", "isLast", "isTerminal", "observation"];
  compare(world, names, (_, k, round) => {
    const batch = views[k]?.sample(7, (round % 2 === 1 ? { into: intos[k] } : {}) as never) as unknown as AnyBatch;
    if (k === 0) expect((batch.returns as Column).shape).toEqual([7, (batch.mask as Column).shape[1], world.size]);
    return batch;
  });
}

function compareGoals(world: World, random: TestRandom, dtype: "f32" | "f64"): void {
  const ends = random.below(2) === 0;
  const isStored = random.below(4) === 0;
  const views = world.replays.map((replay, k) => {
    const component = (c: number) => (goal: number, achieved: number) => goal + (c + 1) * achieved;
    const components = k === 0 ? Array.from({ length: world.size }, (_, c) => component(c)) : [component(world.components[k - 1] as number)];
    const pairs = ({ goal, achieved }: { goal: Column; achieved: Column }) =>
      Array.from({ length: goal.shape[0] as number }, (_, i) => [goal.data[2 * i] as number, achieved.data[2 * i] as number] as const);
    const reward = (steps: never) => pairs(steps).flatMap(([goal, achieved]) => components.map((of) => of(goal, achieved)));
    const terminated = (steps: never) => pairs(steps).map(([goal, achieved]) => (goal + achieved) % 3 === 0);
    const how = isStored ? { reward: "stored" } : { reward, ...(ends && { terminated }) };
    return replay.table("t").transitions({ gamma: 0.9, dtype, relabel: { goal: "other", achieved: "observation", share: 0.7, ...how } } as never);
  });
  compare(world, ["relabelled", "discounts", "steps", "terminated", "truncated", "other"], (_, k) => views[k]?.sample(7) as unknown as AnyBatch);
}

test("each component equals the result of a reward with only that component", () => {
  for (let seed = 0; seed < scaled(300, 2); seed++) world(seed);
});

const spec = { ...parts, reward: f32(2) };

function filled(seed = 1): Replay<typeof spec, "t"> {
  const replay = new Replay({ spec, tables: { t: { maxSize: 100 } }, seed });
  const writer = replay.writer({ items: [{ table: "t", nStep: 2 }] });
  for (let k = 0; k < 30; k++) writer.append({ observation: [k, k], other: [0, 0], action: k, reward: [k, -k] });
  return replay;
}

describe("the batch", () => {
  test("has vector returns in its type, in toArray and in mixtures", async () => {
    const view = filled().tables.t.transitions({ gamma: 1 });
    const batch = view.sample(4);
    expectTypeOf(batch.returns).toEqualTypeOf<Column<"f32", [number, 2]>>();
    for (let i = 0; i < 4; i++) expect(batch.returns.data[2 * i]).toBe(-(batch.returns.data[2 * i + 1] as number));
    expect(batch.toArray()[0]?.returns).toHaveLength(2);
    const whole = await view.sampleWhenReady(4);
    expect(whole.returns.shape).toEqual([4, 2]);
    const mix = mixture([
      { from: view, share: 1 },
      { from: filled(2).tables.t.transitions({ gamma: 1 }), share: 1 },
    ]);
    const mixed = mix.sample(6);
    for (let i = 0; i < 6; i++) expect(mixed.returns.data[2 * i]).toBe(2 * (mixed.action.data[i] as number) + 1);
  });

  test("cannot contain a reward with a component that is not finite", () => {
    const replay = filled();
    const writer = replay.writer({ items: [{ table: "t", nStep: 1 }] });
    for (const reward of [
      [0, Number.NaN],
      [Number.POSITIVE_INFINITY, 0],
    ]) {
      expectError(
        errorOf(() => writer.append({ observation: [0, 0], other: [0, 0], action: 0, reward })),
        "INVALID_DATA",
        /^reward must be finite/,
      );
      expectError(
        errorOf(() => writer.appendColumns({ observation: [0, 0, 0, 0], other: [0, 0, 0, 0], action: [0, 0], reward: [0, 0, ...reward] })),
        "INVALID_DATA",
        /^reward must be finite/,
      );
    }
    expect(writer.length).toBe(0);
  });

  test("of windows has components per item, and of sequences per step", () => {
    const { t } = filled().tables;
    const { nStep } = t.sample(5, { nStep: { n: 2, gamma: 1, reward: "reward" } });
    expect(nStep.returns).toHaveLength(10);
    for (let i = 0; i < 5; i++) expect(nStep.returns[2 * i]).toBe(-(nStep.returns[2 * i + 1] as number));
    const view = t.sequences({ gamma: 1, n: 2 });
    const batch = view.sample(4);
    expectTypeOf(batch.returns).toEqualTypeOf<Column<"f32", [number, number, 2]>>();
    expect(batch.returns.shape).toEqual([4, 3, 2]);
    const [first] = batch.toArray();
    expect(first?.returns[0]).toEqual([2 * (first?.action[0] as number) + 1, -2 * (first?.action[0] as number) - 1]);
  });

  test("of relabelled goals needs all components of the reward per step", () => {
    const { t } = filled().tables;
    const relabel = { goal: "other", achieved: "observation", share: 1 } as const;
    const view = t.transitions({ gamma: 1, relabel: { ...relabel, reward: ({ rows }) => Array.from({ length: 2 * rows.length }, (_, i) => i % 2) } });
    const { returns, steps } = view.sample(4);
    for (let i = 0; i < 4; i++) expect([...returns.data.subarray(2 * i, 2 * i + 2)]).toEqual([0, steps.data[i]]);
    expectError(
      errorOf(() => t.transitions({ gamma: 1, relabel: { ...relabel, reward: ({ rows }) => new Float32Array(rows.length) } }).sample(1)),
      RangeError,
      /^the result of relabel\.reward must be .* of 4 numbers/,
    );
  });

  test("cannot be a discount or a terminal flag of windows", () => {
    const { t } = filled().tables;
    for (const role of ["discount", "terminal"])
      expectError(
        errorOf(() => t.sample(2, { nStep: { n: 1, gamma: 1, reward: "reward", [role]: "observation" } as never })),
        "SPEC_MISMATCH",
        /^nStep\./,
      );
  });
});
