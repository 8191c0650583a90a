/** Tests hindsight goals: random numbers, probabilities, the contract of the reward function, and errors. */
import { describe, expect, test } from "vitest";
import { f32, i32, minHeap, minSize, prioritized, type RelabelledSteps, Replay, sampleToInsertRatio, type Table, text, u8 } from "../../../src/index.ts";
import { engineOf } from "../../../src/replay/replay.ts";
import { LocalClient } from "../../../src/tf-agents/index.ts";
import { chiSquare } from "../../support/chi-square.ts";
import { broken } from "../../support/health.ts";
import { bytesOf, errorOf, expectError, expectRefused } from "../../support/refused.ts";
import { Xoshiro } from "../../support/xoshiro.ts";

const spec = { observation: { achieved: f32(2), desired: f32(2) }, action: i32(), reward: f32(), over: u8() };
const relabel = { goal: "observation.desired", achieved: "observation.achieved" } as const;
type Strategy = "future" | "final" | "episode";

function replayOf(options: object = {}, seed = 7) {
  return new Replay({ spec, tables: { t: { maxSize: 1000, ...options } }, transition: { terminated: "over" }, seed, logger: null });
}
type World = ReturnType<typeof replayOf>;

/** Writes episodes of the given lengths, each with a final step; step k of episode e is [e, k], and its goal is [-1, -1]. */
function fill(replay: World, lengths: readonly number[], rule: object = { nStep: 1 }) {
  const writer = replay.writer({ items: [{ table: "t", ...rule } as { table: "t"; nStep: number }] });
  for (const [e, length] of lengths.entries()) {
    const step = (k: number) => ({ observation: { achieved: [e, k], desired: [-1, -1] }, action: k, reward: -5, over: 0 });
    for (let k = 0; k < length; k++) writer.append(step(k));
    writer.endEpisode({ final: step(length), terminated: false });
  }
  return writer;
}

const zeros = ({ rows }: RelabelledSteps) => new Float32Array(rows.length);
const goalsOf = (batch: { count: number; observation: { desired: { data: Float32Array } } }) =>
  Array.from({ length: batch.count }, (_, i) => [...batch.observation.desired.data.subarray(2 * i, 2 * i + 2)]);

test.each(["future", "final", "episode"] as const)("a draw uses random numbers for its items first, then row by row for goals: %s", (strategy) => {
  const lengths = [3, 9, 5];
  const replay = replayOf();
  fill(replay, lengths);
  const { t } = replay.tables;
  const view = t.transitions({ gamma: 0.9, relabel: { ...relabel, strategy, share: 0.7, reward: zeros } });
  const random = new Xoshiro(7);
  for (let round = 0; round < 20; round++) {
    const n = 1 + (round % 9);
    const items = Array.from({ length: n }, () => random.below(17));
    let ask = Math.floor(0.7 * n + 1e-9);
    const expected = items.map((item, i) => {
      const left = n - i;
      if (ask === 0 || !(ask === left || random.below(left) < ask)) return [-1, -1];
      ask--;
      const e = item < 3 ? 0 : item < 12 ? 1 : 2;
      const k = item - ([0, 3, 12][e] as number);
      const last = lengths[e] as number;
      if (strategy === "final") return [e, last];
      const first = strategy === "future" ? k + 1 : 1;
      return [e, first + random.below(last + 1 - first)];
    });
    const batch = view.sample(n);
    expect(goalsOf(batch)).toEqual(expected);
    expect([...batch.relabelled.data]).toEqual(expected.map(([e]) => Number((e as number) >= 0)));
  }
});

describe("probabilities of goals", () => {
  const holes = [2, 3, 6, 9, 10];
  const length = 12;

  function drawn(strategy: Strategy) {
    const replay = replayOf({ maxSize: 9 }, 11);
    const { t } = replay.tables;
    // The first items are evicted, and some items in the middle are deleted.
    fill(replay, [length]);
    const batch = t.sample(9, { replacement: false, columns: { k: { leaf: "action", at: 0 } } });
    const byStep = new Map([...batch.steps.k.data].map((k, i) => [k, batch.info.keys[i] as number]));
    t.delete(holes.filter((k) => byStep.has(k)).map((k) => byStep.get(k) as number));
    const items = [...byStep.keys()].filter((k) => !holes.includes(k));
    const held = [...new Set(items.flatMap((k) => [k, k + 1]))].sort((a, b) => a - b);
    const view = t.transitions({ gamma: 0.9, relabel: { ...relabel, strategy, share: 0.5, reward: zeros } });
    const counts = new Map(items.map((k) => [k, new Map<number, number>()]));
    const rows = new Array(20).fill(0);
    for (let round = 0; round < 3000; round++) {
      const { relabelled, action, observation } = view.sample(20);
      expect(relabelled.data.reduce((a, b) => a + b)).toBe(10);
      relabelled.data.forEach((flag, i) => {
        if (flag === 0) return;
        rows[i]++;
        const of = counts.get(action.data[i] as number) as Map<number, number>;
        const goal = observation.desired.data[2 * i + 1] as number;
        of.set(goal, (of.get(goal) ?? 0) + 1);
      });
    }
    return { items, held, counts, rows };
  }

  test.each(["future", "episode"] as const)("every step of live items is equally likely, even across gaps: %s", (strategy) => {
    const { items, held, counts, rows } = drawn(strategy);
    for (const k of items) {
      const allowed = held.filter((step) => (strategy === "future" ? step > k : step !== held[0]));
      const of = counts.get(k) as Map<number, number>;
      expect([...of.keys()].every((goal) => allowed.includes(goal))).toBe(true);
      if (allowed.length > 1) {
        const share = allowed.map(() => 1 / allowed.length);
        expect(
          chiSquare(
            allowed.map((goal) => of.get(goal) ?? 0),
            share,
          ),
        ).toBeGreaterThan(1e-4);
      }
    }
    // All rows of a batch are relabelled with the same probability.
    const share = rows.map(() => 1 / rows.length);
    expect(chiSquare(rows, share)).toBeGreaterThan(1e-4);
  });
});

test("a share is rounded down, and exact even for a batch drawn in parts", async () => {
  const replay = replayOf({ rateLimiter: sampleToInsertRatio(1, 1, 10), maxPending: 100 });
  const { t } = replay.tables;
  const view = t.transitions({ gamma: 0.9, relabel: { ...relabel, share: 0.3, reward: zeros } });
  const writer = replay.writer({ items: [{ table: "t", nStep: 1 }] });
  const waits = view.sampleWhenReady(10);
  for (let k = 0; k < 40; k++) {
    writer.append({ observation: { achieved: [0, k], desired: [-1, -1] }, action: k, reward: 0, over: 0 });
    await Promise.resolve();
  }
  const batch = await waits;
  expect(batch.count).toBe(10);
  expect(batch.relabelled.data.reduce((a, b) => a + b)).toBe(3);
  const other = replayOf();
  fill(other, [5]);
  for (const [share, n, count] of [
    [0.29, 100, 29],
    [0.8, 256, 204],
    [0.8, 1, 0],
    [1, 3, 3],
    [0, 3, 0],
  ] as const) {
    const of = other.tables.t.transitions({ gamma: 1, relabel: { ...relabel, share, reward: zeros } });
    expect(of.sample(n).relabelled.data.reduce((a, b) => a + b)).toBe(count);
  }
});

describe("the reward function", () => {
  test("receives each relabelled step of the returns once, and the batch", () => {
    const replay = replayOf();
    fill(replay, [6, 4], { nStep: 3 });
    let seen: object | undefined;
    const view = replay.tables.t.transitions({
      gamma: 0.5,
      dtype: "f64",
      relabel: {
        ...relabel,
        share: 0.5,
        reward: ({ achieved, goal, rows, steps, batch }) => {
          seen = batch;
          const wanted = Array.from({ length: 12 }, (_, i) => i).filter((i) => batch.relabelled.data[i] === 1);
          expect([...rows]).toEqual(wanted.flatMap((i) => new Array(batch.steps.data[i]).fill(i)));
          expect([...steps]).toEqual(wanted.flatMap((i) => Array.from({ length: batch.steps.data[i] }, (_, k) => k)));
          expect(achieved.shape).toEqual([rows.length, 2]);
          rows.forEach((row, r) => {
            const first = batch.observation.achieved.data.subarray(2 * row, 2 * row + 2);
            expect([...achieved.data.subarray(2 * r, 2 * r + 2)]).toEqual([first[0], first[1] + 1 + (steps[r] as number)]);
            expect([...goal.data.subarray(2 * r, 2 * r + 2)]).toEqual([...batch.observation.desired.data.subarray(2 * row, 2 * row + 2)]);
          });
          return Array.from(rows, (row, r) => row + (steps[r] as number) / 10);
        },
      },
    });
    const batch = view.sample(12);
    expect(batch).toBe(seen);
    for (let i = 0; i < 12; i++) {
      const steps = batch.steps.data[i] as number;
      const rewards = Array.from({ length: steps }, (_, k) => (batch.relabelled.data[i] === 1 ? i + k / 10 : -5));
      expect(batch.returns.data[i]).toBe(rewards.reduce((sum, reward, k) => sum + 0.5 ** k * reward, 0));
      expect([...batch.nextObservation.desired.data.subarray(2 * i, 2 * i + 2)]).toEqual([...batch.observation.desired.data.subarray(2 * i, 2 * i + 2)]);
    }
  });

  test("cannot call the Replay, and its error ends a draw that still counts", () => {
    const replay = replayOf();
    const writer = fill(replay, [6]);
    const { t } = replay.tables;
    let calls = 0;
    const view = t.transitions({
      gamma: 0.9,
      relabel: {
        ...relabel,
        reward: (steps) => {
          const forbidden = [
            () => t.sample(1),
            () => view.sample(1),
            () => t.delete([1]),
            () => t.stats(),
            () => [...replay.snapshot()],
            () => writer.append({ observation: { achieved: [0, 0], desired: [0, 0] }, action: 0, reward: 0, over: 0 }),
          ];
          for (const call of forbidden) expectError(errorOf(call), "OUT_OF_TURN", /reward/);
          calls++;
          return zeros(steps);
        },
      },
    });
    view.sample(5);
    expect(calls).toBe(1);
    expect(broken(replay)).toEqual([]);
    const failing = t.transitions({
      gamma: 0.9,
      relabel: {
        ...relabel,
        reward: () => {
          throw new Error("no reward today");
        },
      },
    });
    const { samples } = t.stats();
    for (const options of [{}, { recycle: true }, { into: failing.batch(5) }])
      expect(() => failing.sample(5, options as { recycle: true })).toThrow("no reward today");
    expect(t.stats().samples).toBe(samples + 15);
    expect(broken(replay)).toEqual([]);
    expect(t.transitions({ gamma: 0.9 }).sample(5).count).toBe(5);
  });

  test("must return one finite number per step", () => {
    const replay = replayOf();
    fill(replay, [6]);
    const { t } = replay.tables;
    const failing = (reward: unknown, terminated?: unknown) => () =>
      t
        .transitions({
          gamma: 0.9,
          relabel: { ...relabel, share: 1, reward: reward as () => number[], ...(terminated !== undefined && { terminated: terminated as () => number[] }) },
        })
        .sample(3);
    expectError(errorOf(failing(() => [1, 2])), RangeError, /relabel\.reward must be an array of 3 numbers/);
    expectError(errorOf(failing(() => undefined)), TypeError, /relabel\.reward/);
    expectError(errorOf(failing(async () => [1, 2, 3])), TypeError, /relabel\.reward/);
    expectError(errorOf(failing(() => [1, Number.NaN, 3])), "INVALID_DATA", /element 1 of the result of relabel\.reward must be finite, got NaN/);
    expectError(errorOf(failing(() => new BigInt64Array(3))), TypeError, /relabel\.reward/);
    expectError(errorOf(failing(zeros, () => [true])), RangeError, /relabel\.terminated must be an array of 3 booleans/);
    expectError(errorOf(failing(zeros, () => 1)), TypeError, /relabel\.terminated/);
  });
});

test("relabel rejects invalid options, leaves and tables", () => {
  const replay = replayOf();
  fill(replay, [4]);
  const { t } = replay.tables;
  const view = (options: object) => () => t.transitions({ gamma: 0.9, relabel: { ...relabel, reward: zeros, ...options } as never });
  expectRefused(replay, view({ goal: "observation.desire" }), "NOT_FOUND", /relabel\.goal must be one of/);
  expectRefused(
    replay,
    view({ achieved: "action" }),
    "SPEC_MISMATCH",
    /relabel\.goal and relabel\.achieved/,
    /"observation\.desired" of f32 \[2\] and "action" of i32 \[\]/,
  );
  expectRefused(replay, view({ achieved: "observation.desired" }), RangeError, /a leaf other than relabel\.goal/);
  expectRefused(replay, view({ strategy: "past" }), RangeError, /relabel\.strategy must be one of "future", "final", "episode"/);
  expectRefused(replay, view({ share: 1.1 }), RangeError, /relabel\.share/);
  expectRefused(replay, view({ reward: undefined }), TypeError, /relabel\.reward is required/);
  expectRefused(replay, view({ reward: "sparse" }), TypeError, /relabel\.reward must be a function, or "stored"/);
  expectRefused(replay, view({ reward: "stored", terminated: zeros }), TypeError, /relabel\.reward must be a function/);
  expectRefused(replay, view({ terminated: 1 }), TypeError, /relabel\.terminated/);
  expectRefused(replay, view({ shares: 1 }), TypeError, /relabel has no option "shares"/);
  expectRefused(replay, () => t.transitions({ gamma: 0.9, relabel: "future" as never }), TypeError, /relabel must be an object/);
  const words = new Replay({
    spec: { observation: f32(), desired: text({ maxBytes: 8 }), achieved: text({ maxBytes: 8 }), action: i32(), reward: f32(), relabelled: i32() },
    tables: { t: { maxSize: 4 }, heap: { maxSize: 4, remover: minHeap() } },
  });
  const of = (table: "t" | "heap", goal: string, achieved: string) => () =>
    (words.tables[table] as Table).transitions({ gamma: 0.9, relabel: { goal, achieved, reward: zeros } });
  expectError(errorOf(of("t", "desired", "achieved")), "SPEC_MISMATCH", /relabel\.goal must be a numeric leaf/);
  expectError(errorOf(of("t", "reward", "observation")), "SPEC_MISMATCH", /relabel\.goal must .*batches/);
  expectError(errorOf(of("heap", "action", "relabelled")), "UNSUPPORTED", /table "heap" has the sampler uniform and the remover minHeap/, /remover: fifo\(\)/);
  expectError(errorOf(of("t", "action", "relabelled")), "SPEC_MISMATCH", /"relabelled" has the same name as a column/);
  const batch = t.transitions({ gamma: 0.9, relabel: { ...relabel, reward: zeros } }).sample(2);
  expectRefused(replay, () => t.writeSteps(batch, { observation: { desired: batch.observation.desired } }), "UNSUPPORTED", /goals of other steps/);
  expect(t.writeSteps(batch, { observation: { achieved: batch.observation.achieved } }).written).toBe(2);
});

test("loops with recycled and prefetched batches return the same goals as plain samples", async () => {
  const replay = replayOf({ sampler: prioritized(0.7), rateLimiter: minSize(4) });
  fill(replay, [20, 20]);
  const { t } = replay.tables;
  const options = { gamma: 0.9, relabel: { ...relabel, reward: zeros } } as const;
  const plain = t.transitions(options);
  const state = bytesOf(replay);
  const expected = Array.from({ length: 4 }, () => plain.sample(10, { beta: 0.5 }).toArray());
  for (const how of [{ recycle: true }, { prefetch: 2 }, { recycle: "detach" }] as const) {
    const copy = Replay.restore(state, { logger: null }) as World;
    const got: unknown[] = [];
    for await (const batch of copy.tables.t.transitions(options).dataset({ batchSize: 10, beta: 0.5, ...how })) {
      got.push(batch.toArray());
      if (got.length === 4) break;
    }
    expect(got).toEqual(expected);
  }
});

test("if memory runs out, the order of steps is dropped, and a later draw rebuilds it", () => {
  const replay = new Replay({ spec, tables: { t: { maxSize: 4000 } }, maxBytes: 2 ** 21, seed: 1, logger: null });
  const { t } = replay.tables;
  const writer = replay.writer({ items: [{ table: "t", length: 2 }] });
  const step = (k: number) => ({ observation: { achieved: [0, k], desired: [-1, -1] }, action: k, reward: 0, over: 0 });
  for (let k = 0; k < 100; k++) writer.append(step(k));
  const view = t.transitions({ gamma: 0.9, relabel: { ...relabel, strategy: "final", share: 1, reward: "stored" } });
  expect(goalsOf(view.sample(2))).toEqual([
    [0, 99],
    [0, 99],
  ]);
  // Only one more block of steps fits into memory.
  const { x } = engineOf(replay).core;
  const block = x.arena_alloc(49152);
  const taken: number[] = [];
  for (let at = x.arena_alloc(32768); at !== 0; at = x.arena_alloc(32768)) taken.push(at);
  while (x.arena_alloc(4096) !== 0);
  x.arena_free(block, 49152);
  for (let k = 100; k < 1500; k++) writer.append(step(k));
  expect(broken(replay)).toEqual([]);
  expectRefused(replay, () => view.sample(2), "OUT_OF_MEMORY");
  for (const at of taken) x.arena_free(at, 32768);
  expect(goalsOf(view.sample(2))).toEqual([
    [0, 1499],
    [0, 1499],
  ]);
  expect(broken(replay)).toEqual([]);
});

describe("a final step without an observation", () => {
  const step = (k: number) => ({ observation: { achieved: [1, k], desired: [-1, -1] }, action: k, reward: -5, over: 0 });
  const viewOf = (replay: World, strategy: Strategy) => replay.tables.t.transitions({ gamma: 0.9, relabel: { ...relabel, strategy, share: 1, reward: zeros } });

  test.each(["future", "final", "episode"] as const)("is not a goal, and transitions that reach it keep their own goal: %s", (strategy) => {
    const replay = replayOf();
    const writer = replay.writer({ items: [{ table: "t", nStep: 1 }] });
    for (let k = 1; k < 4; k++) writer.append(step(k));
    writer.endEpisode({ terminated: true });
    const batch = viewOf(replay, strategy).sample(200);
    const actions = [...batch.action.data];
    expect(new Set(actions)).toEqual(new Set([1, 2, 3]));
    expect([...batch.relabelled.data]).toEqual(actions.map((k) => Number(k < 3)));
    for (const [i, goal] of goalsOf(batch).entries()) {
      const k = actions[i] as number;
      if (k === 3) expect(goal).toEqual([-1, -1]);
      else
        expect([2, 3].filter((place) => strategy === "episode" || (strategy === "final" ? place === 3 : place > k)).map((place) => [1, place])).toContainEqual(
          goal,
        );
    }
    expect(broken(replay)).toEqual([]);
  });

  test("becomes a goal when the next step or writeSteps sets it", () => {
    const replay = replayOf();
    const writer = replay.writer({ lanes: 1, items: [{ table: "t", nStep: 1 }], autoreset: "nextStep" });
    const one = (k: number) => ({ observation: { achieved: [[1, k]], desired: [[-1, -1]] }, action: [k], reward: [0], over: [0] });
    writer.append(one(1), { terminated: [false] });
    writer.append(one(2), { terminated: [true] });
    const view = viewOf(replay, "final");
    const goals = () => goalsOf(view.sample(30)).map(([, k]) => k);
    expect(new Set(goals())).toEqual(new Set([2, -1]));
    writer.append(one(3), { terminated: [false] });
    expect(new Set(goals())).toEqual(new Set([3]));
    expect(broken(replay)).toEqual([]);
    const other = replayOf();
    const plain = other.writer({ items: [{ table: "t", nStep: 1 }] });
    plain.append(step(1));
    plain.endEpisode({ terminated: true });
    const { t } = other.tables;
    expect([...viewOf(other, "final").sample(3).relabelled.data]).toEqual([0, 0, 0]);
    const batch = t.transitions({ gamma: 1 }).sample(1);
    t.writeSteps(batch, { nextObservation: { achieved: [1, 9] } });
    expect(goalsOf(viewOf(other, "final").sample(2))).toEqual([
      [1, 9],
      [1, 9],
    ]);
  });
});

test("relabel rejects a table with items out of order until it is empty, even after a restore", () => {
  const replay = replayOf();
  const { t } = replay.tables;
  const client = new LocalClient(replay as never);
  const writer = client.trajectoryWriter({ numKeepAliveRefs: 9 });
  const relabelled = (of: World) => () => of.tables.t.transitions({ gamma: 1, relabel: { ...relabel, reward: zeros } }).sample(2);
  for (let k = 0; k < 8; k++) writer.append({ observation: { achieved: [0, k], desired: [-1, -1] }, action: k, reward: 0, over: 0 } as never);
  const { observation, action } = writer.history as never as Record<
    string,
    { slice(from: number, to: number): unknown } & Record<string, { slice(from: number, to: number): unknown }>
  >;
  const item = (from: number, to: number) => writer.createItem("t", 1, { a: action?.slice(from, to), o: observation?.achieved?.slice(from, to) } as never);
  item(1, 4);
  item(2, 6);
  expect(relabelled(replay)().count).toBe(2);
  item(1, 3);
  expectRefused(replay, relabelled(replay), "UNSUPPORTED", /^relabel requires .*order/, /table "t"/);
  const copy = Replay.restore(replay.snapshot(), { logger: null }) as World;
  expectError(errorOf(relabelled(copy)), "UNSUPPORTED", /in the order of their last steps/);
  expect([broken(replay), broken(copy)]).toEqual([[], []]);
  t.clear();
  fill(replay, [5]);
  expect(relabelled(replay)().count).toBe(2);
});
